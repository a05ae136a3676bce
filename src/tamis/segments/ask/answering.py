"""A batch against the segments of a snapshot: rows found, each subscription once, doubtful ones looked at again."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tamis.batches.batch import Batch
from tamis.kernels.segments.rows import once
from tamis.matchers.base import Rows
from tamis.matches import Matches
from tamis.model import Schema
from tamis.segments.ask.doubts import Doubts
from tamis.segments.ask.encoding import encode_batch
from tamis.segments.ask.listing import Work, count_matches, list_matches
from tamis.segments.ask.segment_ids import SegmentIds
from tamis.segments.ids import IdIndex
from tamis.segments.segment import Segment

__all__ = ["Answering"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class Answering:
    """Answers under one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._doubts: WeakKeyDictionary[IdIndex, Doubts] = WeakKeyDictionary()

    def count(self, segments: tuple[Segment, ...], batch: Batch, work: Work) -> Longs:
        """How many subscriptions each event satisfies; listed only where rows and subscriptions differ."""
        layouts = [segment.layout for segment in segments]
        if any(layout.canon is not None or layout.columns.truths for layout in layouts):
            return self.answer(segments, batch, 1, work).counts()
        encoded = [encode_batch(layout.columns, batch, self._schema)[0] for layout in layouts]
        return count_matches(layouts, encoded, batch.size, work)

    def answer(self, segments: tuple[Segment, ...], batch: Batch, threads: int, work: Work) -> Matches:
        """The rows that each event satisfies, as codes: those of the first segment are as they are."""
        padded = [-(-segment.rows // 64) * 64 for segment in segments]
        bases = [0, *np.cumsum(padded).tolist()][: len(segments)]
        pairs = [encode_batch(segment.layout.columns, batch, self._schema) for segment in segments]
        offsets, found = list_matches(
            [s.layout for s in segments], [events for events, _ in pairs], batch.size, bases, work, threads
        )
        for segment, base in zip(segments, bases, strict=True):
            if segment.layout.canon is not None:
                seen = np.zeros(segment.rows, np.int32)
                found = found[: once(segment.layout.canon, segment.layout.places.alive, base, offsets, found, seen)]
        rows = Rows(offsets, found)
        doubtful = [doubts for _, doubts in pairs]
        if any(doubts.any() for doubts in doubtful):
            rows = self._look_again(segments, bases, batch, doubtful, rows)
        return Matches(rows, SegmentIds(segments, bases))

    def _look_again(
        self, segments: Sequence[Segment], bases: list[int], batch: Batch, doubtful: list[npt.NDArray[np.bool_]],
        answer: Rows[Ints],
    ) -> Rows[Ints]:  # fmt: skip
        """Ask again about subscriptions that ask more of attributes they compare, where an event has several values."""
        rows = answer.items
        keep = np.ones(len(rows), np.bool_)
        events = np.repeat(np.arange(batch.size), answer.counts())
        for base, segment, doubts in zip(bases, segments, doubtful, strict=True):
            places = np.flatnonzero(doubts[events] & (rows >= base) & (rows < base + segment.rows))
            look = self._doubts_of(segment)
            places = places[look.rows[rows[places] - base]]
            places = places[np.argsort(rows[places], kind="stable")]  # a row's text is read once
            row, forms = -1, []
            for at, event in zip(places.tolist(), events[places].tolist(), strict=True):
                if rows[at] - base != row:
                    row = int(rows[at]) - base
                    forms = look.forms(segment, row)
                keep[at] = look.holds(forms, batch.event(event))
        kept = np.r_[0, np.cumsum(keep)]
        return Rows(kept[answer.offsets].astype(np.int64), rows[keep])

    def _doubts_of(self, segment: Segment) -> Doubts:
        found = self._doubts.get(segment.index)
        if found is None:
            found = self._doubts[segment.index] = Doubts(self._schema, segment)
        return found
