"""Texts read by their shapes say what the parser says, mistakes included."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tamis import Schema
from tamis.errors import LimitError
from tamis.segments.compile import reading, shapes
from tamis.segments.compile.reading import read_texts
from tamis.workloads.ads import Ads
from tests.segments.compile.canonical import what_it_says, what_the_parser_says
from tests.strategies import Dice, make_expression, make_schema

SCHEMA = Schema.loads("""
[domains.period]
type = "enumerated"
values = ["XVI", "XVII", "XVIII", "modern"]
order = [["XVI", "XVII"], ["XVII", "XVIII"]]

[attributes]
price = "number"
reserve = "number"
quantity = { type = "integer", min = 0, max = 3 }
name = "string"
opens = "timestamp"
signed = "boolean"
period = "period"
"place of origin" = "string"
any = "untyped"
""")
STRAY = list('()\'",@ =<>andor1.e5\u00e9\u00a0"`-!\x1f\n')

KINDS_OF_TEXT = {
    "or": ["price = 1 or reserve = 2", "price = 1 or price = 1 and reserve = 2", "price < 3 or price is missing"],
    "not": ["not (price = 1 or reserve < 2)", "not not price = 1", "not price between 1 and 5 and price < 9"],
    "not in": ["price not in (1, 2, 2.5, 2)", "period not in (XVI, 'modern')", "quantity not in (0, 1, 2, 3)"],
    "holes": ["price != 1 and price not in (2, 3)", "name not contains a and name not contains 'b'", "quantity != 0"],
    "between": [
        "price between 5 and 1",
        "name between 'a' and 'b'",
        "name between 'b' and 'a'",
        "name >= 'a' and name < ''",
    ],
    "bounds": [
        "price > 1 and price > 2 and price <= 7 and price < 7.0",
        "quantity > 1 and quantity < 2",
        "price > 5 and price < 5",
    ],
    "starts": ["name starts with 'ab'", "name not starts with 'ab'", "name starts with ''", "name not starts with ''"],
    "ends": ["name ends with 'ab'", "not name ends with 'ab'", "name ends with ''", "name ends with abc"],
    "includes": [
        *("name includes 'ab'", "not name includes 'ab'", "name includes ''", "name not includes ''", "any includes a"),
        *("name includes 'a' and name includes 'b'", "name includes 'a' and name != 'b'", "price includes 'a'"),
    ],
    "like": [
        *("name like 'a%b_'", "name like 'a%'", "name like '%a'", "name like 'ab'", "name like '%'", "name like '_'"),
        *("name not like 'a%b_'", "name not like '%'", "name like 'a\\'", "name ilike 'A%b'", "not name ilike 'ß%'"),
        *("name like '%it''s%'", "any like 'x%y'", "any like 3"),
    ],
    "ignoring case": [
        *("name = 'STRASSE' ignoring case", "name != 'A' ignoring case", "name starts with 'A' ignoring case"),
        *("name in ('A', 'b', 'a') ignoring case", "name not in ('A', 'b') ignoring case", "name < 'a' ignoring case"),
        *("name contains 'A' ignoring case", "not name contains 'A' ignoring case", "any = 3 ignoring case"),
        *("name ends with '' ignoring case", "name includes 'İ' ignoring case", "any = 'x' Ignoring CASE"),
        *("name contains 'A' ignoring case and name contains 'B' ignoring case and name contains 'c'",),
        *("name = 'a' ignoring case and name is present", "name = 'a' ignoring case and name is missing"),
    ],
    "at least": [
        *("at least 2 of (price = 1, reserve < 2, name = 'a')", "not at least 1 of (price = 1, reserve < 2)"),
        *(
            "at least 4 of (price = 1, reserve < 2, name = 'a')",
            "at least 0 of (price = 1)",
            "at least 1.5 of (price = 1)",
        ),
        *("at least 1 of (price in (1, 2), opens < timestamp '2024-05-31' or name in ('it''s', oak) and price = 3)",),
        *("at least 1 of (opens in (timestamp '2024-05-31', timestamp '2024-06-01'), period = XX)",),
        *("(at least 2 of (price = 1, price = 1))", "AT LEAST 1 OF (price = 1) AND at least 1 of (price = 2)"),
        *("at least 1 of (price = 1) and at least 1 of (reserve = 2)", "price = 1 or at least 1 of (price = 2)"),
        *("at least 2 of (price > 3 and price < 1, reserve = 2)", "at least 1 of (quantity = 9, price = 1)"),
        *("at least 1 of (at least 1 of (price = 1, reserve = 3), \"place of origin\" = 'of')",),
        *("at least 1 of (name includes 'x', name like 'a%_' , name = 'A' ignoring case)", "at least 1 of (price = 1"),
    ],
    "presence": [
        "price is present and price = 1",
        "price is missing and price = 1",
        "price is present and price is present",
    ],
    "timestamps": [
        *("opens < '2024-05-31'", "opens >= timestamp '2024-05-31T12:00:00.5+02:00'", "any = timestamp '2024-05-31'"),
        *("opens < 'tomorrow'", "opens in ('2024-05-31', timestamp '2024-06-01')", "opens > '0001-01-01T00:00:00Z'"),
    ],
    "attributes": ["price > @reserve", "price > reserve", "price > @reserve and price < @reserve", "price > @name"],
    "missing links": ["price > @reserve and price is missing", "price > @reserve and reserve is present"],
    "quoted": ["\"place of origin\" = 'x'", "`price` < 3", '"say ""hi""" = 1', '"" = 1', '"price" = 1 and price = 2'],
    "escaped": ["name = 'it''s'", "name in ('it''s', 'a''''b')", "name = ''''", "name < 'it''s' and name < 'it'"],
    "parentheses": ["((price = 1))", "(price = 1", "price = 1)", "(price = 1) and (reserve = 2 or (name = 'a'))"],
    "words": [
        "period = XVI",
        "period <= 'XVII'",
        "period = XX",
        "name = oak",
        "any = oak",
        "any contains oak",
        "name in (oak, 'x')",
    ],
    "booleans": ["signed = true", "signed != TRUE", "signed = true and signed = false", "any contains true"],
    "numbers": [
        "quantity = 2.0",
        "quantity = 4",
        "price = 1e999",
        "price = 123456789012345678901",
        "price in (1.5, 12345678901234567)",
    ],
}


@pytest.mark.parametrize("kind", KINDS_OF_TEXT)
def test_each_construct_says_what_the_parser_says(kind: str) -> None:
    texts = [text for text in KINDS_OF_TEXT[kind] for _ in range(2)] + ["price = 1"]

    said = what_it_says(read_texts(pa.array(texts), SCHEMA), SCHEMA)

    assert said == [what_the_parser_says(text, SCHEMA) for text in texts]


@pytest.mark.parametrize("seed", range(30))
def test_random_texts_say_what_the_parser_says(seed: int) -> None:
    dice = Dice(random.Random(seed).randrange)
    schema = make_schema(dice)
    texts = [spoilt(dice, random_text(dice, schema)) for _ in range(60)]

    said = what_it_says(read_texts(pa.array(texts, pa.string()), schema), schema)

    for text, found in zip(texts, said, strict=True):
        assert found == what_the_parser_says(text, schema), (seed, text)


def random_text(dice: Dice, schema: Schema) -> str:
    text = make_expression(dice, schema)
    return f"{text} and {make_expression(dice, schema)}" if dice.chance(3) else text


def spoilt(dice: Dice, text: str) -> str:
    """One text in four with a character too many, or some too few."""
    if not dice.chance(4):
        return text
    at = dice.roll(len(text) + 1)
    return text[:at] + (dice.one(STRAY) + text[at:] if dice.chance(2) else text[at + dice.roll(4) :])


@pytest.mark.parametrize(
    "text",
    [
        *("a = {n} or b = {n}", "not (a = {n} or b < 3)", "a not in ({n}, 3)", "a between {n} and 9", "a = '{n}'"),
        *("a starts with 'x{n}'", "a ends with 'x{n}'", "a not contains {n}", "a is missing and b = {n}", "a > @b"),
        *("a < timestamp '2024-05-{n}'", '"a b" = {n}', "a = 'it''s {n}'", "((a = {n}))", "a != {n} and a != 3"),
        "env = 'prod' and number = '{n}' and tags contains tag{n} and tags contains t and type in ('app', 'x{n}')",
    ],
)
def test_the_parser_is_not_asked_about_texts_of_one_shape(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text.replace("{n}", str(number)) for number in range(10, 30)]
    monkeypatch.setattr(reading, "parse", refuse)

    found = read_texts(pa.array(texts), Schema(open=True))

    assert found.rejected == []


@pytest.mark.parametrize("workload", [Ads(), Ads(open=1)], ids=lambda workload: workload.name)
def test_the_parser_is_not_asked_about_classified_ads(workload: Ads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "parse", refuse)

    assert read_texts(workload.subscriptions(2000)["expression"].chunk(0), workload.schema()).rejected == []


def refuse(text: str, schema: Schema) -> None:
    raise AssertionError(f"left to the parser: {text}")


def test_limits_are_the_parsers() -> None:
    many = " and ".join(["(a = 1 or b = 1)"] * 10)
    long = f"a = '{'x' * 70_000}'"
    deep = "(" * 70 + "a = 1" + ")" * 70

    found = read_texts(pa.array(["a = 1", many, long, deep]), Schema(open=True))

    assert [(row, type(error)) for row, error in found.rejected] == [(1, LimitError), (2, LimitError), (3, LimitError)]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_chunks_say_together_what_the_whole_says(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        *Ads(open=1).subscriptions(200)["expression"].to_pylist(),
        "price = ",
        "a = b",
        "(a = 1 or b = 2) and a = 1",
    ]
    schema = Ads(open=1).schema()
    whole = what_it_says(read_texts(pa.array(texts), schema), schema)
    monkeypatch.setattr(reading, "CHUNK", size)

    assert what_it_says(read_texts(pa.array(texts), schema), schema) == whole


def test_a_shape_is_parsed_once_per_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    parse_syntax = shapes.parse_syntax
    monkeypatch.setattr(shapes, "parse_syntax", lambda text: asked.append(text) or parse_syntax(text))
    one, other = Schema(open=True), Schema.loads('[attributes]\na = "string"')

    for number in range(3):
        read_texts(pa.array([f"a = 'x{number}'", f"a = 'y{number}' and a = 'y{number}'"]), one)
    refused = read_texts(pa.array(["a = 1"]), other).rejected

    assert asked == ["a = 'x0'", "a = 1"]
    assert [row for row, _ in refused] == [0]
