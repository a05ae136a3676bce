"""The adaptive engine as one more matcher, for the conformance suite and the benchmarks.

The engine itself talks to `SegmentRegistry`; here the keys are the ids, and subscriptions come as normal forms, which
are printed and read again: the text is what a segment is made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamis.batches.batch import batch_of_events
from tamis.language import print_subscription
from tamis.matchers.base import Entry, Keys, MatcherStats, Rows
from tamis.model import Event, Schema
from tamis.segments.segment_registry import SegmentRegistry

__all__ = ["Adaptive"]


class Adaptive:
    """A `Matcher` over segments."""

    def __init__(self, schema: Schema, **options: Any) -> None:
        self._schema = schema
        self._registry = SegmentRegistry(schema, **options)

    def add(self, entries: Sequence[Entry]) -> None:
        self._registry.subscribe_many((key, print_subscription(conjunctions)) for key, conjunctions in entries)

    def remove(self, keys: Sequence[int]) -> None:
        for key in keys:
            self._registry.unsubscribe(key)

    def match(self, event: Event) -> list[int]:
        return [int(key) for key in self._registry.match_event(event)]

    def match_many(self, events: Sequence[Event]) -> Rows[Keys]:
        batch = batch_of_events(events)
        found = self._registry.match_many(lambda _: batch)
        keys = [int(id) for id in found.ids.listed(found.codes)]
        return Rows(found.offsets, np.array(keys, np.int64))

    def stats(self) -> MatcherStats:
        stats = self._registry.stats()
        return MatcherStats(stats["subscriptions"], stats["conjunctions"], stats["bytes"], stats["work"])

    def check(self) -> None:
        self._registry.check()
