"""The programs in examples/ run, and say what they should."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tamis import Engine
from tests.pages import ROOT

EXAMPLES = ROOT / "examples"
END_OF_CELL = "\x1e"


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_saved_searches_say_who_hears_of_what_and_what_is_wrong(tmp_path: Path) -> None:
    told = run(str(EXAMPLES / "saved_searches.py"), cwd=tmp_path)

    assert told.splitlines() == [
        "joe's search cannot be read, column 1: no attribute is called 'categry'; did you mean 'category'?",
        "  categry = chair",
        "  ^",
        "Dining table, seats six: ann",
        "Thonet No. 14: eve",
        "Kitchen chair: bob, eve",
        "Desk: rejected, R2: attribute 'category': "
        "expected one of 'furniture', 'chair', 'table', 'dining table', found 'desk'",
        "Why does bob not hear of the dining table? It does not match",
        "  ✗ not category <= 'table'                      category is 'dining table'",
        "  ✓ material contains 'oak'                      material is {'oak', 'iron'}",
    ]


def test_price_alerts_go_on_where_the_day_before_left_them(tmp_path: Path) -> None:
    first, second, third = (run(str(EXAMPLES / "price_alert.py"), "alerts", day, cwd=tmp_path) for day in "123")

    assert first.splitlines() == [
        "new: ann, bob, eve",
        "bob: OAK at 100.42",
        "eve: ELM at 60.45",
        "still waiting: ann",
    ]
    assert second.splitlines() == ["from before: ann", "ann: OAK at 94.75", "still waiting: nobody"]
    assert third.startswith("new: ")


@pytest.mark.spark
def test_the_broker_tells_every_topic_and_takes_up_a_filter_that_comes_later(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "alerts"))
    import broker

    *batches, last = broker.broker(spark, tmp_path / "night", 100, 200)

    engine = Engine(broker.SCHEMA, algorithm="naive")
    engine.subscribe_many([one[:2] for one in broker.filters(100)])
    events = [{name: value for name, value in one.items() if name != "event_id"} for one in broker.alerts(200)]
    wanted = sum(len(engine.match(one)) for one in events)
    bright = [one["candidate"] for at, one in enumerate(events) if at % 5 > 1]
    late = sum(one["magnitude"] < 18 and one["score"] > 0.5 for one in bright)
    assert [line.partition(", ")[0] for line in batches] == [f"batch {number}: 40 events" for number in range(5)]
    assert ["version 1" in line for line in batches] == [True, True, False, False, False]
    assert last.startswith(f"{wanted + late} notifications for ")
    assert last.endswith(f"{late} by the filter that came later")
    assert late > 0


@pytest.mark.spark
def test_the_notebook_prints_what_it_was_saved_with(tmp_path: Path) -> None:
    cells = json.loads((EXAMPLES / "spark_notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    saved = ["".join(line for output in cell["outputs"] for line in output["text"]) for cell in code]
    program = "\n".join("".join(cell["source"]) + f"\nprint({END_OF_CELL!r}, flush=True)" for cell in code)

    printed = run("-c", program, cwd=tmp_path).split(f"{END_OF_CELL}\n")

    assert printed == [*saved, ""]
    assert any(saved)


def test_every_example_is_on_the_page_of_examples() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    here = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    assert [name for name in sorted(here) if f"({name})" not in page] == []
    assert len(here) == 3
