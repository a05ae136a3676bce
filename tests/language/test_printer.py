"""What is printed can be read again, and means the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.language import parse, parse_raw, print_predicate, print_subscription
from tamis.language.normal import normalise
from tamis.model import OPERATORS, Operator, Schema
from tamis.model.operators import IGNORING_CASE, Needs, Shape
from tests.strategies import expressions, schemas

OPEN = Schema(open=True)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_printed_normal_form_reads_as_itself(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    subscription = parse(data.draw(expressions(schema)), schema)

    assert parse(print_subscription(subscription), schema) == subscription


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_every_single_predicate_prints_as_it_was_meant(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    for conjunction in parse_raw(data.draw(expressions(schema)), schema):
        for predicate in conjunction:
            ((read,),) = parse_raw(print_predicate(predicate), schema)

            assert read == predicate


@given(st.text(min_size=1).filter(lambda name: name.isascii() or not any(0xD800 <= ord(c) < 0xE000 for c in name)))
@settings(max_examples=200, deadline=None)
def test_any_name_and_any_text_survive_printing(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"', "'" + name.replace("'", "''") + "'"
    subscription = parse(f"{quoted[0]} = {quoted[1]}", OPEN)

    assert parse(print_subscription(subscription), OPEN) == subscription
    assert subscription[0][0].attribute == name


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_any_number_survives_printing(number: float) -> None:
    subscription = parse(f"x = {number}", OPEN)

    assert parse(print_subscription(subscription), OPEN) == subscription
    assert subscription[0][0].constants[0].data == number


@pytest.mark.parametrize(
    "text",
    [
        "price < 10",
        "not price < 10",
        "a = 'it''s'",
        "a in ('x', 'y')",
        "a not contains true",
        '"in" = 1',
        '"dining room" = 1',
        '"say ""hi""" = 1',
        "timestamp = timestamp '2024-05-31T12:00:00.000000001Z'",
        "seller.rating >= 4",
        "größe > @breite",
        'a > @"two words"',
        "a is missing",
    ],
)
def test_a_predicate_is_printed_the_plain_way(text: str) -> None:
    ((predicate,),) = parse_raw(text, OPEN)

    assert print_predicate(predicate) == text


def written(operator: Operator) -> str:
    """A test with the operator, of an attribute and with constants that look like other things."""
    row, word = OPERATORS[operator], operator.value.removesuffix(IGNORING_CASE)
    if operator is Operator.AT_LEAST:
        return "at least 1 of (of = 'like', \"in\" like '%a_b' or any = 1, at least 1 of (case = 2, least is missing))"
    if row.shape is Shape.RECORDS:
        return f"{word}(any: of = 'like' or any(case: \"in\" is missing))"
    if row.shape is Shape.PRESENCE:
        return f"like {word}"
    if word.startswith("not ") and row.needs is Needs.ORDER:
        return f"not of {word.removeprefix('not ')} 3"
    constant = {Shape.PATTERN: r"'it''s\\%_%\\\\😀_'"}.get(row.shape, "'it''s ẞ 😀'")
    operand = f"({constant}, 'ﬃ', 'in')" if word in ("in", "not in") else constant
    return f'"of" {word} {operand}{IGNORING_CASE if row.folded else ""}'


@pytest.mark.parametrize("operator", Operator)
def test_every_operator_is_read_as_itself_and_printed_so_that_it_is_again(operator: Operator) -> None:
    ((predicate,),) = parse_raw(written(operator), OPEN)

    printed = print_predicate(predicate)

    assert predicate.operator is operator
    assert parse_raw(printed, OPEN) == [(predicate,)]
    assert print_subscription(parse(printed, OPEN)) == print_subscription(parse(written(operator), OPEN))


def test_a_subscription_that_never_matches_prints_as_one_that_never_matches() -> None:
    text = print_subscription(())

    assert text == "event_type is missing and event_type is present"
    assert parse(text, OPEN) == ()
    assert normalise((), OPEN) == ()
