"""A stream with a living index: versions pinned to batches, every batch once, and nothing stops it by accident."""

from __future__ import annotations

import gzip
import json
import logging
import os
import sqlite3
from pathlib import Path
from queue import SimpleQueue

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from tamis import OptionError
from tamis import spark as ts
from tamis.errors import JobError
from tamis.model import Schema
from tamis.spark.versions.holding import held
from tamis.spark.versions.manifest import manifest_path
from tamis.spark.versions.storage import storage
from tamis.workloads import auctions

pytestmark = pytest.mark.spark

SCHEMA = Schema.loads(auctions.SCHEMA)
IDS = "id string, expression string"


def arrive(folder: Path, number: int, lines: list[str], ending: str = "jsonl") -> Path:
    """Another file of the stream, seen whole or not at all."""
    folder.mkdir(exist_ok=True)
    draft = folder / f".{number}"
    text = "\n".join(lines).encode()
    draft.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    os.utime(draft, (1.7e9 + number, 1.7e9 + number))  # a stream takes older files first
    return draft.rename(folder / f"{number:03}.{ending}")


@pytest.fixture
def lines() -> list[str]:
    listed = enumerate(auctions.listings(60))
    return [json.dumps({"event_id": f"e{number}", **one}) for number, one in listed]


@pytest.fixture
def people(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(list(auctions.subscriptions(40)), IDS)


@pytest.fixture
def index(tmp_path: Path, people: DataFrame) -> str:
    ts.index(people, SCHEMA, str(tmp_path / "index"))
    return str(tmp_path / "index")


@pytest.fixture
def incoming(tmp_path: Path, lines: list[str]) -> Path:
    for number in range(2):
        arrive(tmp_path / "incoming", number, lines[number * 20 : number * 20 + 20])
    return tmp_path / "incoming"


def run(tmp_path: Path, index: str, outputs: ts.Outputs) -> list[ts.BatchReport]:
    """One file per batch, until all that is there is done; called again, it goes on."""
    spark = SparkSession.active()
    events = ts.event_files(spark, tmp_path / "incoming", SCHEMA, max_files=1)
    stream = ts.stream(events, index, tmp_path / "checkpoint", outputs, once=True)
    stream.wait()
    return list(stream.reports)


def answer(lines: list[str], index: str, version: int) -> list[tuple[str, str, int]]:
    """What the batch job finds."""
    spark = SparkSession.active()
    rows = [(json.loads(line)["event_id"], line) for line in lines]
    valid, _ = ts.validate(spark.createDataFrame(rows, "event_id string, event string"), SCHEMA)
    return triples(ts.match(valid, index, version=version, validated=True).collect())


def triples(rows: list[Row]) -> list[tuple[str, str, int]]:
    return sorted((row.event_id, row.subscription_id, row.index_version) for row in rows)


def rows_of(folder: Path) -> list[Row]:
    return SparkSession.active().read.parquet(str(folder)).collect()


def change(index: str, id: str, expression: str | None) -> int:
    return ts.update(index, SparkSession.active().createDataFrame([(id, expression)], IDS)).version


def test_folders_and_tables_have_the_answer_of_the_batch_job(
    tmp_path: Path, incoming: Path, index: str, people: DataFrame, lines: list[str]
) -> None:
    base = f"sqlite:///{tmp_path}/found.db"
    outputs = ts.Outputs(tmp_path / "matches", base, base, people)

    reports = run(tmp_path, index, outputs)

    wanted = answer(lines[:40], index, 1)
    with sqlite3.connect(tmp_path / "found.db") as connection:
        told = connection.execute("SELECT event_id, subscription_id, index_version FROM notifications").fetchall()
        refused = connection.execute("SELECT batch_id, event_id, reason FROM rejected").fetchall()
        batches = connection.execute("SELECT output, batch_id, row_count FROM tamis_batches").fetchall()
    connection.close()
    assert triples(rows_of(tmp_path / "matches")) == sorted(told) == wanted
    assert {row.batch_id for row in rows_of(tmp_path / "matches")} == {0, 1}
    assert [one.events for one in reports] == [20, 20]
    assert sum(one.matches or 0 for one in reports) == sum(one.notifications or 0 for one in reports) == len(wanted)
    assert sum(one.rejected for one in reports) == len(refused) > 0
    assert all(reason for _, _, reason in refused)
    assert ("notifications", 0, reports[0].notifications) in batches
    table = ts.batch_reports(tmp_path / "checkpoint").collect()
    assert [(row.batch, row.events, row.version) for row in table] == [(0, 20, 1), (1, 20, 1)]
    assert all(row.lag_seconds > 0 for row in table)


def test_a_batch_that_comes_again_is_matched_against_its_own_version_and_takes_its_own_place(
    tmp_path: Path, incoming: Path, index: str, lines: list[str]
) -> None:
    """The second batch is written, then fails before Spark has noted it; meanwhile the set changes twice."""
    told: list[int] = []

    def fail(rows: DataFrame, number: int) -> None:
        told.append(number)
        if number == 1 and told.count(1) <= 4:
            change(index, "new", "price > 0") if told.count(1) == 1 else None
            raise RuntimeError("the mailer is down")

    outputs = ts.Outputs(
        tmp_path / "matches", tmp_path / "rejected", fail, SparkSession.active().createDataFrame([("s", "x")], IDS)
    )
    with pytest.raises(JobError, match="the mailer is down"):
        run(tmp_path, index, outputs)
    arrive(incoming, 2, lines[40:])
    between = held(storage(index))
    deleted = ts.vacuum(index, keep=1, min_age_hours=0)
    reports = run(tmp_path, index, outputs)

    assert between == {1}
    assert deleted == 0
    assert [(one.batch, one.version) for one in reports] == [(1, 1), (2, 2)]
    found = rows_of(tmp_path / "matches")
    assert triples(found) == sorted(answer(lines[:40], index, 1) + answer(lines[40:], index, 2))
    assert any(row.subscription_id == "new" for row in found)
    assert held(storage(index)) == {2}
    assert ts.vacuum(index, keep=1, min_age_hours=0) > 0


def test_an_output_that_fails_once_is_tried_again_and_has_every_row_once(
    tmp_path: Path, incoming: Path, index: str, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(ts.Files):
        failed = False

        def commit(self, folder, staged, key):  # type: ignore[no-untyped-def]
            super().commit(folder, staged, key)
            if not Failing.failed:
                Failing.failed = True
                raise OSError("disk full")

    with caplog.at_level(logging.WARNING, "tamis.spark"):
        reports = run(tmp_path, index, ts.Outputs(Failing(str(tmp_path / "matches"))))

    assert [one.retries for one in reports] == [1, 0]
    assert triples(rows_of(tmp_path / "matches")) == answer(lines[:40], index, 1)
    assert [one.message for one in caplog.records] == ["batch 0, matches: tried again after: disk full"]


@pytest.mark.parametrize("damaged", ["manifest", "segment"])
def test_a_damaged_new_version_is_passed_over_and_said_once(
    damaged: str, tmp_path: Path, incoming: Path, index: str, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    before = set(Path(index, "segments").iterdir())
    version = change(index, "new", "price > 0")
    (fresh,) = set(Path(index, "segments").iterdir()) - before
    file = Path(index, manifest_path(version)) if damaged == "manifest" else fresh
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)

    with caplog.at_level(logging.WARNING, "tamis.spark"):
        reports = run(tmp_path, index, ts.Outputs(tmp_path / "matches"))

    assert [one.version for one in reports] == [1, 1]
    assert triples(rows_of(tmp_path / "matches")) == answer(lines[:40], index, 1)
    (said,) = caplog.records
    assert said.message.startswith(f"version 2 is passed over, and the last good one kept: {file}")


def test_lines_that_are_no_events_are_rejected_and_files_that_cannot_be_read_are_set_aside(
    tmp_path: Path, incoming: Path, index: str, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    arrive(incoming, 2, ["{", "null", '{"event_id": "e99"}', "", lines[40]])
    broken = arrive(incoming, 3, lines[41:50], "jsonl.gz")
    whole = broken.read_bytes()
    broken.write_bytes(whole[:-40])
    os.utime(broken, (1.7e9 + 3, 1.7e9 + 3))
    arrive(incoming, 4, lines[50:])

    outputs = ts.Outputs(tmp_path / "matches", tmp_path / "rejected", set_aside=str(tmp_path / "aside"))
    reports = run(tmp_path, index, outputs)

    assert [one.batch for one in reports] == [0, 1, 2, 3, 4]
    assert [(one.events, one.set_aside) for one in reports[2:]] == [(4, 0), (0, 1), (10, 0)]
    assert reports[2].rejected >= 3
    assert triples(rows_of(tmp_path / "matches")) == answer([*lines[:41], *lines[50:]], index, 1)
    assert [file.read_bytes() for file in (tmp_path / "aside").glob("*.gz")] == [whole[:-40]]
    refused = [row for row in rows_of(tmp_path / "rejected") if row.batch_id == 3]
    assert [row.reason.partition(": ")[2] for row in refused] == [
        f"expected a file that can be read; it was moved to {tmp_path}/aside"
    ]


def test_csv_and_parquet_are_streamed_and_a_line_that_is_no_row_is_rejected(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = Schema.loads('attributes = { price = "number", kind = "string" }')
    ts.index(spark.createDataFrame([("s", "price < 10 and kind = 'a'")], IDS), schema, str(tmp_path / "index"))
    rows = ["price,kind", "3,a", "dear,a", "4,b", "5,a,9", '6,"a"']
    arrive(tmp_path / "csv", 0, rows, "csv")
    spark.createDataFrame([(7, 8.0, "a"), (8, 12.0, "a")], "event_id int, price double, kind string").write.parquet(
        str(tmp_path / "parquet")
    )
    found = {}
    for kind in ("csv", "parquet"):
        outputs = ts.Outputs(tmp_path / f"{kind} matches", tmp_path / f"{kind} rejected")
        events = ts.event_files(spark, tmp_path / kind, schema)
        stream = ts.stream(events, tmp_path / "index", tmp_path / f"{kind} checkpoint", outputs, once=True)
        stream.wait()
        found[kind] = stream.reports[0]

    assert [(one.events, one.rejected, one.matches) for one in found.values()] == [(5, 2, 2), (2, 0, 1)]
    reasons = sorted(row.reason for row in rows_of(tmp_path / "csv rejected"))
    assert reasons[1].startswith("expected a line with a value for each column, found '5,a,9'")
    assert [row.event_id for row in rows_of(tmp_path / "parquet matches")] == [7]


def test_stopping_waits_for_the_batch_at_work_and_a_restart_goes_on(
    tmp_path: Path, incoming: Path, index: str, lines: list[str], spark: SparkSession
) -> None:
    """The stream is told to stop in the midst of its first batch."""
    events = ts.event_files(spark, incoming, SCHEMA, max_files=1)
    folder, running = tmp_path / "matches", SimpleQueue()  # type: Path, SimpleQueue[ts.Stream]

    class Stopping(ts.Files):
        def commit(self, folder, staged, key):  # type: ignore[no-untyped-def]
            running.get()._work.stopping.set()  # the first batch may be here before `ts.stream` has returned
            super().commit(folder, staged, key)

    stream = ts.stream(events, index, tmp_path / "checkpoint", ts.Outputs(Stopping(str(folder))))
    running.put(stream)
    while not stream.reports:
        stream.wait(0.05)
    stream.stop()
    first = [one.batch for one in stream.reports]
    reports = run(tmp_path, index, ts.Outputs(folder))

    assert not stream.query.isActive
    assert first == [0]
    assert [one.batch for one in reports] == [1]
    assert triples(rows_of(folder)) == answer(lines[:40], index, 1)


def test_what_cannot_be_a_stream_is_told(tmp_path: Path, incoming: Path, index: str, spark: SparkSession) -> None:
    events = ts.event_files(spark, incoming, SCHEMA)
    outputs = ts.Outputs(tmp_path / "matches")
    run(tmp_path, index, outputs)

    with pytest.raises(OptionError, match="expected a stream of events, found a batch"):
        ts.stream(spark.range(3), index, tmp_path / "c", outputs)
    with pytest.raises(OptionError, match="expected once or every, found both"):
        ts.stream(events, index, tmp_path / "c", outputs, once=True, every="1 second")
    with pytest.raises(OptionError, match="expected a place for matches, rejected or notifications, found none"):
        ts.Outputs()
    with pytest.raises(OptionError, match="expected notifications and people together"):
        ts.Outputs(notifications=tmp_path / "told")
    with pytest.raises(JobError, match="expected a folder of this stream, or none yet, found other files"):
        ts.stream(events, index, tmp_path / "other checkpoint", outputs, once=True).wait()
