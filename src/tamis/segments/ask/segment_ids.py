"""The ids behind an answer of several segments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.matches import Codes, arrow_ids
from tamis.model import SubscriptionId
from tamis.segments.ids import IdColumn
from tamis.segments.segment import Segment

__all__ = ["SegmentIds"]

_PLAIN_STRING_BYTES = 1 << 30
"""Columns of ids up to this size are ordinary Arrow strings, as users expect."""


class SegmentIds:
    """The ids of several segments under one range of codes: row r of segment s is `bases[s] + r`."""

    def __init__(self, segments: Sequence[Segment], bases: list[int]) -> None:
        self._segments = segments
        self._bases = bases

    def __len__(self) -> int:
        """One more than the last code; between two segments a few codes stand for nobody."""
        return self._bases[-1] + self._segments[-1].rows if self._segments else 0

    def __getitem__(self, code: int) -> SubscriptionId:
        if not 0 <= code < len(self):
            raise IndexError(code)
        at = bisect_right(self._bases, code) - 1
        return self._segments[at].ids[int(code) - self._bases[at]]

    def listed(self, codes: Codes) -> list[SubscriptionId]:
        """The ids of many codes; what it costs grows with their number, not with that of all ids."""
        of = self._segments_of(codes)
        if len(of) and (of == of[0]).all():
            return self._segments[of[0]].ids.at(codes - self._bases[of[0]])
        return self._take(codes, of).listed() if len(of) else []

    def column(self, codes: Codes) -> pa.Array:
        """The ids of many codes, in Arrow."""
        if not len(codes):
            return arrow_ids([])
        if len(self._segments) == 1:
            ids = self._segments[0].ids
            found = IdColumn(ids.array.take(pa.array(codes)), ids.marked)
        else:
            found = self._take(codes, self._segments_of(codes))
        if found.marked:
            return arrow_ids(found.listed())
        fits = pa.types.is_large_string(found.array.type) and found.array.nbytes < _PLAIN_STRING_BYTES
        return found.array.cast(pa.string()) if fits else found.array

    def _segments_of(self, codes: Codes) -> npt.NDArray[np.int16]:
        """Short numbers, which are put in order without comparing them."""
        return (np.searchsorted(self._bases, codes, side="right") - 1).astype(np.int16)

    def _take(self, codes: Codes, of: npt.NDArray[np.int16]) -> IdColumn:
        """Segment by segment, then put in order; `of` is the segment of each code."""
        order = np.argsort(of, kind="stable")
        ends = np.searchsorted(of[order], np.arange(len(self._segments) + 1))
        pieces = [
            segment.ids.take(codes[order[first:last]].astype(np.int64) - base)
            for segment, base, first, last in zip(self._segments, self._bases, ends, ends[1:], strict=False)
            if first < last
        ]
        if len(pieces) == 1:
            return pieces[0]
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return IdColumn.concat(pieces).take(places)
