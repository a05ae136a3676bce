"""All subscriptions of one engine: immutable segments, a small delta, and the marks of the dead.

As in a log-structured store, `subscribe` and `unsubscribe` touch the delta and the marks only; a delta that is read
from is frozen into a segment, and segments of similar size are merged, large ones in the background. A reader takes a
*snapshot*, a tuple of segments and the delta as they are, and is never blocked while it matches; a writer
replaces what it changes and alters nothing that a snapshot holds.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import LanguageError, LimitError, UnknownSubscription
from tamis.language import parse
from tamis.matchers.naive import conjunction_holds
from tamis.model import Conjunction, Event, Schema, SubscriptionId
from tamis.segments.answering import Answer, Answering
from tamis.segments.events import Batch, batch_of_events
from tamis.segments.ids import IdColumn, IdIndex
from tamis.segments.segment import Compiled, Segment, compile_segment
from tamis.segments.single import SingleMatcher
from tamis.segments.statistics import Statistics
from tamis.segments.tuning import DEFAULT, Tuning

__all__ = ["Applied", "Collection", "Snapshot"]

Longs = npt.NDArray[np.int64]

_SMALL_DELTA = 16
"""A single event is held against so few new subscriptions one by one; more, or a batch, freeze the delta."""
_FULL_DELTA = 20_000
"""A delta that nobody reads is frozen when it has grown to this."""
_QUICK = 20_000
"""Merges of up to so many subscriptions are done at once; larger ones in the background."""
_LARGEST = 1 << 20
"""Segments of this size are not merged any further."""
_RATIO = 3
"""A segment is merged into its elder if that one is at most so many times as large."""


_COUNTED = ("conjunctions", "in_blocks", "in_clusters", "in_lists", "blocks", "accesses", "index_bytes", "id_bytes")


class Delta:
    """A subscription that no segment has yet; parsed when somebody needs to know what it says."""

    __slots__ = ("_conjunctions", "number", "text")

    def __init__(self, text: str, number: int, conjunctions: tuple[Conjunction, ...] | None) -> None:
        self.text = text
        self.number = number
        self._conjunctions = conjunctions

    def conjunctions(self, schema: Schema) -> tuple[Conjunction, ...]:
        if self._conjunctions is None:
            self._conjunctions = parse(self.text, schema)
        return self._conjunctions


class Applied(NamedTuple):
    """What a write did."""

    subscribed: int
    replaced: int
    never: tuple[SubscriptionId, ...]


@dataclass(frozen=True)
class Snapshot:
    """What a reader sees."""

    segments: tuple[Segment, ...]
    delta: Mapping[SubscriptionId, Delta]


class Collection:
    """The subscriptions under one schema."""

    def __init__(self, schema: Schema, statistics: Statistics | None = None, tuning: Tuning = DEFAULT) -> None:
        self.schema = schema
        self.tuning = tuning
        self.statistics = statistics
        self._lock = threading.RLock()
        self._segments: tuple[Segment, ...] = ()
        self._delta: dict[SubscriptionId, Delta] = {}
        self._shared = False
        self._number = 0
        self._merging: threading.Thread | None = None
        self._busy: set[IdIndex] = set()
        self._own_marks: set[IdIndex] = set()  # segments whose marks no snapshot and no merge holds
        self._answering = Answering(schema)
        self._singles: WeakKeyDictionary[IdIndex, SingleMatcher] = WeakKeyDictionary()
        self.work = np.zeros(3, np.int64)

    # -- writing ----------------------------------------------------------------------------------------------

    def subscribe(self, id: SubscriptionId, text: str, conjunctions: tuple[Conjunction, ...] | None) -> Applied:
        """One subscription that was parsed already, or (None) is surely right and can match."""
        with self._lock:
            replaced = self._forget(id)
            self._own_delta()[id] = Delta(text, self._number, conjunctions)
            self._number += 1
            if len(self._delta) >= _FULL_DELTA:
                self._freeze()
        return Applied(1, int(replaced), (id,) if conjunctions == () else ())

    def prepare(self, ids: IdColumn, texts: pa.Array) -> Compiled:
        """Compile distinct ids and their texts, changing nothing; `Rejected` if one does not parse."""
        with self._lock:
            first = self._number
            self._number += len(ids)
        compiled = self._compile(ids, texts, np.arange(first, first + len(ids), dtype=np.int64))
        if compiled.rejected:
            raise Rejected(*compiled.rejected[0])
        return compiled

    def install(self, ids: IdColumn, compiled: Compiled) -> Applied:
        """Take in what was prepared; its ids replace what they had."""
        with self._lock:
            replaced = self._forget_many(ids)
            self._segments = (*self._segments, compiled.segment)
            self._settle()
        return Applied(len(ids), replaced, tuple(ids.at(compiled.never)))

    def unsubscribe(self, id: SubscriptionId) -> None:
        with self._lock:
            if not self._forget(id):
                raise UnknownSubscription(id)

    def adopt(self, segment: Segment) -> None:
        """Take in a segment whose ids are new, as it is: one that was opened from a file."""
        with self._lock:
            self._segments = (*self._segments, segment)
            self._number = max(self._number, int(segment.sequence.max(initial=-1)) + 1)

    def restore(self, snapshot: Snapshot) -> None:
        """Undo what was written since."""
        with self._lock:
            self._segments, self._delta, self._shared = snapshot.segments, dict(snapshot.delta), False

    def _forget(self, id: SubscriptionId) -> bool:
        if id in self._delta:
            del self._own_delta()[id]
            return True
        for at, segment in enumerate(self._segments):
            row = segment.find(id)
            if row >= 0:
                self._put(at, segment.bury(np.array([row]), own=segment.index in self._own_marks))
                self._own_marks.add(segment.index)
                return True
        return False

    def _forget_many(self, ids: IdColumn) -> int:
        replaced = 0
        if self._delta:
            for id in ids.listed():
                if id in self._delta:
                    del self._own_delta()[id]
                    replaced += 1
        for at, segment in enumerate(self._segments):
            rows = segment.index.find_many(ids)
            rows = rows[rows >= 0]
            alive = segment.layout.places.alive
            rows = rows[(alive[rows >> 6] >> (rows & 63).astype(np.uint64)) & np.uint64(1) == 1]
            if len(rows):
                self._put(at, segment.bury(rows))
                replaced += len(rows)
        return replaced

    def _put(self, at: int, segment: Segment) -> None:
        self._segments = (*self._segments[:at], segment, *self._segments[at + 1 :])

    def _own_delta(self) -> dict[SubscriptionId, Delta]:
        """The delta, copied first if a snapshot holds it."""
        if self._shared:
            self._delta = dict(self._delta)
            self._shared = False
        return self._delta

    def _compile(self, ids: IdColumn, texts: pa.Array, numbers: Longs) -> Compiled:
        return compile_segment(ids, texts, self.schema, self.statistics, sequence=numbers, tuning=self.tuning)

    # -- freezing and merging ---------------------------------------------------------------------------------

    def _freeze(self) -> None:
        """Turn the delta into a segment. The lock is held."""
        if not self._delta:
            return
        ids = IdColumn.of(self._delta)
        texts = pa.array([delta.text for delta in self._delta.values()], pa.large_string())
        numbers = np.array([delta.number for delta in self._delta.values()], np.int64)
        compiled = self._compile(ids, texts, numbers)
        assert not compiled.rejected, "what was parsed once parses again"
        self._segments = (*self._segments, compiled.segment)
        self._delta, self._shared = {}, False
        self._settle()

    def _settle(self) -> None:
        """Drop empty segments, then merge neighbours of similar size: small ones at once, one large pair apart."""
        self._segments = tuple(segment for segment in self._segments if len(segment))
        while (at := self._next_pair(_QUICK)) is not None:
            merged = self._merge(*self._segments[at : at + 2])
            self._segments = (*self._segments[:at], merged, *self._segments[at + 2 :])
        at = self._next_pair(_LARGEST) if self._merging is None else None
        if at is not None:
            pair = self._segments[at : at + 2]
            self._busy = {segment.index for segment in pair}
            self._own_marks.clear()
            self._merging = threading.Thread(target=self._merge_apart, args=pair, daemon=True)
            self._merging.start()

    def _next_pair(self, most: int) -> int | None:
        """The first of two neighbours worth merging, of at most so many subscriptions, that no merge is at already."""
        for at in range(len(self._segments) - 2, -1, -1):
            elder, younger = self._segments[at : at + 2]
            similar = len(elder) <= _RATIO * len(younger) or elder.dead > len(elder) or younger.dead > len(younger)
            free = elder.index not in self._busy and younger.index not in self._busy
            if similar and free and len(elder) + len(younger) <= most:
                return at
        return None

    def _merge(self, *segments: Segment) -> Segment:
        ids = IdColumn.concat([one.ids.take(one.living) for one in segments])
        texts = pa.concat_arrays([one.texts.take(pa.array(one.living)) for one in segments])
        numbers = np.concatenate([one.sequence[one.living] for one in segments])
        return self._compile(ids, texts, numbers).segment

    def _merge_apart(self, elder: Segment, younger: Segment) -> None:
        """Merge without the lock; whoever died meanwhile is buried again in the new segment."""
        merged: Segment | None = None
        try:
            merged = self._merge(elder, younger)
        finally:
            with self._lock:
                self._merging, self._busy = None, set()
                if merged is not None:
                    self._put_merged(merged, elder, younger)
                    self._settle()

    def _put_merged(self, merged: Segment, elder: Segment, younger: Segment) -> None:
        places = [at for at, one in enumerate(self._segments) if one.index in (elder.index, younger.index)]
        if len(places) != 2 or places[1] != places[0] + 1:
            return  # one of them died out or was compiled anew
        now = [self._segments[at] for at in places]
        gone = [np.setdiff1d(a.living, b.living) for a, b in zip((elder, younger), now, strict=True)]
        for segment, rows in zip(now, gone, strict=True):
            if len(rows):
                merged = merged.bury(merged.index.find_many(segment.ids.take(rows)))
        self._segments = (*self._segments[: places[0]], merged, *self._segments[places[1] + 1 :])

    def use_statistics(self, statistics: Statistics) -> None:
        """Compile everything again with what is now known of events."""
        with self._lock:
            self.statistics = statistics
            self._freeze()
            self._segments = tuple(self._merge(segment) for segment in self._segments if len(segment))

    def finish_merging(self) -> None:
        """Wait until no merge is under way."""
        while True:
            with self._lock:
                thread = self._merging
            if thread is None:
                return
            thread.join()

    def flush(self) -> None:
        """Freeze the delta now."""
        with self._lock:
            self._freeze()

    # -- reading ----------------------------------------------------------------------------------------------

    def snapshot(self, *, freeze: bool = False) -> Snapshot:
        """What is subscribed now. `freeze` puts all of it in segments."""
        with self._lock:
            if self._delta and (freeze or len(self._delta) > _SMALL_DELTA):
                self._freeze()
            self._shared = True
            self._own_marks.clear()
            return Snapshot(self._segments, self._delta)

    def match(self, event: Event) -> list[SubscriptionId]:
        """The ids that one event satisfies, in the order of subscribing."""
        snapshot = self.snapshot()
        found = [
            (delta.number, id)
            for id, delta in snapshot.delta.items()
            if any(conjunction_holds(self.schema, one, event) for one in delta.conjunctions(self.schema))
        ]
        self.work[2] += 1
        for segment in snapshot.segments:
            rows = self._rows_of(segment, event)
            found += zip(segment.sequence[rows].tolist(), segment.ids.at(rows), strict=True)
        return [id for _, id in sorted(found, key=lambda pair: pair[0])]

    def _rows_of(self, segment: Segment, event: Event) -> Longs:
        """The first rows of the subscriptions of a segment that one event satisfies."""
        single = self._singles.get(segment.index)
        if single is None:
            single = self._singles[segment.index] = SingleMatcher(segment)
        rows = single.rows(segment, event) if single.plain else None
        if rows is None:
            batch = batch_of_events([event], self.schema)
            return self._answering.answer((segment,), batch, 1, self.work[:2]).rows.astype(np.int64)
        if segment.layout.canon is None:
            return rows.astype(np.int64)
        first = np.unique(segment.layout.canon[rows]).astype(np.int64)
        return first[segment.lives(first)]

    def match_batch(self, batch: Batch, threads: int = 1) -> Answer:
        """The rows that each event of a batch satisfies."""
        self.work[2] += batch.size
        return self._answering.answer(self.snapshot(freeze=True).segments, batch, threads, self.work[:2])

    def count_batch(self, batch: Batch) -> Longs:
        """How many subscriptions each event of a batch satisfies."""
        self.work[2] += batch.size
        return self._answering.count(self.snapshot(freeze=True).segments, batch, self.work[:2])

    # -- asking -----------------------------------------------------------------------------------------------

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
        """Counts, bytes and work; how many conjunctions live where."""
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
                "events": int(self.work[2]),
                "probes": int(self.work[0]),
                "candidates_verified": int(self.work[1]),
            },
            "segments": len(snapshot.segments),
            "delta": len(snapshot.delta),
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


class Rejected(Exception):
    """A text that does not parse: its row and the reason. The engine words it for the user."""

    def __init__(self, row: int, reason: LanguageError | LimitError) -> None:
        super().__init__(row, reason)
        self.row = row
        self.reason = reason
