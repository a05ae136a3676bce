"""`tamis generate`, `index` and `match`: from files to files, and mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tamis import Engine, EventError, LimitError
from tamis.cli import main
from tamis.model import Schema
from tamis.workloads import auctions

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_for_commands")]

Capture = pytest.CaptureFixture[str]
SCHEMA = Schema.loads(auctions.SCHEMA)


@pytest.fixture(params=["spark", "here"])
def on(request: pytest.FixtureRequest) -> list[str]:
    """Where the job runs: the answers, folders and sentences are the same."""
    return ["--on", str(request.param)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A schema, subscriptions of which one cannot be read, and events of which some break a rule."""
    SCHEMA.save(tmp_path / "schema.toml")
    rows = [{"id": id, "expression": text} for id, text in auctions.subscriptions(80)]
    pq.write_table(pa.Table.from_pylist([*rows, {"id": "odd", "expression": "price <"}]), tmp_path / "wishes.parquet")
    lines = [json.dumps({"event_id": f"e{row}", **event}) for row, event in enumerate(auctions.listings(120))]
    (tmp_path / "events.jsonl").write_text("\n".join([*lines, "", "{"]), encoding="utf-8")
    return tmp_path


def wanted() -> set[tuple[str, str]]:
    engine = Engine(SCHEMA, algorithm="naive")
    engine.subscribe_many(auctions.subscriptions(80))
    found = set()
    for row, event in enumerate(auctions.listings(120)):
        try:
            found |= {(f"e{row}", str(id)) for id in engine.match(event)}
        except (EventError, LimitError):
            continue
    return found


def test_matching_files_gives_matches_rejections_and_an_index(files: Path, capsys: Capture, on: list[str]) -> None:
    out = files / "out"
    given = ["--schema", files / "schema.toml", "--subscriptions", files / "wishes.parquet"]

    code = main(["match", *on, *map(str, given), "--events", str(files / "events.jsonl"), "--out", str(out)])

    told = capsys.readouterr().out
    pairs = ds.dataset(out / "matches").to_table(["event_id", "subscription_id"]).to_pylist()
    assert code == 0
    assert {(row["event_id"], row["subscription_id"]) for row in pairs} == wanted()
    assert ds.dataset(out / "rejected").count_rows() == 4
    assert "80 subscriptions compiled\n1 subscriptions were rejected:\n  odd: column 8: " in told
    assert "121 events read, 4 rejected:" in told
    assert f"{len(pairs):,} matches against version 1 in " in told


def test_an_index_can_be_made_updated_and_matched_against(files: Path, capsys: Capture, on: list[str]) -> None:
    index, changes = files / "index", files / "changes.csv"
    table = pa.table({"id": ["ann-0", "new"], "expression": pa.array([None, "price < 5000"], pa.string())})
    pa.csv.write_csv(table, changes)

    made = main(["index", "--schema", str(files / "schema.toml"), "--subscriptions", str(files / "wishes.parquet"),
                 "--out", str(index)])  # fmt: skip
    changed = main(["index", "--update", str(index), "--subscriptions", str(changes)])
    matched = main(["match", *on, "--index", str(index), "--events", str(files / "events.jsonl"), "--out",
                    str(files / "wide"), "--wide"])  # fmt: skip

    told = capsys.readouterr().out
    assert (made, changed, matched) == (0, 0, 0)
    assert "version 1 has 80 subscriptions in " in told
    assert "version 2 has 81 subscriptions" in told or "version 2 has 80 subscriptions" in told
    assert "segments: asked " in told
    rows = ds.dataset(files / "wide" / "matches").to_table().to_pylist()
    assert all(row["match_count"] == len(row["subscription_ids"]) for row in rows)
    assert any("new" in row["subscription_ids"] for row in rows)


def test_csv_events_are_cast_by_the_schema(files: Path, capsys: Capture, on: list[str]) -> None:
    (files / "events.csv").write_text("event_type,price,quantity,period\nantiques,10,1,XVI\nantiques,cheap,1,XVI\n")
    given = ["--schema", files / "schema.toml", "--subscriptions", files / "wishes.parquet"]

    code = main(["match", *on, *map(str, given), "--events", str(files / "events.csv"), "--out", str(files / "out")])

    assert code == 0
    assert "2 events read, 1 rejected:" in (told := capsys.readouterr().out)
    assert "expected a value of type double in the column 'price', found 'cheap'" in told


def test_generated_files_can_be_matched(tmp_path: Path, capsys: Capture, on: list[str]) -> None:
    out = tmp_path / "web"

    made = main(["generate", "web", "--subscriptions", "200", "--events", "50", "--out", str(out)])
    matched = main(["match", *on, "--schema", str(out / "schema.toml"), "--subscriptions", str(out / "subscriptions"),
                    "--events", str(out / "events"), "--out", str(tmp_path / "found")])  # fmt: skip

    assert (made, matched) == (0, 0)
    assert "50 events read, 0 rejected\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--events": "nowhere.jsonl"}, "nowhere.jsonl: no such file or folder"),
        ({"--subscriptions": "schema.toml"}, "schema.toml: expected a file, or a folder of files, ending in .parquet"),
        ({"--subscriptions": "broken.parquet"}, "broken.parquet"),
        ({"--subscriptions": "many"}, "many/bad.parquet"),
        ({"--subscriptions": "events.jsonl"}, "expected columns 'id' and 'expression', found"),
        ({"--plan": "fast"}, "no plan is called 'fast'"),
        ({"--subscriptions": "untold.csv"}, "expected columns 'id' and 'expression', found id"),
        ({"--subscriptions": "numbers.parquet"}, "column 'expression': expected text, found bigint"),
        ({"--events": "wrong.parquet"}, "column 'event': expected a struct, JSON text or a VARIANT, found bigint"),
        ({"--schema": "events.jsonl"}, "events.jsonl: "),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    files: Path, capsys: Capture, on: list[str], change: dict[str, str], message: str
) -> None:
    (files / "broken.parquet").write_bytes(b"PAR1 this is no Parquet PAR1")
    (files / "many").mkdir()
    for number in range(20):
        pq.write_table(
            pa.table({"id": [f"s{number}"], "expression": ["price < 1"]}), files / "many" / f"{number}.parquet"
        )
    (files / "many" / "bad.parquet").write_bytes(b"PAR1" + b"\0" * 50 + b"PAR1")
    (files / "untold.csv").write_text("id\n1\n")
    pq.write_table(pa.table({"id": ["a"], "expression": [1]}), files / "numbers.parquet")
    pq.write_table(pa.table({"event": [1]}), files / "wrong.parquet")
    given = {"--schema": "schema.toml", "--subscriptions": "wishes.parquet", "--events": "events.jsonl"} | change
    named = [
        part for name, value in given.items() for part in (name, value if name == "--plan" else str(files / value))
    ]

    code = main(["match", *on, *named, "--out", str(files / "out")])

    err = capsys.readouterr().err
    assert code == 2
    assert message in err
    assert err.startswith("tamis match: ")
    assert err.count("\n") == 1
    assert not (files / "out").exists()


def test_strict_stops_at_what_is_refused(files: Path, capsys: Capture, on: list[str]) -> None:
    given = ["--schema", files / "schema.toml", "--subscriptions", files / "wishes.parquet"]

    code = main(["match", *on, *map(str, given), "--events", str(files / "events.jsonl"), "--out", str(files / "out"),
                 "--on-error", "raise"])  # fmt: skip

    assert code == 2
    assert "1 subscriptions cannot be read; the first is 'odd'" in capsys.readouterr().err
    assert not (files / "out").exists()


def test_one_unreadable_file_among_a_thousand_is_named_and_nothing_is_left(
    files: Path, capsys: Capture, on: list[str]
) -> None:
    """Also of the events, where the job has begun to write."""
    (files / "events").mkdir()
    line = json.dumps(next(iter(auctions.listings(1))))
    for number in range(999):
        (files / "events" / f"{number:03}.jsonl").write_text(line)
    (files / "events" / "bad.jsonl.gz").write_bytes(b"this is not compressed")
    given = ["--schema", files / "schema.toml", "--subscriptions", files / "wishes.parquet"]

    code = main(["match", *on, *map(str, given), "--events", str(files / "events"), "--out", str(files / "out")])

    err = capsys.readouterr().err
    assert code == 2
    assert "bad.jsonl.gz: cannot be read" in err
    assert err.count("\n") == 1
    assert not (files / "out").exists()


def test_no_events_and_no_subscriptions_are_no_mistake(files: Path, capsys: Capture, on: list[str]) -> None:
    pq.write_table(pa.table({"id": pa.array([], pa.string()), "expression": pa.array([], pa.string())}),
                   files / "none.parquet")  # fmt: skip
    (files / "none.jsonl").write_text("")
    given = ["--schema", files / "schema.toml", "--subscriptions", files / "none.parquet"]

    code = main(["match", *on, *map(str, given), "--events", str(files / "none.jsonl"), "--out", str(files / "out")])

    assert code == 0
    assert "0 events read, 0 rejected\n" in (told := capsys.readouterr().out)
    assert "0 matches against version 1" in told


def test_an_index_is_compacted_on_demand(files: Path, capsys: Capture) -> None:
    index = str(files / "index")
    (files / "change.csv").write_text("id,expression\nnew,price < 5000\n")
    main(["index", "--schema", str(files / "schema.toml"), "--subscriptions", str(files / "wishes.parquet"),
          "--out", index])  # fmt: skip
    main(["index", "--update", index, "--subscriptions", str(files / "change.csv")])

    done = main(["index", "--compact", index])
    wrong = main(["index", "--compact", index, "--subscriptions", str(files / "change.csv")])

    told = capsys.readouterr()
    assert (done, wrong) == (0, 2)
    assert "version 3 has 81 subscriptions in 2 segments" in told.out
    assert "expected --subscriptions with --out and --update, and only with them" in told.err
