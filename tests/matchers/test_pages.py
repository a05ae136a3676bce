"""Every algorithm has its page, its file begins with its paper, and the examples on the pages are true."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

from tamis.matchers import MATCHERS
from tamis.model import Schema

_ROOT = Path(__file__).parents[2]
_ELSEWHERE = {"adaptive"}
"""Ours, not a paper's: its page is the engine's."""
_OF_PAPERS = [name for name in MATCHERS if name not in _ELSEWHERE]
_SECTIONS = ("## By hand", "## Costs", "eviations", "## When to use")


def _page(name: str) -> str:
    return (_ROOT / "docs" / "algorithms" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", _OF_PAPERS)
def test_an_algorithm_has_its_page(name: str) -> None:
    page = _page(name)

    assert f'`MATCHERS["{name}"]`' in page
    assert [section for section in _SECTIONS if section not in page] == []


def _file(name: str) -> str:
    path = re.search(r"`(src/tamis/matchers/[\w/]+\.py)`", _page(name))
    assert path is not None
    return path[1]


@pytest.mark.parametrize("name", _OF_PAPERS)
def test_the_file_that_a_page_names_begins_with_its_paper(name: str) -> None:
    docstring = ast.get_docstring(ast.parse((_ROOT / _file(name)).read_text(encoding="utf-8"))) or ""

    assert re.search(r"ToPSS|Le Subscribe|RAPIDMatch", docstring.splitlines()[0])
    assert "Cost: match" in docstring


def test_every_algorithm_has_a_file_of_its_own() -> None:
    files = {name: _file(name) for name in _OF_PAPERS}

    assert len(set(files.values())) == len(files), files
    for name, file in files.items():
        module = type(MATCHERS[name](Schema(open=True))).__module__
        assert file == f"src/{module.replace('.', '/')}.py"


@pytest.mark.parametrize("name", _OF_PAPERS)
def test_the_examples_on_a_page_are_true(name: str) -> None:
    test = doctest.DocTestParser().get_doctest(_page(name), {}, name, None, 0)

    result = doctest.DocTestRunner(verbose=False).run(test)

    assert result.attempted > 0
    assert result.failed == 0


def test_no_page_is_left_over() -> None:
    pages = {path.stem for path in (_ROOT / "docs" / "algorithms").glob("*.md")}

    assert pages - _ELSEWHERE == set(_OF_PAPERS)
