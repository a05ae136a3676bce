"""Flat texts, read by the kernel, mean what the parser says they mean."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tamis import Engine, LanguageError, Schema
from tests.strategies import Dice

TWICE = [
    "a in (1, 2) and a in (2, 3)",
    "a in (1, 2) and a in (3, 4)",
    "a in (1, 2, 3) and a >= 2",
    "a in (1, 2) and a = 1",
    "a > 1 and a < 3",
    "a < 3 and a > 1",
    "a > 1 and a < 3 and a < 2",
    "a between 1 and 4 and a between 3 and 7",
    "a between 1 and 4 and a != 2",
    "a >= 1 and a >= 2",
    "a >= 1 and a <= 's'",
    "a contains 1 and a contains 2",
    "a contains 1 and a contains 2 and a >= 3",
    "a is present and a contains 1",
    "a is present and a = 1",
    "a is missing and a contains 1",
    "a is missing and a = 1",
    "a contains 1 and a is missing",
    "a = 1 and a = 1",
]
WRITTEN = [
    "a = +1",
    "a = -1",
    "a >= +1.5",
    "a > .5",
    "a < 5.",
    "a < 1e1",
    "a <= -1.5e-1",
    "A = 1",
    "a == 1 AND b <> 2",
    "\ta\n=\r1 and  b!=2 ",
    "a = 's1'",
    "a contains s1",
    "a = true and b = FALSE",
    "a.b = 1",
    "and_ = 1",
    "a in (1)",
    "a in ( 1 , 2 )",
    "a starts with 's'",
    "a starts with ''",
    "a < ''",
    "a = ''",
    "a is present and b is missing",
    f"a in ({', '.join(map(str, range(64)))})",
    f"a in ({', '.join(map(str, range(65)))})",
    " and ".join(f"a contains {n % 7}" for n in range(40)),
    " and ".join(f"x{n} = {n}" for n in range(100)),
]
EVENTS: list[dict[str, object]] = [
    {},
    *({"a": n, "b": 9 - n, "A": n, "and_": n, "a.b": n} for n in range(-1, 9)),
    *({"a": value, "b": False} for value in ("", "s", "s1", "t", True, 0.5, 1.5, -0.15, 63, 64)),
    {"a": [1, 2]},
    {"a": [1, 2, 3], "b": [2, 4]},
    {"a": list(range(7))},
    {f"x{n}": n for n in range(100)},
]


def both(texts: list[str], schema: Schema | None = None) -> tuple[Engine, Engine]:
    """The adaptive engine, which reads columns, and the oracle."""
    table = pa.table({"id": range(len(texts)), "expression": texts})
    engine, oracle = Engine(schema), Engine(schema, algorithm="naive")
    assert engine.subscribe_many(table) == oracle.subscribe_many(table)
    engine.check()
    return engine, oracle


@pytest.mark.parametrize("texts", [TWICE, WRITTEN, [*TWICE, *WRITTEN]], ids=["twice", "written", "together"])
def test_a_flat_text_means_what_the_parser_says(texts: list[str]) -> None:
    engine, oracle = both(texts)

    for event in EVENTS:
        assert engine.match(event) == oracle.match(event), event


@pytest.mark.parametrize("text", TWICE + WRITTEN)
def test_a_flat_text_alone_means_the_same(text: str) -> None:
    engine, oracle = both([text])

    assert [list(ids) for ids in engine.match_many(EVENTS)] == [oracle.match(event) for event in EVENTS]


@pytest.mark.parametrize(
    "text",
    [
        *("a", "a =", "a = 1 and", "and = 1", "a in (1", "a in ()", "a in (1,)", "a between 1", "a = 1 b = 2", "= 1"),
        *("a = s1", "a in (1, 's')", "a in (1, true)"),
    ],
)
def test_what_the_parser_refuses_is_refused_by_row(text: str) -> None:
    table = pa.table({"id": [1, 2], "expression": ["a = 1", text]})

    with pytest.raises(LanguageError, match="row 1"):
        Engine().subscribe_many(table)


@pytest.mark.parametrize("seed", range(5))
def test_random_flat_texts_mean_the_same(seed: int) -> None:
    dice = Dice(random.Random(seed).randrange)
    engine, oracle = both([flat_text(dice) for _ in range(300)])
    values: list[object] = [0, 1, 2, 3, 1.5, "s0", "s1", True]

    for _ in range(60):
        event = {name: [dice.one(values) for _ in range(dice.one((1, 1, 2)))] for name in "abc" if dice.one((0, 1, 1))}
        assert engine.match(event) == oracle.match(event), (seed, event)


def flat_text(dice: Dice) -> str:
    return " and ".join(flat_test(dice) for _ in range(dice.one((1, 2, 3, 4))))


def flat_test(dice: Dice) -> str:
    name = dice.one("abc")
    numbers = [dice.one(("0", "1", "2", "3", "1.5")) for _ in range(3)]
    match dice.one(("symbol", "symbol", "in", "between", "contains", "string", "is")):
        case "symbol":
            return f"{name} {dice.one(('=', '!=', '<', '<=', '>', '>='))} {numbers[0]}"
        case "in":
            return f"{name} in ({', '.join(numbers[: dice.one((1, 2, 3))])})"
        case "between":
            return f"{name} between {numbers[0]} and {numbers[1]}"
        case "contains":
            return f"{name} contains {numbers[0]}"
        case "string":
            return f"{name} {dice.one(('=', '!=', '<', 'starts with'))} 's{dice.one('012')}'"
    return f"{name} is {dice.one(('present', 'missing'))}"
