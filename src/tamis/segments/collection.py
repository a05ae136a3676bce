"""Subscriptions that can be asked: by an event, by a batch of them, and about themselves.

Whoever asks takes a snapshot and looks at nothing else, so that no writer and no merge disturbs the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import ReadBatch
from tamis.matchers.naive import conjunction_holds
from tamis.matches import Matches
from tamis.model import Event, Kind, SubscriptionId
from tamis.model.events import read_validated
from tamis.model.names import Used
from tamis.registry.attributes import Attributes, attributes_of
from tamis.segments.ask.answering import Answering
from tamis.segments.ask.roads import Ask, Roads
from tamis.segments.compile.layout import Home
from tamis.segments.segment import Segment
from tamis.segments.subscriptions import Delta, Snapshot, Subscriptions
from tamis.segments.used import UsedBySegments

__all__ = ["Collection"]

Longs = npt.NDArray[np.int64]
Numbered = tuple[int, SubscriptionId]
"""An id with its number in the order of subscribing."""

_COUNTED = ("conjunctions", "in_blocks", "in_clusters", "in_lists", "blocks", "accesses", "index_bytes", "id_bytes")


class Collection:
    """What is asked of subscriptions, whoever writes them."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self._schema = subscriptions.schema
        self._work = np.zeros(2, np.int64)
        self._answering = Answering(self._schema)
        self.roads = Roads(self._schema, self._answering, self._work)
        self._asked = 0
        self._used = UsedBySegments()
        self._last_delta: tuple[Mapping[SubscriptionId, Delta], Used] = ({}, Used.of(()))

    # -- by events --------------------------------------------------------------------------------------------

    def match(self, raw: Mapping[str, object]) -> list[SubscriptionId]:
        """The ids that one event satisfies, in the order of subscribing."""
        snapshot = self._subscriptions.snapshot()
        asks = self.roads.plain(snapshot.segments, raw)
        if asks:
            found = self._in_delta(snapshot, raw) if snapshot.delta else []
            return self._listed(snapshot.segments, asks, found)
        return self._match_carefully(snapshot, self._schema.event(raw, self._used_in(snapshot)))

    def match_event(self, event: Event) -> list[SubscriptionId]:
        """The ids that an event, read already, satisfies, in the order of subscribing."""
        return self._match_carefully(self._subscriptions.snapshot(), event)

    def _used_in(self, snapshot: Snapshot) -> Used | None:
        """What a single event is looked at for; a closed schema looks at all of it."""
        if not self._schema.open:
            return None
        used, new = self._used.by(snapshot.segments), self._used_by_delta(snapshot)
        return Used.of(used.names | new.names) if new.names - used.names else used

    def _used_by_delta(self, snapshot: Snapshot) -> Used:
        known, used = self._last_delta
        if known is not snapshot.delta:
            found: Attributes = {}
            for held in snapshot.delta.values():
                attributes_of(held.conjunctions(self._schema), found)
            used = Used.of(found)
            self._last_delta = snapshot.delta, used
        return used

    def _in_delta(self, snapshot: Snapshot, raw: Mapping[str, object]) -> list[Numbered]:
        """The new subscriptions that an event satisfies, of which the segments have judged the rest."""
        return self._hold(snapshot, read_validated(self._schema, raw, self._used_by_delta(snapshot)))

    def _hold(self, snapshot: Snapshot, event: Event) -> list[Numbered]:
        return [
            (delta.number, id)
            for id, delta in snapshot.delta.items()
            if any(conjunction_holds(self._schema, one, event) for one in delta.conjunctions(self._schema))
        ]

    def _match_carefully(self, snapshot: Snapshot, event: Event) -> list[SubscriptionId]:
        found = self._hold(snapshot, event) if snapshot.delta else []
        return self._listed(snapshot.segments, self.roads.careful(snapshot.segments, event), found)

    def _listed(self, segments: Sequence[Segment], asks: list[Ask], found: list[Numbered]) -> list[SubscriptionId]:
        """What the delta has `found`, and what the segments have to say."""
        self._asked += 1
        if len(asks) == 1 and not found:
            return segments[0].ids.at(asks[0]())
        for segment, ask in zip(segments, asks, strict=True):
            rows = ask()
            found += zip(segment.sequence[rows].tolist(), segment.ids.at(rows), strict=True)
        return [id for _, id in sorted(found, key=_number)]

    def match_many(self, read: ReadBatch, threads: int = 1) -> Matches:
        """The rows that each event of a batch satisfies, as codes of their ids."""
        segments = self._frozen()
        batch = read(self._used.by(segments))
        self._asked += batch.size
        return self._answering.answer(segments, batch, threads, self._work)

    def count_many(self, read: ReadBatch) -> Longs:
        """How many subscriptions each event of a batch satisfies."""
        segments = self._frozen()
        batch = read(self._used.by(segments))
        self._asked += batch.size
        return self._answering.count(segments, batch, self._work)

    def _frozen(self) -> tuple[Segment, ...]:
        return self._subscriptions.snapshot(freeze=True).segments

    # -- about themselves -------------------------------------------------------------------------------------

    def items(self) -> list[tuple[SubscriptionId, str]]:
        """All ids and texts, in the order of subscribing."""
        snapshot = self._subscriptions.snapshot()
        found = [(delta.number, id, delta.text) for id, delta in snapshot.delta.items()]
        for segment in snapshot.segments:
            rows = segment.living
            texts = segment.texts.take(pa.array(rows)).to_pylist()
            found += zip(segment.sequence[rows].tolist(), segment.ids.take(rows).listed(), texts, strict=True)
        return [(id, text) for _, id, text in sorted(found, key=lambda one: one[0])]

    def stats(self) -> dict[str, Any]:
        """Counts, bytes and work; how many conjunctions live where, and why."""
        snapshot = self._subscriptions.snapshot()
        totals = dict.fromkeys(_COUNTED, 0)
        for segment in snapshot.segments:
            for name, count in (segment.layout.counts | segment.bytes_used()).items():
                totals[name] += count
        never = sum(segment.never_living for segment in snapshot.segments)
        delta = snapshot.delta.values()
        totals["conjunctions"] += sum(len(one.conjunctions(self._schema)) for one in delta)
        return {
            "subscriptions": len(snapshot.delta) + sum(map(len, snapshot.segments)),
            "never_matching": never + sum(not one.conjunctions(self._schema) for one in delta),
            "bytes": totals["index_bytes"] + totals["id_bytes"],
            "work": {
                "events": self._asked,
                "probes": int(self._work[0]),
                "candidates_verified": int(self._work[1]),
                "truths_looked_up": sum(_truths_looked_up(segment) for segment in snapshot.segments),
            },
            "segments": len(snapshot.segments),
            "delta": len(snapshot.delta),
            "homes": _homes(snapshot.segments),
        } | totals

    def attributes(self) -> Attributes:
        """Those that subscriptions name, with the kinds of their constants."""
        found: Attributes = {}
        snapshot = self._subscriptions.snapshot()
        for held in snapshot.delta.values():
            attributes_of(held.conjunctions(self._schema), found)
        for columns in (segment.layout.columns for segment in snapshot.segments):
            for name, codes in columns.attributes.items():
                kinds = codes.dictionaries if codes.names is None else (Kind.STRING,)
                found.setdefault(name, set()).update(map(Kind, kinds))
            attributes_of((truth.members for truth in columns.truths), found)
        return found

    def check(self) -> None:
        """Every invariant across segments: an id lives once, rows lead back to their ids."""
        snapshot = self._subscriptions.snapshot()
        seen: set[SubscriptionId] = set(snapshot.delta)
        for segment in snapshot.segments:
            segment.check()
            for id in segment.ids.take(segment.living).listed():
                assert id not in seen, f"{id!r} lives twice"
                seen.add(id)
        assert len(seen) == len(self._subscriptions), "the count of the living is wrong"


def _truths_looked_up(segment: Segment) -> int:
    """Since it was compiled or opened."""
    return sum(teller.looked_up for teller in segment.layout.columns.tellers.values())


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
