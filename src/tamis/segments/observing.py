"""The engine that watches what passes, and moves subscriptions to better homes.

Of events that pass a few are sampled. When a segment has cost so much that looking at it is worth while, somebody in
the background compares what it cost with what it was expected to cost, has it compiled by what the sample tells where
the two part, and exchanges it if the new homes are better by a margin. Nothing runs when there is nothing to do: the
thread that looks ends when it has looked, and an engine that nobody asks has none.

Answers never depend on any of it: what is exchanged has the same subscriptions.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tamis.batches.batch import Batch
from tamis.errors import TamisError
from tamis.model import Event
from tamis.segments.compile.statistics import Statistics, distance
from tamis.segments.ids import IdIndex
from tamis.segments.judging import Met, cost_ns, expected, met_since, parted
from tamis.segments.sampling import Pace, Sampler
from tamis.segments.segment import Segment
from tamis.segments.subscriptions import Subscriptions

__all__ = ["Observer"]

Longs = npt.NDArray[np.int64]

_LOOK_NS = 1_000.0
"""A segment is looked at when it has cost so much for each of its subscriptions since it was looked at last, a quarter
of what compiling it takes,"""
_LEAST_NS = 20_000_000.0
"""and so much in all: what takes less is left as it is."""
_BETTER = 1.25
"""Only what is cheaper by this is exchanged, so that nothing swings."""
_SAME = 0.2
"""What was tried in vain is not tried again before events have changed by so much."""
_REST = 3.0
"""After looking and moving, nobody looks for so many times as long as that took: a quarter of one core at most."""
_FEW_EVENTS = 64
_CHECK_EVERY = 8
"""Samples between two thoughts about whether to look."""
_MOVES_TOLD = 20
_VALUES_TOLD = 3


@dataclass
class _Watch:
    """What is remembered of a segment: the counters at the last look, and what it was tried with in vain."""

    before: Longs
    tried: Statistics | None = None


class Observer:
    """Watches one engine's subscriptions; `work` are the counters of probes and candidates."""

    def __init__(self, subscriptions: Subscriptions, work: Longs, seed: int, before: Observer | None = None) -> None:
        """What an observer of the same events `before` has seen counts as seen."""
        random = Random(seed)
        self._subscriptions = subscriptions
        self._sampler: Sampler = before._sampler if before is not None else Sampler(random)
        self.pace = Pace(subscriptions.tuning, work, random)
        self._watches: WeakKeyDictionary[IdIndex, _Watch] = WeakKeyDictionary()
        self._checks = self._looks = self._moved = 0
        self._rest_until = 0.0
        self._moves: deque[dict[str, Any]] = deque(maxlen=_MOVES_TOLD)

    # -- in the foreground ------------------------------------------------------------------------------------

    def take_event(self, segments: tuple[Segment, ...], read: Callable[[], Event]) -> None:
        """A sample is due, and this event is there to be read."""
        try:
            cost = self._sampler.take_event(read())
        except TamisError:  # it was answered, and that is what counts
            cost = 0.0
        self._taken(segments, cost)

    def take_rows(self, segments: tuple[Segment, ...], batch: Batch) -> None:
        """A sample is due, and this batch is there to be looked at."""
        self._taken(segments, self._sampler.take_rows(batch) if batch.size else 0.0)

    def _taken(self, segments: tuple[Segment, ...], cost_ns: float) -> None:
        self.pace.paid(cost_ns)
        self._checks += 1
        if self._checks % _CHECK_EVERY or self._subscriptions.is_merging or time.monotonic() < self._rest_until:
            return
        if any(map(self._worth_a_look, segments)):
            self._subscriptions.apart(self._look_apart)

    def _worth_a_look(self, segment: Segment) -> bool:
        met = met_since(segment.layout, self._watch(segment).before)
        ns = cost_ns(segment.layout, float(met.candidates.sum()), met.blocks, self._subscriptions.tuning)
        return met.events * ns >= max(_LEAST_NS, _LOOK_NS * len(segment))

    def _watch(self, segment: Segment) -> _Watch:
        watch = self._watches.get(segment.index)
        if watch is None:
            watch = self._watches[segment.index] = _Watch(np.zeros_like(segment.layout.met))
        return watch

    # -- in the background ------------------------------------------------------------------------------------

    def _look_apart(self) -> None:
        begun = time.thread_time()
        for segment in self._subscriptions.there():
            if self._worth_a_look(segment):
                self._look_at(segment)
        self._rest_until = time.monotonic() + _REST * (time.thread_time() - begun)

    def settle(self) -> None:
        """Look at everything, whatever it has cost, and move it, until nothing is left to move."""
        while True:
            self._subscriptions.finish_merging()
            if not any(self._look_at(segment) for segment in self._subscriptions.there()):
                return

    def _look_at(self, segment: Segment) -> bool:
        """Whether it was moved."""
        watch, now = self._watch(segment), self._sampler.statistics()
        met = met_since(segment.layout, watch.before)
        if now is None or met.events < _FEW_EVENTS:
            return False
        self._looks += 1
        watch.before = segment.layout.met.copy()
        if watch.tried is not None and distance(watch.tried, now) < _SAME:
            return False
        why = parted(segment.layout, met, now, self._subscriptions.tuning)
        if why is None:
            return False
        watch.tried = now
        return self._move(segment, met, now, why)

    def _move(self, segment: Segment, met: Met, now: Statistics, why: str) -> bool:
        tuning = self._subscriptions.tuning
        before = cost_ns(segment.layout, float(met.candidates.sum()), met.blocks, tuning)
        open_share = met.blocks / len(segment.layout.block_sizes) if len(segment.layout.block_sizes) else 1.0

        def cost_of(new: Segment) -> float:
            blocks = open_share * len(new.layout.block_sizes)
            return cost_ns(new.layout, float(expected(new.layout, now).sum()), blocks, tuning)

        moved = self._subscriptions.move(segment, now, lambda new: cost_of(new) * _BETTER < before)
        if moved is None:
            return False
        self._moved += 1
        told = {"subscriptions": len(moved), "why": why, "ns_before": before, "ns_expected": cost_of(moved)}
        self._moves.append(told)
        return True

    # -- told -------------------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """What was learned, what moved and why."""
        known = self._sampler.statistics()
        return {
            "sampled": self._sampler.sampled,
            "looks": self._looks,
            "moved": self._moved,
            "moves": list(self._moves),
            "attributes": {} if known is None else _told(known),
        }


def _told(known: Statistics) -> dict[str, Any]:
    found = {}
    for name in sorted(known.attributes):
        one = known.attributes[name]
        often = sorted(one.frequent.items(), key=lambda pair: -pair[1])[:_VALUES_TOLD]
        often_told = [(value.data, share) for value, share in often]
        found[name] = {"present": one.present, "distinct": one.distinct, "frequent": often_told}
    return found
