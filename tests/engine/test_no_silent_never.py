"""A forgotten or foreign quote, or a name nearly right, is told; it becomes no subscription that never matches."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tamis import Engine, LanguageError, Schema

CLOSED = Schema.loads('attributes = { category = "string", maker = "string" }')


@pytest.mark.parametrize("schema", [None, CLOSED])
@pytest.mark.parametrize("text", ['category = "cars"', 'category in ("cars")', 'not (category != "cars")'])
def test_double_quotes_on_the_right_are_an_error_that_offers_both_spellings(schema: Schema | None, text: str) -> None:
    engine = Engine(schema)

    with pytest.raises(LanguageError, match="write 'cars' for the text or @cars for the attribute") as caught:
        engine.subscribe("a", text)
    with pytest.raises(LanguageError, match=r"subscription 'b' \(row 1\): double quotes name"):
        engine.subscribe_many([("a", "category = 'cars'"), ("b", text)])
    with pytest.raises(LanguageError, match=r"subscription 'b' \(row 1\): double quotes name"):
        engine.subscribe_many(pa.table({"id": ["a", "b"], "expression": ["category = 'cars'", text]}))

    assert caught.value.column == text.index('"') + 1
    assert len(engine) == 0


def test_double_quotes_name_attributes_on_the_left_and_behind_an_at() -> None:
    engine = Engine()
    engine.subscribe("a", '"user-agent" = @"last agent" and "it" is present')

    assert engine.match({"user-agent": "x", "last agent": "x", "it": 1}) == ["a"]


@pytest.mark.parametrize("schema", [None, CLOSED])
def test_nothing_equals_null(schema: Schema | None) -> None:
    with pytest.raises(LanguageError, match="column 12: nothing equals null: write category is missing, or 'null'"):
        Engine(schema).subscribe("a", "category = null")


def test_a_name_that_differs_by_case_or_a_letter_is_noted() -> None:
    engine = Engine()
    engine.match({"price": 1, "category": "x"})

    notes = [engine.subscribe(n, text).notes for n, text in enumerate(("Price < 1", "categry = 'x'", "price < 1"))]
    many = engine.subscribe_many([("a", "colour = 1"), ("b", "weight = 1"), ("c", "color = 1")]).notes

    assert notes == [
        ("the attribute 'Price' is new and differs from 'price' by case alone: is that one meant?",),
        ("the attribute 'categry' is new and differs from 'category' by one letter: is that one meant?",),
        (),
    ]
    assert many == ("the attribute 'colour' is new and differs from 'color' by one letter: is that one meant?",)


def test_a_declared_schema_needs_no_such_notes() -> None:
    engine = Engine(Schema.loads('attributes = { price = "number", Price = "number" }'))

    assert engine.subscribe("a", "price < 1").notes == engine.subscribe("b", "Price < 1").notes == ()


def test_unlike_names_and_short_ones_are_not_noted() -> None:
    engine = Engine()

    assert engine.subscribe_many([("a", "a = 1 and b = 1 and ab = 1"), ("b", "width = 1 and height = 2")]).notes == ()


def test_stats_tell_what_subscriptions_ask_for_from_what_events_had() -> None:
    engine = Engine()
    engine.subscribe("a", "prize < 5 and at least 1 of (title includes 'x', n = 1)")
    engine.match({"price": 3, "title": "ax"})

    stats = engine.stats()

    assert stats["subscription_attributes"] == {"n": ["number"], "prize": ["number"], "title": ["string"]}
    assert stats["event_attributes"] == {"price": ["number"], "title": ["string"]}
    assert stats["attributes"].keys() == {"n", "price", "prize", "title"}
