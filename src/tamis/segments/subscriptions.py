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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis import forks
from tamis.errors import UnknownSubscription
from tamis.language import parse
from tamis.model import Conjunction, Schema, SubscriptionId
from tamis.registry.finishing import finish
from tamis.registry.receipts import Receipt, notes_on
from tamis.segments import merging
from tamis.segments.compile.statistics import Statistics
from tamis.segments.compile.tuning import DEFAULT, Tuning
from tamis.segments.errands import Errand
from tamis.segments.ids import IdColumn, IdIndex
from tamis.segments.segment import Compiled, Mark, Segment, compile_segment

__all__ = ["Delta", "Prepared", "Snapshot", "Subscriptions"]

Longs = npt.NDArray[np.int64]

_SMALL_DELTA = 16
"""A single event is held against so few new subscriptions one by one; more, or a batch, freeze the delta."""
_FULL_DELTA = 20_000
"""A delta that nobody reads is frozen when it has grown to this."""


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


class Prepared(NamedTuple):
    """Distinct ids with their texts compiled, and the rows these ids have in the segments that there were then."""

    ids: IdColumn
    compiled: Compiled
    known: Mapping[IdIndex, Longs]


class Snapshot(NamedTuple):
    """What a reader sees."""

    segments: tuple[Segment, ...]
    delta: Mapping[SubscriptionId, Delta]
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
        self._shared = False
        self._number = 0
        self.applied = 0
        """How many writes took effect: tells a writer that was interrupted whether its own did."""
        self._merging: Errand | None = None
        self._busy: set[IdIndex] = set()
        self._own_marks: set[IdIndex] = set()  # segments whose marks no snapshot and no merge holds
        self._begun: tuple[_Change, int] | None = None
        """What is being applied: a child forked meanwhile has it half done, and sees it through."""
        forks.tell(self)

    def after_fork(self) -> None:
        self._lock = forks.renewed(self._lock)
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
            if len(self._delta) >= _FULL_DELTA:
                self._freeze()
        notes = notes_on(predicate for one in conjunctions or () for predicate in one)
        return Receipt(1, int(replaced), (id,) if conjunctions == () else (), notes=notes)

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
            self._segments = (*self._segments, segment)
            self._number = max(self._number, int(segment.sequence.max(initial=-1)) + 1)

    def restore(self, snapshot: Snapshot) -> None:
        """Undo what was written since."""
        with self._lock:
            self._own_marks.clear()
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
        with self._lock:
            if self._delta and (freeze or len(self._delta) > _SMALL_DELTA):
                self._freeze()
            self._shared = True
            self._own_marks.clear()
            return Snapshot(self._segments, self._delta, self.statistics)

    def flush(self) -> None:
        """Freeze the delta now."""
        with self._lock:
            self._freeze()

    def _freeze(self) -> None:
        """Turn the delta into a segment. The lock is held."""
        if not self._delta:
            return
        ids = IdColumn.of(self._delta)
        texts = pa.array([delta.text for delta in self._delta.values()], pa.large_string())
        numbers = np.array([delta.number for delta in self._delta.values()], np.int64)
        compiled = self._compile(ids, texts, numbers)
        assert not compiled.rejected, "what was parsed once parses again"
        self._see_through(_Change((*self._segments, compiled.segment), {}, False), self.applied)
        self._settle()

    def _settle(self) -> None:
        """Drop empty segments, then merge those that `merging` names: small ones at once, one large run apart."""
        self._segments = tuple(segment for segment in self._segments if len(segment))
        while (run := merging.next_run(self._segments, merging.QUICK, self._busy)) is not None:
            merged = self._merge(*self._segments[run])
            self._segments = (*self._segments[: run.start], merged, *self._segments[run.stop :])
        run = merging.next_run(self._segments, merging.LARGEST, self._busy) if self._merging is None else None
        if run is not None:
            self._begin_merging(self._segments[run])

    def _begin_merging(self, segments: tuple[Segment, ...]) -> None:
        errand = Errand(lambda: self._merge_apart(errand, segments))
        try:
            self._claim(segments)
            self._merging = errand
            if not errand.start():
                self._call_off(segments)  # there will be threads another time
        except BaseException:
            finish(self._call_off, segments)  # should the thread run all the same, it finds that it is not wanted
            raise

    def _call_off(self, claimed: tuple[Segment, ...]) -> None:
        self._merging = None
        self._busy.difference_update(segment.index for segment in claimed)

    def _merge(self, *segments: Segment, statistics: Statistics | None = None) -> Segment:
        compile = self._compile if statistics is None else partial(self._compile, statistics=statistics)
        return merging.merge(segments, compile)

    def _merge_apart(self, errand: Errand, claimed: tuple[Segment, ...]) -> None:
        with self._lock:
            if self._merging is not errand:
                return
        done = False
        try:
            self._renew(claimed)
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
        merged = None
        try:
            merged = self._merge(*claimed)
        finally:
            with self._lock:
                self._busy.difference_update(segment.index for segment in claimed)
                if merged is not None:
                    self._segments = merging.take_the_place(merged, claimed, self._segments) or self._segments

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
                        there = self._segments
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

    def _release(self, claimed: tuple[Segment, ...]) -> None:
        with self._lock:
            self._busy.difference_update(segment.index for segment in claimed)

    def finish_merging(self) -> None:
        """Wait until no merge is under way."""
        while True:
            with self._lock:
                errand = self._merging
            if errand is None:
                return
            errand.wait()
