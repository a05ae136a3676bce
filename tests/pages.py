"""The code on a page, run: each statement shows what the comment behind or below it says."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from typing import NamedTuple

import tamis

ROOT = Path(__file__).parents[1]

_ERROR = re.compile(r"(\w+): ")


class Shown(NamedTuple):
    """What running a page came to: statements that show something, and a report on those that showed otherwise."""

    checked: int
    report: str


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def fences(text: str, language: str = "") -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [content for name, content in found if name == language]


def run_blocks(name: str, blocks: list[str], names: dict[str, object]) -> Shown:
    """All blocks in turn, with one set of names; how values are broken into lines makes no difference."""
    steps = [step for code in blocks for step in examples(code)]
    report: list[str] = []
    test = doctest.DocTest(steps, names, name, name, 0, "\n".join(blocks))
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    result = runner.run(test, out=report.append)
    assert result.attempted == len(steps)
    return Shown(sum(bool(step.want.strip()) or step.exc_msg is not None for step in steps), "".join(report))


def examples(code: str) -> list[doctest.Example]:
    """Each statement with what its comment says: a value, a print, or an error of ours by its name."""
    lines = code.splitlines()
    found = []
    for statement in ast.parse(code).body:
        assert statement.end_lineno is not None
        end = statement.end_lineno
        comments = [lines[end - 1][statement.end_col_offset :].strip()]
        while end < len(lines) and lines[end].startswith("#"):
            comments.append(lines[end])
            end += 1
        want = "\n".join(comment.removeprefix("#").removeprefix(" ") for comment in comments if comment)
        source = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        if not isinstance(statement, ast.Expr):
            want = ""
        elif not want:
            source = f"_ = {source}"  # shows something that the page does not dwell on
        found.append(doctest.Example(source, want, exc_msg=_error(want), lineno=statement.lineno))
    return found


def _error(want: str) -> str | None:
    """Python's words for the error that the comment names, if it names one."""
    name = _ERROR.match(want)
    kind = getattr(tamis, name[1], None) if name else None
    if not isinstance(kind, type) or not issubclass(kind, tamis.TamisError):
        return None
    return f"{kind.__module__}.{want}\n"
