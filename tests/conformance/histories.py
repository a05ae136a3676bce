"""Histories: a schema and a sequence of steps, to be replayed on an algorithm beside the naive matcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tamis import Engine, Schema
from tamis.model import SubscriptionId
from tests.strategies import Dice, dice, make_event, make_expression, make_schema

__all__ = ["History", "histories", "make_history", "replay"]

_IDS = ("ann", "bob", 1, 2, "1")


@dataclass(frozen=True)
class History:
    """`steps` are ("subscribe", [(id, expression), …]), ("unsubscribe", id), ("match", [event, …])."""

    schema: Schema
    steps: tuple[tuple[Any, ...], ...]


def histories(most_steps: int = 8) -> st.SearchStrategy[History]:
    """Each step is rolled by dice of its own, so that Hypothesis can leave it out."""
    return st.builds(_history, dice(), dice(), st.lists(dice(), max_size=most_steps), dice())


def _history(of_schema: Dice, first: Dice, steps: list[Dice], last: Dice) -> History:
    schema = make_schema(of_schema)
    made = [_step(one, schema) for one in steps]
    subscribe, match = ("subscribe", _pairs(first, schema, 1 + first.roll(5))), ("match", _events(last, schema))
    return History(schema, (subscribe, *made, match))


def make_history(dice: Dice, schema: Schema, steps: int = 6) -> History:
    """The same with one die for all; half of the steps subscribe, a quarter match."""
    made = [_step(dice, schema) for _ in range(steps)]
    return History(schema, (("subscribe", _pairs(dice, schema, 5)), *made, ("match", _events(dice, schema))))


def _step(dice: Dice, schema: Schema) -> tuple[Any, ...]:
    match dice.roll(4):
        case 0:
            return ("subscribe", _pairs(dice, schema, 1 + dice.roll(4)))
        case 1:
            return ("subscribe", _pairs(dice, schema, 1))
        case 2:
            return ("unsubscribe", dice.one(_IDS))
        case _:
            return ("match", _events(dice, schema))


def _pairs(dice: Dice, schema: Schema, count: int) -> list[tuple[str | int, str]]:
    return [(dice.one(_IDS), make_expression(dice, schema)) for _ in range(count)]


def _events(dice: Dice, schema: Schema) -> list[dict[str, object]]:
    return [make_event(dice, schema) for _ in range(1 + dice.roll(4))]


def replay(history: History, algorithm: str, **options: Any) -> int:
    """Replay on the algorithm and on naive, comparing every answer; the value is the number of matches seen."""
    engine, oracle = Engine(history.schema, algorithm=algorithm, **options), Engine(history.schema, algorithm="naive")
    total = 0
    for verb, what in history.steps:
        if verb == "subscribe" and len(what) == 1:
            assert engine.subscribe(*what[0]) == oracle.subscribe(*what[0])
        elif verb == "subscribe":
            assert engine.subscribe_many(what) == oracle.subscribe_many(what)
        elif verb == "unsubscribe" and what in oracle:
            engine.unsubscribe(what)
            oracle.unsubscribe(what)
        elif verb == "match":
            expected = [oracle.match(event) for event in what]
            _compare_answers(engine, what, expected)
            if algorithm in _REGISTRIES and not options:
                _compare_explanations(engine, what, expected)
            total += sum(map(len, expected))
        engine.check()
    return total


_REGISTRIES = ("naive", "adaptive")
"""One algorithm for each way of keeping texts, which is all that `explain` asks of an engine."""


def _compare_answers(engine: Engine, events: list[dict[str, object]], expected: list[list[SubscriptionId]]) -> None:
    batch = engine.match_many(events)
    for row, event in enumerate(events):
        single = engine.match(event)
        assert single == expected[row], (event, single, expected[row])
        listed = batch.for_event(row)
        assert len(listed) == len(set(listed)), f"an id stands twice: {listed}"
        assert set(listed) == set(expected[row]), (event, listed, expected[row])


def _compare_explanations(
    engine: Engine, events: list[dict[str, object]], expected: list[list[SubscriptionId]]
) -> None:
    for event, ids in zip(events, expected, strict=True):
        for id in engine.ids():
            assert engine.explain(id, event).matches is (id in ids)
