"""Histories on a durable engine that is closed, killed, flushed, merged and observed between the steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tamis import Engine, Receipt
from tamis.segments import observing, sampling
from tamis.segments.segment_registry import SegmentRegistry
from tests.conformance.histories import History
from tests.strategies import Dice

__all__ = ["registry", "replay_durable", "restless"]

BETWEEN = ("nothing", "flush", "merge", "checkpoint", "close", "leave", "observe", "settle", "save")


@contextmanager
def restless() -> Iterator[None]:
    """Every event is a sample, and whatever was asked is compiled anew and moved, in the background and by `settle`."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("_LEAST_NS", "_LOOK_NS", "_BETTER", "_REST"):
            patched.setattr(observing, name, 0.0)
        for name in ("_FEW_EVENTS", "_CHECK_EVERY"):
            patched.setattr(observing, name, 1)
        patched.setattr(observing, "_SAME", -1.0)
        patched.setattr(observing, "parted", lambda *_: "restless")
        patched.setattr(sampling, "ENOUGH", 1)
        patched.setattr(sampling, "SHARE", 1e9)
        patched.setattr(sampling, "_FIRST_NS", 0.0)
        yield


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
            if verb == "subscribe" and dice.roll(2):
                assert [said(engine.subscribe(*one)) for one in what] == [said(oracle.subscribe(*one)) for one in what]
            elif verb == "subscribe":
                assert said(engine.subscribe_many(what)) == said(oracle.subscribe_many(what))
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


def said(receipt: Receipt) -> Receipt:
    """But for the notes: names that events had are forgotten when an engine is opened again."""
    return receipt._replace(notes=())


def between(engine: Engine, path: Path, dice: Dice, history: History, options: dict[str, Any]) -> Engine:
    what, subscriptions = dice.one(BETWEEN), registry(engine).subscriptions
    if what in ("flush", "merge"):
        subscriptions.flush()
        subscriptions.finish_merging() if what == "merge" else None
    elif what == "checkpoint":
        registry(engine).checkpoint()
    elif what == "observe":
        engine.observe(history.steps[-1][1])
    elif what == "settle":
        engine.settle()
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
