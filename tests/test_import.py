"""`import tamis` needs the base dependencies alone, and does nothing but define names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

HEAVY = {
    *("numba", "llvmlite", "lmdb"),  # base dependencies, loaded by the algorithms that need them
    *("pyspark", "pandas", "starlette", "uvicorn", "httpx", "msgspec", "duckdb", "psycopg", "sqlite3"),
    "matplotlib",
}

REPORT = """
import json, sys, threading
before = set(sys.modules)
LINES
import logging
print(json.dumps({
    "modules": sorted({name.partition(".")[0] for name in set(sys.modules) - before}),
    "threads": [thread.name for thread in threading.enumerate()],
    "handlers": [repr(handler) for handler in logging.getLogger().handlers],
}))
"""

HIDE = """
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ImportError(name + " is hidden: it comes with an extra")

sys.meta_path.insert(0, Hidden())
"""

WORK = """
engine = tamis.Engine()
engine.subscribe("ann", "price < 200")
assert engine.match({"price": 150}) == ["ann"]
assert engine.match_many([{"price": 150}]).to_arrow().num_rows == 1
"""


def run(lines: str) -> dict[str, list[str]]:
    done = subprocess.run([sys.executable, "-c", REPORT.replace("LINES", lines)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    report: dict[str, list[str]] = json.loads(done.stdout)
    return report


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", requirement, maxsplit=1)[0] for requirement in requirements}


def test_importing_loads_nothing_heavy_and_starts_nothing() -> None:
    report = run("import tamis")

    assert HEAVY & set(report["modules"]) == set()
    assert report["threads"] == ["MainThread"]
    assert report["handlers"] == []


def test_the_command_line_loads_nothing_heavy_to_show_its_help() -> None:
    report = run("from tamis.cli import _parser\n_parser().format_help()")

    assert HEAVY & set(report["modules"]) == set()


def test_the_engine_works_with_the_base_dependencies_alone() -> None:
    extras = names([one for extra in PROJECT["optional-dependencies"].values() for one in extra])
    hidden = extras - names(PROJECT["dependencies"]) - {"tamis"} | {"py4j"}
    assert {"pyspark", "pandas", "starlette", "httpx", "duckdb"} <= hidden

    report = run(HIDE.replace("HIDDEN", repr(hidden)) + "import tamis\n" + WORK)

    assert {"tamis", "pyarrow", "numpy"} <= set(report["modules"])
