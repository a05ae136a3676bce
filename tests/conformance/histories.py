"""Histories: a schema and a sequence of steps, to be replayed on an algorithm beside the naive matcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tamis import Engine, Schema
from tests.strategies import expressions, raw_events, schemas

__all__ = ["History", "histories", "replay"]

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
