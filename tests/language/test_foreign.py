"""Spellings of other languages: taken where they are clear, else a hint at their column."""

from __future__ import annotations

import pytest

from tamis import Engine, LanguageError, Schema
from tamis.language import parse

OPEN = Schema(open=True)


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("a === 1", 3, "found '==='; write ="),
        ("a =< 1", 3, "found '=<'; write <="),
        ("a => 1", 3, "write >="),
        ("a <=> 1", 3, "write ="),
        ("a gte 1", 3, "write >="),
        ("a equals 1", 3, "write ="),
        ("a is 'x'", 6, "write = 'x'"),
        ("a is not 3", 10, "write != 3"),
        ("a not = 3", 7, "write !="),
        ("exists(a)", 7, "write … is present"),
        ("lower(a) = 'x'", 6, "ignoring case"),
        ("a like 'x' escape '!'", 12, "makes the next character plain"),
        ("a ≤ 1", 3, "found '≤'; write <="),
        ("a ≠ 1", 3, "write !="),
        ("a : 1", 3, "found ':'; write = for a value, includes for some text in it"),
        ("a ~ 'x'", 3, "write like 'a%_b', includes or starts with"),
        ("a =~ 'x'", 3, "there are no regular expressions"),
        ("a = null", 5, "write a is missing"),
        ("a exists", 3, "write is present"),
        ("exists a", 1, "write a is present"),
        ("a has 'x'", 3, "write contains for a value of a set, includes for some text in a value"),
        ("a icontains 'x'", 3, "write includes '…' ignoring case"),
        ("a endswith 'x'", 3, "did you mean 'ends with'?"),
        ("a regexp 'x'", 3, "there are no regular expressions"),
        ("a < date '2024-05-31'", 5, "write timestamp '2024-05-31'"),
        ("a < now()", 5, "there are no functions, and no clock"),
        ("a", 2, "that a boolean is true is written a = true"),
        ("a and b = 1", 3, "that a boolean is true is written a = true"),
        ("user-agent = 'x'", 1, 'an odd name goes in double quotes: "user-agent"'),
        ("a = ‘x’", 5, "a text goes in straight single quotes"),
        ("a = “x”", 5, "a text goes in straight single quotes"),
        ("a is not true", 10, "write = false"),
        ("a = 1; b = 2", 6, "found ';'"),
    ],
)
def test_a_foreign_spelling_gets_its_hint_at_its_column(text: str, column: int, part: str) -> None:
    with pytest.raises(LanguageError) as caught:
        Engine().subscribe("it", text)

    assert part in str(caught.value)
    assert caught.value.column == column


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a = 1 && b = 2", "a = 1 and b = 2"),
        ("a = 1||b = 2", "a = 1 or b = 2"),
        ("a is null", "a is missing"),
        ("a IS NOT NULL", "a is present"),
        ("a is true", "a = true"),
        ("a is FALSE", "a = false"),
        ("a = 1;", "a = 1"),
        ("a = ';' ; ", "a = ';'"),
    ],
)
def test_a_clear_spelling_is_taken(text: str, meaning: str) -> None:
    assert parse(text, OPEN) == parse(meaning, OPEN)

    engine = Engine()
    engine.subscribe_many([("a", text), ("b", meaning)])
    for event in ({"a": 1}, {"a": 1, "b": 2}, {"b": 2}, {"a": True}, {"a": False}, {"a": ";"}):
        assert len(engine.match(event)) != 1


@pytest.mark.parametrize(
    "name", ["case", "of", "any", "like", "ilike", "includes", "ignoring", "at", "least", "ends", "null"]
)
def test_new_words_are_names_of_attributes_all_the_same(name: str) -> None:
    engine = Engine()
    engine.subscribe("a", f"{name} = 1 and x > @{name}")

    assert engine.match({name: 1, "x": 2}) == ["a"]
