"""What is printed can be read again, and means the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.language import parse, parse_raw, print_predicate, print_subscription
from tamis.language.normal import normalise
from tamis.model import Schema
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


def test_a_subscription_that_never_matches_prints_as_one_that_never_matches() -> None:
    text = print_subscription(())

    assert text == "event_type is missing and event_type is present"
    assert parse(text, OPEN) == ()
    assert normalise((), OPEN) == ()
