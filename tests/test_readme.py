"""What the README promises is executed here; what the docs link to exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tamis.cli import main
from tests.pages import ROOT, fences, page, run_blocks

README = page("README.md")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def test_the_example_shows_what_its_comments_say() -> None:
    shown = run_blocks("README.md", fences(README, "python"), {})

    assert shown == (5, "")


def test_the_example_has_twelve_lines_at_most() -> None:
    (code,) = fences(README, "python")

    assert len([line for line in code.splitlines() if line.strip()]) <= 12


def test_the_command_in_the_readme_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = (fence for fence in fences(README) if "bin/tamis explain" in fence)

    code = main(shlex.split(command)[1:])

    (python,) = fences(README, "python")
    assert code == 0
    assert [f"# {line}" for line in capsys.readouterr().out.splitlines()] == python.splitlines()[-3:]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_make_command_named_is_a_target(name: str) -> None:
    text, makefile = page(name), page("Makefile")

    named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)`", text, re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))

    assert {first or second for first, second in named} - targets == set()
    assert named


@pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_every_link_leads_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)

    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]

    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (path.parent / target).exists()] == []
