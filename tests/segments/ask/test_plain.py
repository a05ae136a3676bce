"""A mapping of plain values takes a short cut to its codes: the same answers, and the same words for what is wrong."""

from __future__ import annotations

import math
import random

import pytest

from tamis import Engine, Schema, TamisError
from tests.segments.histories import registry
from tests.strategies import Dice, make_event, make_schema, make_test

PLAIN = (
    None,
    0,
    1,
    3,
    -(2**70),
    True,
    2.5,
    1.0,
    -0.0,
    math.nan,
    math.inf,
    "",
    "a",
    "zzz",
    "é",
    "\ud800",
    "XVI",
    [1, 2],
)


def outcome(engine: Engine, event: dict[str, object]) -> object:
    try:
        return engine.match(event)
    except TamisError as error:
        return type(error), str(error)


def one_test(dice: Dice, schema: Schema) -> str:
    return make_test(dice, schema, dice.one(schema.names()))


@pytest.mark.parametrize("part", range(4))
def test_the_short_cut_and_the_long_way_agree(part: int, roads: list[str]) -> None:
    for seed in range(part * 60, part * 60 + 60):
        dice = Dice(random.Random(seed).randrange)
        schema = make_schema(dice)
        engine, oracle = Engine(schema), Engine(schema, algorithm="naive")
        word = dice.one(("and", "or"))  # with `or` a subscription may have several rows
        texts = [(n, f"{one_test(dice, schema)} {word} {one_test(dice, schema)}") for n in range(12)]
        for one in (engine, oracle):
            one.subscribe_many(texts)
        registry(engine).subscriptions.flush()
        events = [make_event(dice, schema) for _ in range(4)]
        for event in list(events):
            flat = {name: value for name, value in event.items() if not isinstance(value, dict | list)}
            events += [flat, dict(flat)]
            events += [flat | {dice.one([*flat, *schema.names(), "unknown"]): dice.one(PLAIN)} for _ in range(12)]
        expected = [outcome(oracle, event) for event in events]
        for event, said in zip(events * 2, expected * 2, strict=True):
            assert outcome(engine, event) == said, (seed, event, texts)

    assert roads.count("plain") > len(roads) / 20


@pytest.fixture
def engine() -> Engine:
    schema = Schema.loads(
        '[attributes]\nprice = { type = "integer", min = 0, max = 100 }\nname = "string"\nother = "number"\n'
        'colour = { type = "enumerated", values = ["red", "green"] }\n'
    )
    engine = Engine(schema)
    engine.subscribe_many([(1, "price >= 10"), (2, "colour = 'red'"), (3, "name < 'm'"), (4, "price > 90")])
    return engine


def test_what_is_wrong_is_said_after_a_good_event_of_the_same_shape(engine: Engine, roads: list[str]) -> None:
    good = {"price": 95, "colour": "red", "name": "a", "other": 1.5}
    assert [engine.match(good), engine.match(good)] == [[1, 2, 3, 4]] * 2
    assert roads == ["plain"] * 2

    for name, wrong in (("price", 101), ("colour", "blue"), ("name", "\ud800"), ("other", math.nan)):
        with pytest.raises(TamisError, match=name):
            engine.match(good | {name: wrong})


def test_the_dead_are_not_found_by_the_short_cut(engine: Engine, roads: list[str]) -> None:
    event = {"price": 95}
    assert engine.match(event) == [1, 4]
    engine.unsubscribe(1)
    assert engine.match(event) == [4]
    engine.unsubscribe(4)
    assert engine.match(event) == []
    assert roads == ["plain"] * 3


def test_answers_longer_than_any_before_make_room() -> None:
    engine = Engine(Schema.loads('[attributes]\na = "integer"\nb = "integer"\n'))
    engine.subscribe_many(
        [(n, f"a >= {n}") for n in range(9_000)] + [(9_000 + n, f"b = {n % 2}") for n in range(9_000)]
    )

    assert engine.match({"a": 3}) == [0, 1, 2, 3]
    assert engine.match({"a": 9_999, "b": 1}) == [*range(9_000), *range(9_001, 18_000, 2)]


@pytest.mark.parametrize("pieces", [1, 3], ids=["one segment", "several segments"])
def test_answers_of_any_length_come_in_the_order_of_subscribing(pieces: int, roads: list[str]) -> None:
    engine = Engine(Schema.loads('[attributes]\na = "integer"\n'))
    ids = random.Random(7).sample(range(100_000), 3_000)
    lengths = {at: f"a >= {3_000 - at}" if at % 2 else f"a < {at}" for at in range(3_000)}  # no run of rows is in order
    share = len(ids) // pieces
    for first in range(0, len(ids), share):
        engine.subscribe_many([(ids[at], lengths[at]) for at in range(first, first + share)])

    for value in (0, 1, 30, 63, 64, 65, 70, 128, 1_500, 2_900, 3_001):
        expected = [ids[at] for at in range(3_000) if (value >= 3_000 - at if at % 2 else value < at)]
        assert engine.match({"a": value}) == expected
    assert set(roads) == {"plain"}


def test_the_work_of_single_events_is_counted() -> None:
    engine = Engine(Schema.loads('[attributes]\na = "integer"\nb = "integer"\n'))
    engine.subscribe_many([(n, f"a = {n} and b > {n}") for n in range(5_000)])
    before = engine.stats()["work"]
    single = [engine.match({"a": n, "b": 9_999}) for n in range(50)]
    between = engine.stats()["work"]
    batch = engine.match_many([{"a": n, "b": 9_999} for n in range(50)])
    after = engine.stats()["work"]

    assert single == [list(row) for row in batch] == [[n] for n in range(50)]
    assert between["candidates_verified"] > before["candidates_verified"]
    assert {name: after[name] - between[name] for name in after} == {
        name: between[name] - before[name] for name in after
    }


def test_the_work_of_an_event_with_more_matches_than_ever_is_counted_once() -> None:
    engine = Engine(Schema.loads('[attributes]\na = "integer"\nb = "integer"\n'))
    engine.subscribe_many([(n, f"a = {n}" if n % 2 else f"b > {n}") for n in range(20_000)])
    counted = []
    for match in (engine.match, lambda event: engine.match_many([event]).for_event(0)):
        before = engine.stats()["work"]
        assert len(match({"a": 7, "b": 19_999})) == 10_001
        after = engine.stats()["work"]
        counted.append({name: after[name] - before[name] for name in after})

    assert counted[0] == counted[1]
    assert counted[0]["probes"] > 0
