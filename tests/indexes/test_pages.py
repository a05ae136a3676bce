"""Every index has its page, and what the page shows is what happens."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tamis.indexes import INDEXES

PAGES = Path(__file__).parents[2] / "docs" / "indexes"


def test_every_index_has_a_page_and_every_page_an_index() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(INDEXES)


@pytest.mark.parametrize("name", list(INDEXES))
def test_the_examples_of_a_page_run(name: str) -> None:
    result = doctest.testfile(str(PAGES / f"{name}.md"), module_relative=False)

    assert result.attempted > 5
    assert result.failed == 0
