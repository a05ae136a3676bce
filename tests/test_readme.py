"""What the README promises is executed here; what the docs link to exists."""

from __future__ import annotations

import ast
import doctest
import re
import shlex
from pathlib import Path

import pytest

from tamis.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def fences(text: str, language: str = "") -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [content for name, content in found if name == language]


def examples(code: str) -> list[doctest.Example]:
    """Each statement with what the comment behind it, or the comment lines below it, say it shows."""
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
            source = f"_ = {source}"  # shows something that the README does not dwell on
        found.append(doctest.Example(source, want, lineno=statement.lineno))
    return found


def test_the_example_shows_what_its_comments_say() -> None:
    (code,) = fences(README, "python")
    steps = examples(code)
    runner = doctest.DocTestRunner(verbose=False)
    report: list[str] = []

    result = runner.run(doctest.DocTest(steps, {}, "README", "README.md", 0, code), out=report.append)

    assert sum(bool(step.want.strip()) for step in steps) == 4
    assert result.attempted == len(steps)
    assert result.failed == 0, "".join(report)


def test_the_example_has_twelve_lines_at_most() -> None:
    (code,) = fences(README, "python")

    assert len([line for line in code.splitlines() if line.strip()]) <= 12


def test_the_command_in_the_readme_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = (fence for fence in fences(README) if "bin/tamis explain" in fence)

    code = main(shlex.split(command)[1:])

    (python,) = fences(README, "python")
    assert code == 0
    assert [f"# {line}" for line in capsys.readouterr().out.splitlines()] == python.splitlines()[-3:]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_make_command_named_is_a_target(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)`", text, re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))

    assert {first or second for first, second in named} - targets == set()
    assert named


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)

    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]

    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []
