"""Bounds, constants and values past int64 and past 2**53 give the answers of the naive matcher, on every road."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis import Engine, Schema
from tamis.errors import TamisError
from tamis.model import Attribute, Integer, Number, Untyped

Event = dict[str, Any]

MAGNITUDES = (0, 1, 5, 2**53, 2**62, 10**18, 2**63, 10**19, 2**64, 10**20)
WHOLES = sorted({sign * one + step for one in MAGNITUDES for sign in (-1, 1) for step in (-1, 0, 1)})
REALS = (0.5, -0.5, 2.0**53, 9.2e18, 2.0**63, -(2.0**63), 1e19, 2.0**64, 1e20, -1e20, 1e300)
FAR = 10**400
"""Past any double."""
TYPES: dict[pa.DataType, Callable[[Any], bool]] = {
    pa.int64(): lambda one: type(one) is int and -(2**63) <= one < 2**63,
    pa.uint64(): lambda one: type(one) is int and 0 <= one < 2**64,
    pa.decimal128(38, 0): lambda one: type(one) is int and abs(one) < FAR,
    pa.decimal256(60, 0): lambda one: type(one) is int and abs(one) < FAR,
    pa.float64(): lambda one: type(one) is float,
}
NAMES = ("i", "j", "k", "n", "u")


def drawn_schema(draw: random.Random) -> Schema:
    """Three whole attributes with bounds anywhere, a number and one without a type."""
    ends = [sorted(draw.sample([*WHOLES, FAR, -FAR], 2)) for _ in "ijk"]
    domains = [Integer(*(None if draw.random() < 0.2 else end for end in pair)) for pair in ends]
    return Schema(attributes={n: Attribute(n, d) for n, d in zip(NAMES, [*domains, Number(), Untyped()], strict=True)})


def drawn_value(draw: random.Random, name: str) -> int | float:
    return draw.choice(REALS) if draw.random() < (0.1 if name in "ijk" else 0.4) else draw.choice([*WHOLES, FAR])


def drawn_test(draw: random.Random) -> str:
    name = draw.choice(NAMES)
    low, high = sorted(drawn_value(draw, "i" if name in "ijk" else name) for _ in range(2))
    return draw.choice(
        [
            f"{name} between {low!r} and {high!r}",
            f"{name} {draw.choice(['>', '>='])} {low!r} and {name} {draw.choice(['<', '<='])} {high!r}",
            f"{name} {draw.choice(['<', '<=', '=', '!=', '>=', '>'])} {low!r}",
            f"{name} {draw.choice(['<', '<=', '=', '!=', '>=', '>'])} @{draw.choice(NAMES)}",
            f"{name} in ({low!r}, {high!r})",
            f"{name} {draw.choice(['contains', 'lacks'])} {high!r}",
        ]
    )


def accepted(engine: Engine, event: Event) -> bool:
    try:
        engine.match(event)
    except TamisError:
        return False
    return True


def drawn(draw: random.Random) -> tuple[Engine, dict[int, str], list[Event]]:
    """The oracle with what it takes: subscriptions and events."""
    oracle = Engine(drawn_schema(draw), algorithm="naive")
    texts: dict[int, str] = {}
    for id in range(60):
        text = " and ".join(drawn_test(draw) for _ in range(draw.choice((1, 1, 2))))
        try:
            oracle.subscribe(id, text)
        except TamisError:  # a constant that is not in the domain
            continue
        texts[id] = text
    events: list[Event] = [{n: drawn_value(draw, n) for n in draw.sample(NAMES, 3)} for _ in range(60)]
    events += [{n: [drawn_value(draw, n), drawn_value(draw, n)]} for n in NAMES for _ in range(4)]
    return oracle, texts, [event for event in events if accepted(oracle, event)]


def as_table(draw: random.Random, events: list[Event], oracle: Engine) -> pa.Table:
    """The events as columns of types drawn anew; what a type cannot hold is missing."""
    columns = {}
    for name in NAMES:
        type_, fits = draw.choice(list(TYPES.items()))
        found = [one if fits(one := event.get(name)) else None for event in events]
        exact = [Decimal(one) if one is not None and pa.types.is_decimal(type_) else one for one in found]
        columns[name] = pa.array(exact, type_)
    table = pa.table(columns)
    return table.filter(pa.array([accepted(oracle, row) for row in table.to_pylist()], pa.bool_()))


@pytest.mark.parametrize("seed", range(12))
def test_numbers_of_any_size_match_as_with_naive(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    oracle, texts, events = drawn(draw)
    wanted = [oracle.match(event) for event in events]
    engine, one_by_one = Engine(oracle.schema), Engine(oracle.schema)
    engine.observe(events[: seed % 3 * 10])
    engine.subscribe_many(texts.items())
    for id, text in texts.items():
        one_by_one.subscribe(id, text)

    assert [one_by_one.match(event) for event in events] == wanted
    assert [sorted(ids) for ids in engine.match_many(events)] == wanted
    assert [engine.match(event) for event in events] == wanted
    engine.check()
    for _ in range(4):
        table = as_table(draw, events, oracle)
        assert [sorted(ids) for ids in engine.match_many(table)] == [oracle.match(row) for row in table.to_pylist()]
    engine.save(tmp_path / "saved")
    with Engine.open(tmp_path / "saved") as again:
        assert [sorted(ids) for ids in again.match_many(events)] == wanted


@pytest.mark.parametrize("most", [10**20, 10**4000 - 1], ids=["past int64", "of 4,000 digits"])
def test_a_bound_past_int64_does_not_poison_an_engine(tmp_path: Path, most: int) -> None:
    schema = Schema(attributes={"price": Attribute("price", Integer(-most, most))})
    with Engine.open(tmp_path / "kept", schema=schema, create=True) as engine:
        engine.subscribe("few", "price between 1 and 5")
        engine.subscribe("last", f"price > {most - 1}")
        engine.subscribe("one", "price = 3")

        found = engine.match_many([{"price": 3}, {"price": most}, {"price": 6}])

        assert [sorted(ids) for ids in found] == [["few", "one"], ["last"], []]
        engine.save(tmp_path / "saved")
    with Engine.open(tmp_path / "kept") as engine:
        assert engine.match({"price": 5}) == ["few"]
