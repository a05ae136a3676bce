"""Subscriptions that can be asked: by an event, by a batch of them, and about themselves.

Whoever asks takes a snapshot and looks at nothing else, so that no writer and no merge disturbs the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch, ReadBatch
from tamis.matchers.naive import conjunction_holds
from tamis.matches import Matches
from tamis.model import Event, Kind, SubscriptionId
from tamis.model.events import read_validated
from tamis.model.names import Used
from tamis.registry.attributes import Attributes, attributes_of
from tamis.segments.ask.answering import Answering
from tamis.segments.ask.mapping_codes import NotPlain
from tamis.segments.ask.record_finding import records_looked_at
from tamis.segments.ask.roads import Ask, Roads
from tamis.segments.compile.layout import Home
from tamis.segments.delta import Delta
from tamis.segments.judging import expected, met_since
from tamis.segments.observing import Observer
from tamis.segments.segment import Segment
from tamis.segments.subscriptions import Snapshot, Subscriptions
from tamis.segments.used import UsedBySegments

__all__ = ["Collection"]

Longs = npt.NDArray[np.int64]
Numbered = tuple[int, SubscriptionId]
"""An id with its number in the order of subscribing."""

_FEW_NEW = 16
"""More than these are not held against single events by the oracle for long."""
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
        self._extra = 0
        """How often a single event asked a segment besides the first."""
        self._used = UsedBySegments()
        self._last_delta: tuple[Mapping[SubscriptionId, Delta], Used] = ({}, Used.of(()))
        self.observer: Observer | None = None

    def watch(self, seed: int, before: Observer | None = None) -> None:
        """From now on what passes is observed, with what one `before` has learned."""
        self.observer = Observer(self._subscriptions, self._work, seed, before)

    # -- by events --------------------------------------------------------------------------------------------

    def match(self, raw: Mapping[str, object]) -> list[SubscriptionId]:
        """The ids that one event satisfies, in the order of subscribing."""
        snapshot = self._subscriptions.snapshot()
        asks = self.roads.plain(snapshot.segments, raw)
        if asks and type(raw) is dict:  # of nothing else are there any
            found = self._in_delta(snapshot, raw) if snapshot.delta else []
            listed = self._listed(snapshot.segments, asks, found)
            if self.observer is not None and self.observer.pace.one():
                used = self._used.by(snapshot.segments)
                self.observer.take_event(snapshot.segments, partial(read_validated, self._schema, raw, used))
            return listed
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

    def _in_delta(self, snapshot: Snapshot, raw: dict[str, Any]) -> list[Numbered]:
        """The new subscriptions that an event satisfies, of which the segments have judged the rest."""
        try:
            found, asked = snapshot.fresh.holding(raw, snapshot.delta)
        except NotPlain:
            found, asked = [], list(snapshot.delta.items())
            if len(asked) > _FEW_NEW:
                self._subscriptions.freeze_apart()
        if asked:
            found += self._hold(asked, read_validated(self._schema, raw, self._used_by_delta(snapshot)))
        return found

    def _hold(self, asked: Iterable[tuple[SubscriptionId, Delta]], event: Event) -> list[Numbered]:
        return [
            (delta.number, id)
            for id, delta in asked
            if any(conjunction_holds(self._schema, one, event) for one in delta.conjunctions(self._schema))
        ]

    def _match_carefully(self, snapshot: Snapshot, event: Event) -> list[SubscriptionId]:
        found = self._hold(snapshot.delta.items(), event) if snapshot.delta else []
        listed = self._listed(snapshot.segments, self.roads.careful(snapshot.segments, event), found)
        if self.observer is not None and self.observer.pace.one():
            self.observer.take_event(snapshot.segments, lambda: event)
        return listed

    def _listed(self, segments: Sequence[Segment], asks: list[Ask], found: list[Numbered]) -> list[SubscriptionId]:
        """What the delta has `found`, and what the segments have to say."""
        self._asked += 1
        if len(asks) == 1 and not found:
            return segments[0].ids.at(asks[0]())
        self._extra += len(asks) - 1
        if len(asks) > 1 and self._extra % 1024 < len(asks) - 1 and self._subscriptions.join(self._extra):
            self._extra = 0
        for segment, ask in zip(segments, asks, strict=True):
            rows = ask()
            found += zip(segment.sequence[rows].tolist(), segment.ids.at(rows), strict=True)
        return [id for _, id in sorted(found, key=_number)]

    def match_many(self, read: ReadBatch, threads: int = 1) -> Matches:
        """The rows that each event of a batch satisfies, as codes of their ids."""
        segments = self._frozen()
        batch = read(self._used.by(segments))
        self._asked += batch.size
        found = self._answering.answer(segments, batch, threads, self._work)
        self._passed(segments, batch)
        return found

    def count_many(self, read: ReadBatch) -> Longs:
        """How many subscriptions each event of a batch satisfies."""
        segments = self._frozen()
        batch = read(self._used.by(segments))
        self._asked += batch.size
        counts = self._answering.count(segments, batch, self._work)
        self._passed(segments, batch)
        return counts

    def _passed(self, segments: tuple[Segment, ...], batch: Batch) -> None:
        if self.observer is not None and self.observer.pace.many(batch.size):
            self.observer.take_rows(segments, batch)

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
                "records_looked_at": sum(records_looked_at(segment.layout.columns) for segment in snapshot.segments),
            },
            "segments": len(snapshot.segments),
            "delta": len(snapshot.delta),
            "homes": _homes(snapshot.segments),
            "observed": self.observer.stats() if self.observer is not None else None,
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
    """Where conjunctions live, the most first. Segments weigh for themselves; the largest one's reason is given, and
    the candidates that an event was expected to meet there and those it met are summed."""
    found: dict[tuple[str, tuple[str, ...]], list[tuple[Home, float, float]]] = {}
    for layout in (segment.layout for segment in segments):
        thought, met = expected(layout, layout.known), met_since(layout, np.zeros_like(layout.met)).candidates
        candidates = zip_longest(layout.homes, thought.tolist(), met.tolist(), fillvalue=0.0)
        for home, before, after in candidates:  # accesses come first, in order; blocks have no candidates
            if isinstance(home, Home):
                found.setdefault((home.where, home.attributes), []).append((home, before, after))
    listed = [
        {
            "where": where,
            "attributes": list(attributes),
            "conjunctions": sum(home.conjunctions for home, _, _ in homes),
            "why": max((home for home, _, _ in homes), key=lambda home: home.conjunctions).why,
            "candidates_expected": sum(before for _, before, _ in homes),
            "candidates_met": sum(after for _, _, after in homes),
        }
        for (where, attributes), homes in found.items()
    ]
    return sorted(listed, key=lambda home: -home["conjunctions"])
