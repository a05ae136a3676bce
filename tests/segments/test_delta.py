"""What was just subscribed is found by single events as what is compiled, and refuses what that refuses."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tamis import Engine, EventError
from tamis.segments import subscriptions
from tamis.segments.ask.mapping_codes import NotPlain
from tamis.segments.delta import Delta, Fresh
from tests.segments.histories import registry
from tests.strategies import Dice, make_event, make_expression, make_schema

SEEDS = 20


def beside(texts: list[str], schema: Any = None) -> tuple[Engine, Engine]:
    """One that has a segment and these in its delta, and the oracle; the segment's subscriptions match nothing."""
    engine, oracle = Engine(schema, observe=False), Engine(schema, algorithm="naive")
    names = sorted({name for text in texts for name in ("x", "y", "s") if name in text}) or ["x"]
    base = [(f"base {name}", f"{name} = 987654321") for name in names]
    for one in (engine, oracle):
        one.subscribe_many(base)
        for number, text in enumerate(texts):
            one.subscribe(number, text)
    return engine, oracle


@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_new_subscriptions_are_those_of_the_oracle(seed: int) -> None:
    dice = Dice(random.Random(seed).randrange)
    schema = make_schema(dice)
    engine, oracle = Engine(schema, observe=False), Engine(schema, algorithm="naive")
    for one in (engine, oracle):
        one.subscribe_many([("base", make_expression(Dice(random.Random(seed + 1).randrange), schema))])
    for turn in range(25):
        id, text = dice.roll(12), make_expression(dice, schema)
        assert engine.subscribe(id, text) == oracle.subscribe(id, text)
        if turn % 7 == 6 and id in oracle:
            engine.unsubscribe(id)
            oracle.unsubscribe(id)
        for event in (make_event(dice, schema) for _ in range(3)):
            assert engine.match(event) == oracle.match(event), (seed, event)


VALUES = [1, 2, 2.0, 2.5, "a", "b", "é", True, None, [1, "a"], [2, None], ["b", "a", 2], 2**63, -(2**70), [], [True, 1]]
TEXTS = [
    "x = 1",
    "x = 'a'",
    "x != 'a'",
    "x != 2",
    "x < 2.5",
    "x >= 2 and x < 3",
    "x in (1, 2.5)",
    "x in ('a', 'b')",
    "x not in (1, 2)",
    "x contains 'a' and x contains 'b'",
    "x contains 2",
    "x = 'a' or y = 2",
    "x = 9223372036854775808",
    "x = -1180591620717411303424",
    "x is missing and y = 1",
    "x is present",
    "x > 1 and y <= 2",
    "x starts with 'a'",
    "x = true",
    "x.in = 1",
    "x.in = 'a' and y = 1",
    "x = 1 and x != 2",
]


@pytest.mark.parametrize("x", VALUES, ids=repr)
def test_every_form_of_a_value_is_read_as_the_oracle_reads_it(x: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions.Subscriptions, "freeze_apart", lambda _: None)  # they stay in the delta
    engine, oracle = beside(TEXTS)
    for y in VALUES:
        for event in ({"x": x, "y": y}, {"x": {"in": x}, "y": y}, {"x.in": x, "y": y}, {"y": y, "x": {"in": {"x": 1}}}):
            assert engine.match(event) == oracle.match(event), event
    assert registry(engine).subscriptions.snapshot().delta


@pytest.mark.parametrize(
    "event",
    [{"x": float("nan")}, {"x": "\ud800"}, {"x": 1, "y": object()}, {"x.in": 1, "x": {"in": 2}}],
    ids=["not a number", "half a character", "no value", "given twice"],
)
def test_what_is_no_event_is_refused(event: dict[str, object]) -> None:
    engine, _ = beside(["y = 1 and x < 2", "x.in = 1"])

    with pytest.raises(EventError):
        engine.match(event)


def test_a_thousand_new_ones_are_found_without_looking_at_each() -> None:
    engine, oracle = beside([f"x = {n} and y != 'a'" for n in range(1_000)])
    snapshot = registry(engine).subscriptions.snapshot()
    snapshot.fresh.catch_up()

    assert (snapshot.fresh.slow, snapshot.fresh.unread) == (0, 0)
    assert engine.match({"x": 700, "y": "b"}) == oracle.match({"x": 700, "y": "b"}) == [700]


def test_what_comes_and_goes_does_not_pile_up() -> None:
    engine, _ = beside(["x = 1"])
    for n in range(3_000):
        engine.subscribe("same", f"x = {n}")

    assert registry(engine).subscriptions.snapshot().fresh.added <= 2 * subscriptions._MOST_UNREAD
    assert engine.match({"x": 2_999}) == ["same"]


def test_a_snapshot_sees_nothing_of_what_came_later() -> None:
    engine, _ = beside(["x = 1"])
    before = registry(engine).subscriptions.snapshot()
    engine.subscribe("later", "x = 1")
    engine.subscribe(0, "x = 2")

    held, asked = before.fresh.holding({"x": 1}, before.delta)
    assert [id for _, id in held] == [0]
    assert asked == []


def test_what_python_cannot_say_is_left_to_the_oracle() -> None:
    schema = Engine().schema
    fresh = Fresh(schema, {"a": Delta("x ends with 'a'", 0, None), "b": Delta("x = 1", 1, None)})
    held, asked = fresh.holding({"x": 1}, dict(fresh._added))

    assert (held, [id for id, _ in asked]) == ([(1, "b")], ["a"])
    with pytest.raises(NotPlain):
        fresh.holding({"x": {1, 2}}, dict(fresh._added))


def test_many_new_ones_are_frozen_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "_SMALL_DELTA", 10)
    engine, oracle = beside([f"x = {n % 5} and y < {n}" for n in range(40)])
    event = {"x": 1, "y": 20}

    assert engine.match(event) == oracle.match(event)
    engine.settle()
    assert engine.stats()["delta"] == 0
    assert engine.match(event) == oracle.match(event)
    engine.check()


def test_segments_that_single_events_ask_over_and_over_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(observe=False)
    engine.subscribe_many([(n, f"x = {n}") for n in range(3_000)])
    engine.subscribe_many([(f"new {n}", f"x = {n}") for n in range(100)])
    assert engine.stats()["segments"] == 2

    for n in range(2_100):
        assert engine.match({"x": n}) == ([n, f"new {n}"] if n < 100 else [n])
    engine.settle()
    assert engine.stats()["segments"] == 1
