"""`tamis lint`: files, folders, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tamis import Engine
from tamis.cli import main

ROWS = [
    {"id": "ann", "expression": "price < 5"},
    {"id": "bob", "expression": "price < 9"},
    {"id": "cyd", "expression": "prise < 9"},
    {"id": "dan", "expression": "price =< 9"},
]
EVENTS = [{"price": 3}, {"price": 4}]


def tamis(*arguments: object) -> int:
    return main([str(one) for one in arguments])


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        pa.csv.write_csv(pa.Table.from_pylist(rows), path)
    else:
        pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.toml"
    path.write_text('open = true\n[attributes]\nprice = "number"\n')
    return path


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_files_of_every_format_have_the_same_findings(
    ending: str, schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subscriptions = written(tmp_path / f"subscriptions.{ending}", ROWS)
    events = written(tmp_path / f"events.{ending}", EVENTS)
    out = tmp_path / "findings.jsonl"

    code = tamis("lint", "--schema", schema, "--subscriptions", subscriptions, "--events", events, "--out", out)

    assert code == 1
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["kind"], one["id"], one["other"]) for one in found] == [
        ("refused", "dan", None),
        ("attribute", "cyd", None),
        ("covered", "ann", "bob"),
    ]
    shown = capsys.readouterr().out
    assert shown.startswith("subscriptions: 4, events looked at: 2, findings: 3\n")
    assert "did you mean 'price'?" in shown


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_findings_are_written_as_a_table(ending: str, tmp_path: Path) -> None:
    subscriptions, out = written(tmp_path / "s.jsonl", ROWS[:2]), tmp_path / f"findings.{ending}"

    assert tamis("lint", "--subscriptions", subscriptions, "--out", out) == 1

    table = pa.parquet.read_table(out) if ending == "parquet" else pa.csv.read_csv(out)
    assert table.column_names == ["kind", "id", "other", "attribute", "sentence"]
    assert table["id"].to_pylist() == ["ann"]


def test_a_folder_is_read_beside_its_writer_and_a_saved_engine_too(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "folder", create=True) as engine:
        engine.subscribe_many([("a", "x = 1"), ("b", "x = 1")])

        assert tamis("lint", tmp_path / "folder") == 1
    naive = Engine(algorithm="naive")
    naive.subscribe("a", "x = 1")
    naive.save(tmp_path / "saved")

    assert tamis("lint", tmp_path / "saved") == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "expected PATH or --subscriptions, and not both"),
        (["somewhere", "--subscriptions", "s.jsonl"], "expected PATH or --subscriptions, and not both"),
        (["nowhere"], "nowhere"),
        (["somewhere", "--schema", "s.toml"], "PATH has its own"),
        (["--subscriptions", "nowhere.jsonl"], "nowhere.jsonl"),
        (["somewhere", "--out", "findings.txt"], "--out: expected a name ending in .parquet, .jsonl, .csv"),
    ],
)
def test_a_mistake_is_told_in_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tamis("lint", *arguments) == 2

    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
