"""The papers' workloads as what matchers take: predicates made without a parser, and checked events.

A text is cut at `and`, and each distinct piece becomes one predicate as it stands. So `a3 < 1` stays, where the
language would drop a subscription that cannot match, and three million subscriptions take seconds. The rows of one
workload are kept and grow: a larger size begins with the rows of a smaller one.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.experiments.frame.experiment import SEED
from tamis.matchers import MATCHERS, Entry, Matcher, Rows
from tamis.model import Conjunction, Event, Kind, Operator, Predicate, Value
from tamis.workloads.slices import Workload

__all__ = [
    "Answers",
    "answers_of",
    "entries_between",
    "entries_of",
    "events_of",
    "loaded",
    "predicate_of",
    "quiet_collector",
    "work_of",
]

_SLICE = 1 << 17


def predicate_of(piece: str) -> Predicate:
    """`a3 < 7` or `s0 = 'v12'`, as the workloads write it."""
    name, sign, constant = piece.split(" ")
    value = Value(Kind.STRING, constant[1:-1]) if constant[0] == "'" else Value(Kind.NUMBER, int(constant))
    return Predicate(name, Operator(sign), value)


class _Growing:
    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._pieces: dict[str, Predicate] = {}
        self.entries: list[Entry] = []

    def grow(self, count: int) -> None:
        with quiet_collector():
            while (start := len(self.entries)) < count:
                texts = self._workload.subscriptions(min(count, start + _SLICE), SEED, start=start)
                for key, text in enumerate(texts.column("expression").to_pylist(), start):
                    self.entries.append((key, (self.conjunction(text),)))

    def conjunction(self, text: str) -> Conjunction:
        return tuple([self._predicate(piece) for piece in text.split(" and ")])

    def _predicate(self, piece: str) -> Predicate:
        found = self._pieces.get(piece)
        if found is None:
            found = self._pieces[piece] = predicate_of(piece)
        return found


@lru_cache(maxsize=1)
def _growing(workload: Workload) -> _Growing:
    return _Growing(workload)


def entries_of(workload: Workload, count: int) -> list[Entry]:
    """Rows 0 to `count`: keys and the one conjunction of each."""
    growing = _growing(workload)
    growing.grow(count)
    return growing.entries[:count]


def entries_between(workload: Workload, start: int, stop: int) -> list[Entry]:
    """Rows `start` to `stop`, which nobody keeps but the caller; equal predicates are one within these rows."""
    growing = _Growing(workload)
    texts = workload.subscriptions(stop, SEED, start=start).column("expression").to_pylist()
    return [(key, (growing.conjunction(text),)) for key, text in enumerate(texts, start)]


@lru_cache(maxsize=4)
def event_table(workload: Workload, count: int) -> pa.Table:
    """The first events; a block of a workload is drawn as a whole, so the last few tables are kept."""
    return workload.events(count, SEED)


def events_of(workload: Workload, count: int) -> list[Event]:
    schema = workload.schema()
    return [schema.event(raw) for raw in event_table(workload, count).to_pylist()]


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Without cyclic garbage collection, which walks over millions of tuples again and again and finds nothing."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def loaded(algorithm: str, workload: Workload, count: int, **options: object) -> Matcher:
    """A matcher of this name with the workload's first rows."""
    entries = entries_of(workload, count)
    matcher = MATCHERS[algorithm](workload.schema(), **options)
    with quiet_collector():
        matcher.add(entries)
    return matcher


def work_of(matcher: Matcher, events: Sequence[Event]) -> dict[str, float]:
    """Each work counter, per event, of matching these once."""
    before = dict(matcher.stats().work)
    matcher.match_many(events)
    after = matcher.stats().work
    return {name: (after[name] - before[name]) / len(events) for name in after}


class Answers(NamedTuple):
    """Who was found: how many, and a sum over all pairs that does not depend on their order."""

    matches: int
    checksum: int


def answers_of(found: Rows[npt.NDArray[np.int64]]) -> Answers:
    """The sum over all pairs of (event + 1) · ((subscription + 1) · 2654435761 mod 2³¹), as Spark makes it too."""
    events = np.repeat(np.arange(len(found), dtype=np.int64), found.counts())
    mixed = (found.items.astype(np.int64) + 1) * 2654435761 % 2**31
    return Answers(len(found.items), int(((events + 1) * mixed).sum()))
