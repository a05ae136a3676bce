"""Histories on a durable engine that is closed, killed, flushed, merged and observed between the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tamis import Engine
from tamis.segments.segment_registry import SegmentRegistry
from tests.conformance.histories import History
from tests.strategies import Dice

__all__ = ["registry", "replay_durable"]

BETWEEN = ("nothing", "flush", "merge", "checkpoint", "close", "leave", "observe", "save")


def registry(engine: Engine) -> SegmentRegistry:
    assert isinstance(engine._registry, SegmentRegistry)
    return engine._registry


def replay_durable(history: History, path: Path, dice: Dice, **options: Any) -> int:
    """Replay beside the naive matcher, comparing every answer; the value is the number of matches seen."""
    oracle = Engine(history.schema, algorithm="naive")
    engine = Engine.open(path, schema=history.schema, create=True, **options)
    total = 0
    try:
        for verb, what in history.steps:
            if verb == "subscribe":
                assert engine.subscribe_many(what) == oracle.subscribe_many(what)
            elif verb == "unsubscribe" and what in oracle:
                engine.unsubscribe(what)
                oracle.unsubscribe(what)
            elif verb == "match":
                total += compare_answers(engine, oracle, what)
            engine = between(engine, path, dice, history, options)
            engine.check()
            assert engine.ids() == oracle.ids()
            assert [engine.expression(id) for id in engine.ids()] == [oracle.expression(id) for id in oracle.ids()]
    finally:
        engine.close()
    return total


def between(engine: Engine, path: Path, dice: Dice, history: History, options: dict[str, Any]) -> Engine:
    what, subscriptions = dice.one(BETWEEN), registry(engine).subscriptions
    if what in ("flush", "merge"):
        subscriptions.flush()
        subscriptions.finish_merging() if what == "merge" else None
    elif what == "checkpoint":
        registry(engine).checkpoint()
    elif what == "observe":
        engine.observe(history.steps[-1][1])
    elif what == "save":
        engine.save(path.with_name("copy"))
        with Engine.open(path.with_name("copy"), **options) as copy:
            assert copy.ids() == engine.ids()
    elif what in ("close", "leave"):
        if what == "leave":
            folder = registry(engine)._folder
            assert folder is not None
            folder.close()
        engine.close()
        return Engine.open(path, **options)
    return engine


def compare_answers(engine: Engine, oracle: Engine, events: list[dict[str, object]]) -> int:
    """One by one, as a batch, in pieces, on two threads, and counted."""
    expected = [oracle.match(event) for event in events]
    assert [engine.match(event) for event in events] == expected
    for listed in (
        list(engine.match_many(events)),
        list(engine.match_many(events, threads=2)),
        [ids for piece in engine.match_iter(events, at_once=2) for ids in piece],
    ):
        assert [len(ids) for ids in listed] == [len(ids) for ids in expected], (events, listed, expected)
        assert [set(ids) for ids in listed] == [set(ids) for ids in expected], (events, listed, expected)
    assert engine.count_many(events).tolist() == [len(ids) for ids in expected]
    return sum(map(len, expected))
