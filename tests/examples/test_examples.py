"""The programs in examples/ run, and say what they should."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
