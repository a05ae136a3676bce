"""Subscriptions that can be asked: by an event, by a batch of them, and about themselves.

Whoever asks takes a snapshot and looks at nothing else, so that no writer and no merge disturbs the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch, batch_of_events
from tamis.errors import UnknownSubscription
from tamis.matchers.naive import conjunction_holds
from tamis.model import Event, Schema, SubscriptionId
from tamis.segments.ask.answering import Answer, Answering
from tamis.segments.ask.one_event import SingleMatcher
from tamis.segments.compile.layout import Home
from tamis.segments.compile.statistics import Statistics
from tamis.segments.compile.tuning import DEFAULT, Tuning
from tamis.segments.ids import IdIndex
from tamis.segments.segment import Segment
from tamis.segments.subscriptions import Subscriptions

__all__ = ["Collection"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_COUNTED = ("conjunctions", "in_blocks", "in_clusters", "in_lists", "blocks", "accesses", "index_bytes", "id_bytes")


class Collection(Subscriptions):
    """The subscriptions under one schema."""

    def __init__(self, schema: Schema, statistics: Statistics | None = None, tuning: Tuning = DEFAULT) -> None:
        super().__init__(schema, statistics, tuning)
        self._answering = Answering(schema)
        self._singles: WeakKeyDictionary[IdIndex, SingleMatcher] = WeakKeyDictionary()
        self._work = np.zeros(2, np.int64)
        self._asked = 0

    # -- by events --------------------------------------------------------------------------------------------

    def match(self, event: Event) -> list[SubscriptionId]:
        """The ids that one event satisfies, in the order of subscribing."""
        snapshot = self.snapshot()
        found = [
            (delta.number, id)
            for id, delta in snapshot.delta.items()
            if any(conjunction_holds(self.schema, one, event) for one in delta.conjunctions(self.schema))
        ]
        self._asked += 1
        for segment in snapshot.segments:
            found += _numbered(segment, self._rows_of(segment, event))
        return [id for _, id in sorted(found, key=_number)]

    def match_mapping(self, raw: Mapping[str, object]) -> list[SubscriptionId] | None:
        """The same for a mapping of plain values that need not be made an event; None if it must."""
        snapshot = self.snapshot()
        if snapshot.delta or self.schema.open:
            return None
        found: list[tuple[Segment, Ints]] = []
        for segment in snapshot.segments:
            rows = self._single(segment).rows_of_mapping(segment, raw)
            if rows is None:
                return None
            found.append((segment, rows))
        if not found:
            return None
        self._asked += 1
        if len(found) == 1:
            return found[0][0].ids.at(found[0][1])
        pairs = [pair for segment, rows in found for pair in _numbered(segment, rows)]
        return [id for _, id in sorted(pairs, key=_number)]

    def _single(self, segment: Segment) -> SingleMatcher:
        single = self._singles.get(segment.index)
        if single is None:
            single = self._singles[segment.index] = SingleMatcher(segment, self.schema, self._work)
        return single

    def _rows_of(self, segment: Segment, event: Event) -> Longs:
        """The first rows of the subscriptions of a segment that one event satisfies."""
        single = self._single(segment)
        rows = single.rows(segment, event)
        if rows is None:
            batch = batch_of_events([event], self.schema)
            return self._answering.answer((segment,), batch, 1, self._work).rows.astype(np.int64)
        if segment.layout.canon is None:
            return rows.astype(np.int64)
        first = np.unique(segment.layout.canon[rows]).astype(np.int64)
        return first[segment.lives(first)]

    def match_batch(self, batch: Batch, threads: int = 1) -> Answer:
        """The rows that each event of a batch satisfies."""
        self._asked += batch.size
        return self._answering.answer(self.snapshot(freeze=True).segments, batch, threads, self._work)

    def count_batch(self, batch: Batch) -> Longs:
        """How many subscriptions each event of a batch satisfies."""
        self._asked += batch.size
        return self._answering.count(self.snapshot(freeze=True).segments, batch, self._work)

    # -- about themselves -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        with self._lock:
            return len(self._delta) + sum(map(len, self._segments))

    def text(self, id: SubscriptionId) -> str:
        with self._lock:
            if id in self._delta:
                return self._delta[id].text
            for segment in self._segments:
                row = segment.find(id)
                if row >= 0:
                    found: str = segment.texts[row].as_py()
                    return found
        raise UnknownSubscription(id)

    def __contains__(self, id: object) -> bool:
        if isinstance(id, bool) or not isinstance(id, str | int):
            return False
        with self._lock:
            return id in self._delta or any(segment.find(id) >= 0 for segment in self._segments)

    def items(self) -> list[tuple[SubscriptionId, str]]:
        """All ids and texts, in the order of subscribing."""
        snapshot = self.snapshot()
        found = [(delta.number, id, delta.text) for id, delta in snapshot.delta.items()]
        for segment in snapshot.segments:
            rows = segment.living
            texts = segment.texts.take(pa.array(rows)).to_pylist()
            found += zip(segment.sequence[rows].tolist(), segment.ids.take(rows).listed(), texts, strict=True)
        return [(id, text) for _, id, text in sorted(found, key=lambda one: one[0])]

    def stats(self) -> dict[str, Any]:
        """Counts, bytes and work; how many conjunctions live where, and why."""
        snapshot = self.snapshot()
        totals = dict.fromkeys(_COUNTED, 0)
        for segment in snapshot.segments:
            for name, count in (segment.layout.counts | segment.bytes_used()).items():
                totals[name] += count
        never = sum(segment.never_living for segment in snapshot.segments)
        delta = snapshot.delta.values()
        totals["conjunctions"] += sum(len(one.conjunctions(self.schema)) for one in delta)
        return {
            "subscriptions": len(snapshot.delta) + sum(map(len, snapshot.segments)),
            "never_matching": never + sum(not one.conjunctions(self.schema) for one in delta),
            "bytes": totals["index_bytes"] + totals["id_bytes"],
            "work": {
                "events": self._asked,
                "probes": int(self._work[0]),
                "candidates_verified": int(self._work[1]),
            },
            "segments": len(snapshot.segments),
            "delta": len(snapshot.delta),
            "homes": _homes(snapshot.segments),
        } | totals

    def check(self) -> None:
        """Every invariant across segments: an id lives once, rows lead back to their ids."""
        snapshot = self.snapshot()
        seen: set[SubscriptionId] = set(snapshot.delta)
        for segment in snapshot.segments:
            segment.check()
            for id in segment.ids.take(segment.living).listed():
                assert id not in seen, f"{id!r} lives twice"
                seen.add(id)
        assert len(seen) == len(self), "the count of the living is wrong"


def _numbered(segment: Segment, rows: npt.NDArray[np.integer]) -> Iterable[tuple[int, SubscriptionId]]:
    """Ids with their numbers in the order of subscribing."""
    return zip(segment.sequence[rows].tolist(), segment.ids.at(rows), strict=True)


_number = itemgetter(0)


def _homes(segments: Sequence[Segment]) -> list[dict[str, Any]]:
    """Where conjunctions live, the most first. Segments weigh for themselves; the largest one's reason is given."""
    found: dict[tuple[str, tuple[str, ...]], list[Home]] = {}
    for home in (home for segment in segments for home in segment.layout.homes):
        found.setdefault((home.where, home.attributes), []).append(home)
    listed = [
        {
            "where": where,
            "attributes": list(attributes),
            "conjunctions": sum(home.conjunctions for home in homes),
            "why": max(homes, key=lambda home: home.conjunctions).why,
        }
        for (where, attributes), homes in found.items()
    ]
    return sorted(listed, key=lambda home: -home["conjunctions"])
