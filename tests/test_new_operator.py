"""A new operator begins with a word in the enumeration; the type checker then lists what it must touch."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOUCHED = {
    "language/texts.py",
    "matchers/naive.py",
    "matchers/parts/postings.py",
    "matchers/parts/selectivity.py",
    "matchers/parts/text_tests.py",
    "model/predicates.py",
    "model/regions.py",
}
"""Beside `model/operators.py`, where it began."""


@pytest.mark.slow
def test_forgetting_a_place_is_an_error_of_make_check(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    table = tmp_path / "src" / "tamis" / "model" / "operators.py"
    text = table.read_text(encoding="utf-8")
    text = text.replace('    ENDS = "ends with"\n', '    ENDS = "ends with"\n    RHYMES = "rhymes with"\n')
    text = text.replace("    SUFFIX = auto()\n", "    SUFFIX = auto()\n    RHYME = auto()\n")
    table.write_text(text, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "src"], cwd=tmp_path, capture_output=True, text=True
    )

    listed = re.findall(r"src/tamis/(\S+?):\d+: error: Argument 1 to \"assert_never\"", done.stdout)
    assert set(listed) == TOUCHED, done.stdout
    assert len(TOUCHED) + 1 <= 8
