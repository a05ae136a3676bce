"""What the quick check calls sure, the parser accepts and finds possible."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import Schema
from tamis.language import parse
from tamis.language.quick import QuickCheck
from tests.strategies import expressions, schemas


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_sure_expression_parses_and_can_match(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    text = data.draw(expressions(schema))

    if QuickCheck(schema).surely(text):
        assert parse(text, schema)


_PIECES = ["a", "b", " ", "and", "AND ", "=", "<", ">=", "'x'", "''", "12", "-3", "or", "(", "not ", "'", "\n", "in"]


@settings(max_examples=500, deadline=None)
@given(text=st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_what_is_sure_among_scraps_of_text_parses(text: str) -> None:
    schema = Schema(open=True)

    if QuickCheck(schema).surely(text):
        assert parse(text, schema)


@pytest.mark.parametrize("text", ["a = 1", "a = 1 and b < 'x'", " a>=1  AND\tb != 'y' "])
def test_the_usual_expression_is_sure(text: str) -> None:
    assert QuickCheck(Schema(open=True)).surely(text)


@pytest.mark.parametrize(
    "text", ["", "a = 1 and", "a = 1 and ", "a = 1and b = 2", "a = 1 and a = 2", "and = 1", "a < ''"]
)
def test_doubt_is_left_to_the_parser(text: str) -> None:
    assert not QuickCheck(Schema(open=True)).surely(text)
