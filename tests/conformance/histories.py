"""Histories: a schema and a sequence of steps, to be replayed on an algorithm beside the naive matcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tamis import Engine, Schema
from tests.strategies import Dice, expressions, make_event, make_expression, raw_events, schemas

__all__ = ["History", "histories", "make_history", "replay"]

_IDS = ("ann", "bob", 1, 2, "1")


@dataclass(frozen=True)
class History:
    """`steps` are ("subscribe", [(id, expression), …]), ("unsubscribe", id), ("match", [event, …])."""

    schema: Schema
    steps: tuple[tuple[Any, ...], ...]


@st.composite
def histories(draw: st.DrawFn, most_steps: int = 8) -> History:
    schema = draw(schemas())
    pairs = st.tuples(st.sampled_from(_IDS), expressions(schema))
    step = st.one_of(
        st.tuples(st.just("subscribe"), st.lists(pairs, min_size=1, max_size=4)),
        st.tuples(st.just("subscribe"), st.lists(pairs, min_size=1, max_size=1)),
        st.tuples(st.just("unsubscribe"), st.sampled_from(_IDS)),
        st.tuples(st.just("match"), st.lists(raw_events(schema), min_size=1, max_size=4)),
    )
    first = draw(st.lists(pairs, min_size=1, max_size=5))
    steps = draw(st.lists(step, max_size=most_steps))
    last = draw(st.lists(raw_events(schema), min_size=1, max_size=4))
    return History(schema, (("subscribe", first), *steps, ("match", last)))


def make_history(dice: Dice, schema: Schema, steps: int = 6) -> History:
    """The same by rolling dice, which takes a fraction of the time; half of the steps subscribe, a third match."""
    made: list[tuple[Any, ...]] = [("subscribe", _pairs(dice, schema, 5))]
    for _ in range(steps):
        match dice.roll(6):
            case 0 | 1 | 2:
                made.append(("subscribe", _pairs(dice, schema, 1 + dice.roll(4))))
            case 3:
                made.append(("unsubscribe", dice.one(_IDS)))
            case _:
                made.append(("match", [make_event(dice, schema) for _ in range(3)]))
    return History(schema, (*made, ("match", [make_event(dice, schema) for _ in range(3)])))


def _pairs(dice: Dice, schema: Schema, count: int) -> list[tuple[str | int, str]]:
    return [(dice.one(_IDS), make_expression(dice, schema)) for _ in range(count)]


def replay(history: History, algorithm: str, **options: Any) -> int:
    """Replay on the algorithm and on naive, comparing every answer; the value is the number of matches seen."""
    engine, oracle = Engine(history.schema, algorithm=algorithm, **options), Engine(history.schema, algorithm="naive")
    total = 0
    for verb, what in history.steps:
        if verb == "subscribe":
            assert engine.subscribe_many(what) == oracle.subscribe_many(what)
        elif verb == "unsubscribe" and what in oracle:
            engine.unsubscribe(what)
            oracle.unsubscribe(what)
        elif verb == "match":
            total += _compare_answers(engine, oracle, what)
        engine.check()
    return total


def _compare_answers(engine: Engine, oracle: Engine, events: list[dict[str, object]]) -> int:
    batch = engine.match_many(events)
    expected = [oracle.match(event) for event in events]
    for row, event in enumerate(events):
        single = engine.match(event)
        assert single == expected[row], (event, single, expected[row])
        listed = batch.for_event(row)
        assert len(listed) == len(set(listed)), f"an id stands twice: {listed}"
        assert set(listed) == set(expected[row]), (event, listed, expected[row])
        for id in oracle.ids():
            assert engine.explain(id, event).matches is (id in expected[row])
    return sum(map(len, expected))
