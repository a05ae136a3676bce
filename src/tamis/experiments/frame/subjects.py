"""What is measured: an algorithm of the papers as a matcher, or the adaptive engine through its own door.

The adaptive engine takes texts and columns, so it goes by `Engine`; as a matcher it would print and parse every
conjunction again. The others are given predicates and events, so that parsing is not what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engine import Engine
from tamis.experiments.frame.experiment import SEED
from tamis.experiments.frame.loads import entries_between, event_table, events_of, loaded, quiet_collector
from tamis.matchers import Matcher, Rows
from tamis.matchers.parts.algorithm import CountingAlgorithm
from tamis.model import Event, Schema
from tamis.workloads.slices import Workload

__all__ = ["Subject", "subject"]

Found = Rows[npt.NDArray[np.int64]]


class Subject(Protocol):
    def match(self) -> Found:
        """The answers to the events it was made with, which are in its own form already."""

    def one_by_one(self) -> None:
        """The same events by the road of a single one."""

    def receive(self, events: pa.Table) -> Found:
        """The answers to events that come from elsewhere."""

    def work(self) -> Mapping[str, float]:
        """Counters per event of `match`; those of the adaptive engine have names of their own."""

    def details(self) -> Mapping[str, int | float | str]: ...

    def insertions(self, workload: Workload, start: int, stop: int) -> Sequence[Callable[[], object]]:
        """Calls that add these rows of the workload, one each."""

    def first_stage(self) -> list[int]:
        """How many distinct predicates hold, by event; empty if the algorithm has no such stage."""


class _Paper:
    def __init__(self, matcher: Matcher, schema: Schema, events: Sequence[Event]) -> None:
        self.matcher = matcher
        self._schema = schema
        self._events = events

    def match(self) -> Found:
        return self.matcher.match_many(self._events)

    def one_by_one(self) -> None:
        for event in self._events:
            self.matcher.match(event)

    def receive(self, events: pa.Table) -> Found:
        return self.matcher.match_many([self._schema.event(raw) for raw in events.to_pylist()])

    def work(self) -> Mapping[str, float]:
        before = dict(self.matcher.stats().work)
        self.match()
        after = self.matcher.stats().work
        return {name: (after[name] - before[name]) / len(self._events) for name in after}

    def details(self) -> Mapping[str, int | float | str]:
        return self.matcher.stats().details

    def insertions(self, workload: Workload, start: int, stop: int) -> Sequence[Callable[[], object]]:
        return [partial(self.matcher.add, [entry]) for entry in entries_between(workload, start, stop)]

    def first_stage(self) -> list[int]:
        if not isinstance(self.matcher, CountingAlgorithm):
            return []
        return [len(self.matcher.satisfied(event)) for event in self._events]


class _Adaptive:
    def __init__(self, engine: Engine[int], events: pa.Table) -> None:
        self.engine = engine
        self._events = events
        self._singly = [{name: value for name, value in raw.items() if value is not None} for raw in events.to_pylist()]

    def match(self) -> Found:
        return self.receive(self._events)

    def one_by_one(self) -> None:
        for raw in self._singly:
            self.engine.match(raw)

    def receive(self, events: pa.Table) -> Found:
        found = self.engine.match_many(events)
        pairs = found.to_arrow()
        offsets = np.concatenate([[0], np.cumsum(found.counts())]).astype(np.int64)
        return Rows(offsets, pairs.column("subscription").to_numpy().astype(np.int64, copy=False))

    def work(self) -> Mapping[str, float]:
        before = dict(self.engine.stats()["work"])
        self.match()
        after = self.engine.stats()["work"]
        return {name: (after[name] - before[name]) / len(self._events) for name in after}

    def details(self) -> Mapping[str, int | float | str]:
        return {"bytes": self.engine.stats()["bytes"]}

    def insertions(self, workload: Workload, start: int, stop: int) -> Sequence[Callable[[], object]]:
        rows = workload.subscriptions(stop, SEED, start=start).to_pylist()
        return [partial(self.engine.subscribe, row["id"], row["expression"]) for row in rows]

    def first_stage(self) -> list[int]:
        return []


def subject(algorithm: str, workload: Workload, count: int, events: tuple[Workload, int], **options: object) -> Subject:
    """The workload's first `count` subscriptions under an algorithm, and so many events of the other workload."""
    source, many = events
    if algorithm != "adaptive":
        matcher = loaded(algorithm, workload, count, **options)
        return _Paper(matcher, workload.schema(), events_of(source, many))
    engine: Engine[int] = Engine(workload.schema(), wait=True)
    with quiet_collector():
        engine.subscribe_many(workload.subscriptions(count, SEED))
    return _Adaptive(engine, event_table(source, many))
