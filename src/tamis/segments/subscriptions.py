"""All subscriptions of one engine: immutable segments, a small delta, and the marks of the dead.

`subscribe` and `unsubscribe` touch the delta and the marks only; a delta that is read from is frozen into a segment,
and segments of similar size are merged, large ones in the background. A reader takes a *snapshot*, a tuple of segments
and the delta as they are; a writer replaces what it changes and alters nothing that a snapshot holds.

The lock is held for moments: a snapshot, a write, the exchange of a merged segment for those it was made from, and at
most the freezing of a full delta. What takes long, a large merge or compiling all segments anew, is done without it.

A write may be interrupted before any bytecode. It first prepares a `_Change`, which touches nothing, and then applies
it, which is seen through once begun (`registry/finishing.py`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis import forks
from tamis.errors import UnknownSubscription
from tamis.model import Conjunction, Schema, SubscriptionId
from tamis.registry.finishing import finish
from tamis.registry.receipts import Receipt, notes_on
from tamis.segments import merging
from tamis.segments.compile.statistics import Statistics
from tamis.segments.compile.tuning import DEFAULT, Tuning
from tamis.segments.delta import Delta, Fresh
from tamis.segments.errands import Errand
from tamis.segments.ids import IdColumn, IdIndex
from tamis.segments.segment import Compiled, Mark, Segment, compile_segment

__all__ = ["Prepared", "Snapshot", "Subscriptions"]

Longs = npt.NDArray[np.int64]

_SMALL_DELTA = 4096
"""Past so many new subscriptions the delta is frozen in the background; for a batch it is frozen at once,"""
_MOST_UNREAD = 128
"""and for a single event that would be the first to read so many of them."""
_MOST_SLOW = 64
"""So many, every event may be held against one by one."""
_SEGMENT_EACH = 0.4
"""A further segment costs a single event as much as this many subscriptions cost to compile."""
_FULL_DELTA = 20_000
"""A delta that nobody reads is frozen when it has grown to this."""


class Prepared(NamedTuple):
    """Distinct ids with their texts compiled, and the rows these ids have in the segments that there were then."""

    ids: IdColumn
    compiled: Compiled
    known: Mapping[IdIndex, Longs]


class Snapshot(NamedTuple):
    """What a reader sees."""

    segments: tuple[Segment, ...]
    delta: Mapping[SubscriptionId, Delta]
    fresh: Fresh
    """The delta as single events find it."""
    statistics: Statistics | None = None


Renewed: TypeAlias = Sequence[tuple[Segment, Segment]]
"""Segments, each with the one that shall take its place."""


class _Change(NamedTuple):
    """What a write comes to, whole. Applying it twice is applying it once."""

    segments: tuple[Segment, ...]
    delta: dict[SubscriptionId, Delta]
    shared: bool
    """Whether a snapshot holds this delta; then nothing comes and nothing goes."""
    gone: Sequence[SubscriptionId] = ()
    come: tuple[SubscriptionId, Delta] | None = None
    mark: Mark | None = None
    marked: tuple[IdIndex, ...] = ()
    """Segments whose marks are new copies, so that later ones are set in place."""
    known: tuple[Statistics | None, ...] = ()
    """What is known of events from now on, if that changes."""


class Subscriptions:
    """The subscriptions under one schema, as they are written."""

    def __init__(self, schema: Schema, statistics: Statistics | None = None, tuning: Tuning = DEFAULT) -> None:
        self.schema = schema
        self.tuning = tuning
        self.statistics = statistics
        self._lock = threading.RLock()
        self._segments: tuple[Segment, ...] = ()
        self._delta: dict[SubscriptionId, Delta] = {}
        self._fresh = Fresh(schema)
        self._freezing = threading.RLock()  # taken before the other, by those who take both
        self._shared = False
        self._number = 0
        self.applied = 0
        """How many writes took effect: tells a writer that was interrupted whether its own did."""
        self.moved = 0
        """How many segments were compiled anew by what passing events told."""
        self._merging: Errand | None = None
        self._busy: set[IdIndex] = set()
        self._own_marks: set[IdIndex] = set()  # segments whose marks no snapshot and no merge holds
        self._begun: tuple[_Change, int] | None = None
        """What is being applied: a child forked meanwhile has it half done, and sees it through."""
        forks.tell(self)

    def after_fork(self) -> None:
        self._lock, self._freezing = forks.renewed(self._lock), forks.renewed(self._freezing)
        self._merging, self._busy, self._own_marks = None, set(), set()  # the thread that merged is not here
        if self._begun is not None:
            self._apply(*self._begun)

    # -- looking up -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        with self._lock:
            return len(self._delta) + sum(map(len, self._segments))

    def __contains__(self, id: object) -> bool:
        if isinstance(id, bool) or not isinstance(id, str | int):
            return False
        with self._lock:
            return id in self._delta or any(segment.find(id) >= 0 for segment in self._segments)

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

    # -- writing ----------------------------------------------------------------------------------------------

    def subscribe(self, id: SubscriptionId, text: str, conjunctions: tuple[Conjunction, ...] | None) -> Receipt:
        """One subscription that was parsed already, or (None) is surely right and can match."""
        with self._lock:
            held = Delta(text, self._number, conjunctions)
            self._number += 1
            watched = self._shared
            self._fresh.add(id, held)
            replaced = id in self._delta
            at, row = (-1, -1) if replaced else self._find(id)
            if row >= 0:
                replaced = True
                self._write(self._buried(at, row, (id, held)))
            else:
                if self._shared:
                    self._delta, self._shared = dict(self._delta), False
                self._delta[id] = held  # all of the change in one step
                self.applied += 1
            fresh = self._thinned()
        if len(self._delta) >= _FULL_DELTA:
            self.flush()
        elif watched and fresh.unread <= _MOST_UNREAD:
            fresh.catch_up()  # somebody reads between writes: it is not for him to wait for the parser
        notes = notes_on(predicate for one in conjunctions or () for predicate in one)
        return Receipt(1, int(replaced), (id,) if conjunctions == () else (), notes=notes)

    def _thinned(self) -> Fresh:
        """What single events are held against, without those that have come and gone. The lock is held."""
        if self._fresh.added > 2 * len(self._delta) + _MOST_UNREAD:
            self._fresh = Fresh(self.schema, self._delta)
        return self._fresh

    def prepare(self, ids: IdColumn, texts: pa.Array) -> Prepared:
        """Compile distinct ids and their texts, changing nothing. What does not parse is to be looked at first."""
        with self._lock:
            first = self._number
            self._number += len(ids)
        compiled = self._compile(ids, texts, np.arange(first, first + len(ids), dtype=np.int64))
        return Prepared(ids, compiled, {segment.index: segment.index.find_many(ids) for segment in self._segments})

    def install(self, prepared: Prepared) -> Receipt:
        """Take in what was prepared; its ids replace what they had."""
        ids, compiled, _ = prepared
        with self._lock:
            replaced, change = self._buried_many(prepared)
            self._write(change._replace(segments=(*change.segments, compiled.segment)))
        self._settle()
        truths = compiled.segment.layout.columns.truths
        notes = notes_on(member for truth in truths for member in truth.members)
        return Receipt(len(ids), replaced, tuple(ids.at(compiled.never)), notes=notes)

    def unsubscribe(self, id: SubscriptionId) -> None:
        with self._lock:
            if id in self._delta:
                self._write(_Change(self._segments, *self._own_delta(), (id,)))
            else:
                at, row = self._find(id)
                if row < 0:
                    raise UnknownSubscription(id)
                self._write(self._buried(at, row))
        if any(map(merging.worn, self._segments)):
            self._settle()

    def unsubscribe_many(self, ids: Sequence[SubscriptionId]) -> None:
        """All of them, or on an error none; they differ."""
        with self._lock:
            rows: dict[int, list[int]] = {}
            held = [id for id in ids if id in self._delta]
            for id in ids if len(held) < len(ids) else ():
                if id not in self._delta:
                    at, row = self._find(id)
                    if row < 0:
                        raise UnknownSubscription(id)
                    rows.setdefault(at, []).append(row)
            segments = list(self._segments)
            for at, some in rows.items():
                segments[at] = segments[at].bury(np.array(some))
            delta, shared = self._own_delta() if held else (self._delta, self._shared)
            marked = tuple(segments[at].index for at in rows)
            self._write(_Change(tuple(segments), delta, shared, held, marked=marked))
        if any(map(merging.worn, self._segments)):
            self._settle()

    def adopt(self, segment: Segment) -> None:
        """Take in a segment whose ids are new, as it is: one that was opened from a file."""
        with self._lock:
            layout = replace(segment.layout, known=self.statistics)
            self._segments = (*self._segments, replace(segment, layout=layout))
            self._number = max(self._number, int(segment.sequence.max(initial=-1)) + 1)

    def restore(self, snapshot: Snapshot) -> None:
        """Undo what was written since."""
        with self._lock:
            self._own_marks.clear()
            self._fresh = Fresh(self.schema, {**self._delta, **snapshot.delta})
            self._write(_Change(snapshot.segments, dict(snapshot.delta), False, known=(snapshot.statistics,)))

    def _write(self, change: _Change) -> None:
        """Wholly or not at all, whenever it is interrupted. The lock is held."""
        self._see_through(change, self.applied + 1)

    def _see_through(self, change: _Change, applied: int) -> None:
        try:
            self._apply(change, applied)
        except BaseException:
            finish(self._apply, change, applied)
            raise

    def _apply(self, change: _Change, applied: int) -> None:
        self._begun = change, applied
        segments, delta, shared, gone, come, mark, marked, known = change
        if mark is not None:
            alive, at, word = mark
            alive[at] = word
        self._segments, self._delta, self._shared = segments, delta, shared
        for id in gone:
            delta.pop(id, None)
        if come is not None:
            delta[come[0]] = come[1]
        if marked:
            self._own_marks.update(marked)
        for statistics in known:
            self.statistics = statistics
        self.applied = applied
        self._begun = None

    def _find(self, id: SubscriptionId) -> tuple[int, int]:
        """Which segment has the id, and in which row; -1 if none has."""
        for at, segment in enumerate(self._segments):
            row = segment.find(id)
            if row >= 0:
                return at, row
        return -1, -1

    def _buried(self, at: int, row: int, come: tuple[SubscriptionId, Delta] | None = None) -> _Change:
        """The change by which a row of a segment dies; `come` goes to the delta with it."""
        delta, shared = (self._delta, self._shared) if come is None else self._own_delta()
        segments, segment, mark = self._segments, self._segments[at], None
        if segment.index in self._own_marks:
            less, mark = segment.bury_in_place(row)
        else:
            less = segment.bury(np.array([row]))
        segments = (*segments[:at], less, *segments[at + 1 :])
        return _Change(segments, delta, shared, (), come, mark, (segment.index,))

    def _buried_many(self, prepared: Prepared) -> tuple[int, _Change]:
        """How many have the ids of what was prepared, and the change by which none has."""
        ids, compiled, known = prepared
        again = self._also_in_delta(ids, compiled.segment.index)
        delta, shared = self._own_delta() if again else (self._delta, self._shared)
        segments, marked, replaced = list(self._segments), [], len(again)
        for at, segment in enumerate(segments):
            rows = known[segment.index] if segment.index in known else segment.index.find_many(ids)
            rows = rows[rows >= 0]
            rows = rows[segment.lives(rows)]
            if len(rows):
                segments[at] = segment.bury(rows)
                marked.append(segment.index)
                replaced += len(rows)
        return replaced, _Change(tuple(segments), delta, shared, again, marked=tuple(marked))

    def _also_in_delta(self, ids: IdColumn, index: IdIndex) -> list[SubscriptionId]:
        """Those of the ids, which `index` leads to, that are in the delta: the fewer are looked up among the more."""
        if len(ids) < len(self._delta):
            return [id for id in ids.listed() if id in self._delta]
        listed = list(self._delta)
        return [listed[at] for at in np.nonzero(index.find_many(IdColumn.of(listed)) >= 0)[0].tolist()]

    def _own_delta(self) -> tuple[dict[SubscriptionId, Delta], bool]:
        """The delta, or a copy if a snapshot holds it: one that a change may alter."""
        return dict(self._delta) if self._shared else self._delta, False

    def _compile(
        self, ids: IdColumn, texts: pa.Array, numbers: Longs, statistics: Statistics | None = None
    ) -> Compiled:
        known = statistics if statistics is not None else self.statistics
        return compile_segment(ids, texts, self.schema, known, sequence=numbers, tuning=self.tuning)

    # -- freezing and merging ---------------------------------------------------------------------------------

    def snapshot(self, *, freeze: bool = False) -> Snapshot:
        """What is subscribed now. `freeze` puts all of it in segments."""
        if self._delta and (freeze or self._fresh.unread > _MOST_UNREAD):
            self.flush()
        with self._lock:
            if freeze and self._delta:  # somebody is quick
                self._freeze()
            self._shared = True
            self._own_marks.clear()
            found = Snapshot(self._segments, self._delta, self._fresh, self.statistics)
        if len(found.delta) > _SMALL_DELTA or found.fresh.slow > _MOST_SLOW:
            self.freeze_apart()
        return found

    def join(self, extra: int) -> bool:
        """Single events have asked further segments so often: is it worth while, all are merged, in the background."""
        with self._lock:
            total = sum(map(len, self._segments))
            if extra < _SEGMENT_EACH * total:
                return False
            free = self._merging is None and not self._busy and total <= merging.LARGEST
            if free and len(self._segments) > 1:
                self._begin_merging(self._segments)
            return True

    def freeze_apart(self) -> None:
        """In the background, unless somebody is at it."""
        if self._merging is None:
            self.apart(self.flush)

    def flush(self) -> None:
        """Freeze the delta now, and merge."""
        with self._freezing:
            self._freeze()
        self._settle()

    def _freeze(self) -> None:
        """Turn the delta into a segment. While it is compiled others read and write, unless the lock is held."""
        with self._lock:
            held = dict(self._delta)
        if not held:
            return
        ids = IdColumn.of(held)
        texts = pa.array([delta.text for delta in held.values()], pa.large_string())
        numbers = np.array([delta.number for delta in held.values()], np.int64)
        compiled = self._compile(ids, texts, numbers)
        assert not compiled.rejected, "what was parsed once parses again"
        with self._lock:
            left = {id: delta for id, delta in self._delta.items() if held.get(id) is not delta}
            gone = [id for id, delta in held.items() if self._delta.get(id) is not delta]
            segment = compiled.segment
            if gone:
                segment = segment.bury(segment.index.find_many(IdColumn.of(gone)))
            fresh = Fresh(self.schema, left)
            more = (segment,) if len(segment) else ()
            self._see_through(_Change((*self._segments, *more), left, False), self.applied)
            self._fresh = fresh

    def _settle(self) -> None:
        """Drop empty segments, then merge those that `merging` names: small ones at once, one large run apart. Nobody
        waits for what is merged, but who asked for it."""
        while True:
            with self._lock:
                self._segments = tuple(segment for segment in self._segments if len(segment))
                run = merging.next_run(self._segments, merging.QUICK, self._busy)
                if run is None:
                    self._merge_large()
                    return
                claimed = self._claim(self._segments[run])
            self._renew(claimed)

    def _merge_large(self) -> None:
        run = merging.next_run(self._segments, merging.LARGEST, self._busy) if self._merging is None else None
        if run is not None:
            self._begin_merging(self._segments[run])

    def _begin_merging(self, segments: tuple[Segment, ...]) -> None:
        self._begin(partial(self._renew, segments), segments)

    def apart(self, call: Callable[[], object]) -> None:
        """In a thread of its own, unless a merge is under way: one at a time is enough."""
        with self._lock:
            if self._merging is None:
                self._begin(call, ())

    def _begin(self, call: Callable[[], object], claimed: tuple[Segment, ...]) -> None:
        errand = Errand(lambda: self._do_apart(errand, call))
        try:
            self._claim(claimed)
            self._merging = errand
            if not errand.start():
                self._call_off(claimed)  # there will be threads another time
        except BaseException:
            finish(self._call_off, claimed)  # should the thread run all the same, it finds that it is not wanted
            raise

    def _call_off(self, claimed: tuple[Segment, ...]) -> None:
        self._merging = None
        self._busy.difference_update(segment.index for segment in claimed)

    def _merge(self, *segments: Segment, statistics: Statistics | None = None) -> Segment:
        compile = self._compile if statistics is None else partial(self._compile, statistics=statistics)
        return merging.merge(segments, compile)

    def _do_apart(self, errand: Errand, call: Callable[[], object]) -> None:
        with self._lock:
            if self._merging is not errand:
                return
        done = False
        try:
            call()
            done = True
        except BaseException:  # noqa: BLE001 - told as the error of any thread is
            threading.excepthook(threading.ExceptHookArgs([*sys.exc_info(), None]))
        finally:
            with self._lock:
                self._merging = None
            if done:
                self._settle()

    def _claim(self, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        """Nobody else merges these, and their marks stay as they are. The lock is held."""
        self._busy.update(segment.index for segment in segments)
        self._own_marks.clear()
        return segments

    def _renew(self, claimed: tuple[Segment, ...]) -> None:
        """Put one new segment in the place of those claimed. The lock is not held while it is compiled."""
        try:
            merged = self._merge(*claimed)
            with self._lock:
                self._segments = merging.take_the_place(merged, claimed, self._segments) or self._segments
        except BaseException:
            finish(self._release, claimed)
            raise
        self._release(claimed)

    @contextmanager
    def recompiled(self, statistics: Statistics) -> Iterator[Renewed]:
        """Everything compiled with what is now known of events, to be exchanged for what there is. Others read and
        write meanwhile, but nobody merges."""
        there: tuple[Segment, ...] = ()
        try:
            while True:
                self.finish_merging()
                with self._lock:
                    self._freeze()
                    if self._merging is None:
                        there = tuple(segment for segment in self._segments if len(segment))
                        self._claim(there)
                        break
            yield [(one, self._merge(one, statistics=statistics)) for one in there]
        except BaseException:
            finish(self._release, there)
            raise
        self._release(there)

    def exchange(self, renewed: Renewed, statistics: Statistics) -> None:
        """What was recompiled takes its place, in one step with what it was compiled by."""
        with self._lock:
            segments = self._segments
            for old, new in renewed:
                segments = merging.take_the_place(new, (old,), segments) or segments
            self._see_through(_Change(segments, self._delta, self._shared, known=(statistics,)), self.applied)

    def move(self, segment: Segment, statistics: Statistics, better: Callable[[Segment], bool]) -> Segment | None:
        """One segment compiled by what is now known of events, in the old one's place if it is `better`; None if it is
        not, or somebody is merging the old one. Others read and write meanwhile."""
        here: tuple[Segment, ...] = ()
        try:
            with self._lock:
                free = segment.index not in self._busy
                here = tuple(one for one in self._segments if free and len(one) and one.index is segment.index)
                self._claim(here)
            new = self._merge(*here, statistics=statistics) if here else None
            if new is not None and better(new):
                self.exchange([(here[0], new)], statistics)
                self.moved += 1
            else:
                new = None
        except BaseException:
            finish(self._release, here)
            raise
        self._release(here)
        return new

    def _release(self, claimed: tuple[Segment, ...]) -> None:
        with self._lock:
            self._busy.difference_update(segment.index for segment in claimed)

    @property
    def is_merging(self) -> bool:
        return self._merging is not None

    def there(self) -> tuple[Segment, ...]:
        """The segments of this moment, for whoever looks at nothing but how they are made."""
        return self._segments

    def finish_merging(self) -> None:
        """Wait until no merge is under way."""
        while True:
            with self._lock:
                errand = self._merging
            if errand is None:
                return
            errand.wait()
