"""`tamis stream`: files in, folders out, on from where it was, ended by a signal after the batch at work."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis.cli import main, stream
from tamis.spark import BatchReport
from tamis.workloads import auctions

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_for_commands")]


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "schema.toml").write_text(auctions.SCHEMA)
    asked = [{"id": id, "expression": text, "channel": "mail"} for id, text in auctions.subscriptions(20)]
    (tmp_path / "people.jsonl").write_text("\n".join(map(json.dumps, asked)))
    (tmp_path / "incoming").mkdir()
    for number in range(3):
        listed = list(auctions.listings(30))[number * 10 : number * 10 + 10]
        file = tmp_path / "incoming" / f"{number}.jsonl"
        file.write_text("\n".join(map(json.dumps, listed)) + ("\n{" if number == 2 else ""))
        os.utime(file, (1.7e9 + number, 1.7e9 + number))
    people = str(tmp_path / "people.jsonl")
    options = {"--schema": "schema.toml", "--events": "incoming", "--out": "out", "--checkpoint": "checkpoint"}
    given = [word for name, place in options.items() for word in (name, str(tmp_path / place))]
    return ["stream", *given, "--subscriptions", people, "--notify", people, "--max-files", "1"]


def test_a_signal_ends_it_after_the_batch_at_work_and_the_same_command_goes_on(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add = stream._Total.add

    def add_and_ask(self: stream._Total, report: BatchReport) -> None:
        add(self, report)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("tamis.cli.stream._Total.add", add_and_ask)
    before = signal.getsignal(signal.SIGTERM)

    assert main(command) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr("tamis.cli.stream._Total.add", add)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main([*command, "--once"]) == 0
    second = capsys.readouterr().out

    assert signal.getsignal(signal.SIGTERM) is before
    assert first.splitlines()[0] == "20 subscriptions compiled"
    assert first.splitlines()[-1].startswith("1 batches, 10 events, ")
    assert [line.partition(" events")[0] for line in second.splitlines()[:-1]] == ["batch 1: 10", "batch 2: 11"]
    assert "version 1, " in second
    assert " events/s, lag " in second
    assert second.splitlines()[-1].startswith("2 batches, 21 events, ")
    found = SparkSession.active().read.parquet(str(tmp_path / "out" / "matches"))
    told = SparkSession.active().read.parquet(str(tmp_path / "out" / "notifications"))
    assert found.count() == told.filter("channel = 'mail'").count() > 0
    assert "{" in [row.event for row in SparkSession.active().read.parquet(f"{tmp_path}/out/rejected").collect()]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (["--events", "nowhere"], "nowhere: no such file or folder"),
        (["--kafka", "subscribe"], "not allowed with argument --events"),
        (["--once", "--every", "1 second"], "argument --every: not allowed with argument --once"),
    ],
)
def test_mistakes_are_one_line(
    change: list[str], told: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main([*command, *change])
    except SystemExit as left:
        code = int(left.code or 0)

    error = capsys.readouterr().err
    assert code == 2
    assert told in error
    assert error.count("\n") == 1
