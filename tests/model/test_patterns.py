r"""Patterns of `like`, against two databases that have it, and against Python where case is ignored."""

from __future__ import annotations

import random
import re
import sqlite3

import duckdb
import pytest

from tamis.errors import LimitError
from tamis.model.patterns import MAX_WILDCARDS, PatternRefused, escaped, pattern

SEED = 16
SIGNS = ("%", "_", "a", "b", r"\%", r"\_", r"\\", r"\a", "é", "😀", "A")
LETTERS = ("a", "b", "%", "_", "\\", "é", "😀", "A")


def drawn(count: int) -> list[tuple[str, str]]:
    """Patterns and texts that nearly fit."""
    dice = random.Random(SEED)
    return [("".join(dice.choices(SIGNS, k=dice.randint(0, 7))), "".join(dice.choices(LETTERS, k=dice.randint(0, 8))))
            for _ in range(count)]  # fmt: skip


def test_a_pattern_fits_what_sqlite_says_it_does() -> None:
    database = sqlite3.connect(":memory:")
    database.execute("PRAGMA case_sensitive_like = ON")

    for text, value in drawn(20_000):
        (fits,) = database.execute(r"SELECT ? LIKE ? ESCAPE '\'", (value, text)).fetchone()
        assert pattern(text).fits(value) == bool(fits), (text, value)


def test_a_pattern_fits_what_duckdb_says_it_does() -> None:
    pairs = drawn(20_000)
    database = duckdb.connect()
    database.execute("CREATE TABLE pairs (place INTEGER, pattern VARCHAR, value VARCHAR)")
    texts, values = [list(side) for side in zip(*pairs, strict=True)]
    database.execute("INSERT INTO pairs SELECT unnest(range(?)), unnest(?), unnest(?)", (len(pairs), texts, values))

    answers = database.execute(r"SELECT value LIKE pattern ESCAPE '\' FROM pairs ORDER BY place").fetchall()

    for (text, value), (fits,) in zip(pairs, answers, strict=True):
        assert pattern(text).fits(value) == fits, (text, value)


def test_of_folded_texts_a_pattern_says_what_a_regular_expression_says() -> None:
    dice = random.Random(SEED)
    letters = ("ß", "S", "s", "ſ", "İ", "i", "K", "k", "ﬃ", "𐐀", "a")
    for _ in range(5_000):
        literals = ["".join(dice.choices(letters, k=dice.randint(0, 2))) for _ in range(3)]
        signs = dice.choices("%_", k=2)  # `_` is one code point of what is folded: two are one `ß`
        value = "".join(dice.choices(letters, k=dice.randint(0, 5)))
        first, second = ({"%": ".*", "_": "."}[sign] for sign in signs)
        parts = [re.escape(one.casefold()) for one in literals]
        expected = re.compile(parts[0] + first + parts[1] + second + parts[2], re.DOTALL)

        fits = pattern(literals[0] + signs[0] + literals[1] + signs[1] + literals[2]).folded().fits(value.casefold())

        assert fits == bool(expected.fullmatch(value.casefold())), (literals, signs, value)


def test_folding_twice_is_folding_once() -> None:
    assert all(chr(code).casefold().casefold() == chr(code).casefold() for code in range(0x110000))


def test_of_patterns_that_say_the_same_one_is_written() -> None:
    assert {pattern(text).text for text in ("%_%_", "__%", "%__", "_%_", "_%%%_")} == {"__%"}
    for text, _ in drawn(2_000):
        assert pattern(pattern(text).text) == pattern(text)


def test_an_escaped_text_is_fitted_by_itself_alone() -> None:
    for _, value in drawn(500):
        assert pattern(escaped(value)).stretches[0].plain == value


def test_a_backslash_at_the_end_is_refused() -> None:
    with pytest.raises(PatternRefused, match="found the end of the pattern"):
        pattern("a\\")


def test_a_pattern_has_so_many_wildcards_and_no_more() -> None:
    assert pattern("a%" * MAX_WILDCARDS).fits("a" * MAX_WILDCARDS)
    with pytest.raises(LimitError, match="at most 256 wildcards"):
        pattern("a%" * (MAX_WILDCARDS + 1))


def test_a_hostile_pattern_goes_through_a_text_once() -> None:
    text = "a" * 20_000

    assert not pattern("a%" * 200 + "b%").fits(text)  # a backtracking search would not come back
    assert not pattern("%" + "a_" * 120 + "b%").fits(text)
