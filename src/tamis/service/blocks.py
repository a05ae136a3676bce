"""Blocks: for each position of a run, the sorted handles of the subscriptions that matched.

Kept as the number of matches at each position and the gaps between handles, in byte planes, packed. A position that is
no event has none. For events 7 and 8 with the handles [3, 5] and [5], the counts are [2, 1] and the gaps [3, 2, 5].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.store.derived import BlockRow
from tamis.store.packing import pack, planes, unpack, unplaned

__all__ = ["Block"]

Longs = npt.NDArray[np.int64]

_HANDLE_BITS = 38
"""Of a handle; a block has fewer than 2**24 positions."""


@dataclass(frozen=True)
class Block:
    """The handles at position `first + i` are `handles[offsets[i] : offsets[i + 1]]`."""

    first: int
    last: int
    offsets: Longs
    handles: Longs

    @classmethod
    def of(cls, first: int, last: int, places: Longs, handles: Longs) -> Block:
        """From matches in any order: the places behind `first`, and the handles."""
        keys = np.sort((places << _HANDLE_BITS) | handles)  # many times as quick as sorting by two columns
        counts = np.bincount(places, minlength=last - first + 1)
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        return cls(first, last, offsets, keys & ((1 << _HANDLE_BITS) - 1))

    def at(self, position: int) -> Longs:
        place = position - self.first
        return self.handles[self.offsets[place] : self.offsets[place + 1]]

    def counts(self, first: int, last: int) -> Longs:
        """The number of matches at these positions, all of which are in here."""
        return np.diff(self.offsets)[first - self.first : last - self.first + 1]

    @property
    def nbytes(self) -> int:
        return self.offsets.nbytes + self.handles.nbytes

    def packed(self) -> BlockRow:
        gaps = self.handles.copy()
        gaps[1:] -= self.handles[:-1]
        starts = self.offsets[:-1][np.diff(self.offsets) > 0]
        gaps[starts] = self.handles[starts]
        content = planes(np.diff(self.offsets)) + planes(gaps)
        return BlockRow(self.first, self.last, len(gaps), len(content), pack(content))

    @classmethod
    def unpacked(cls, row: BlockRow) -> Block:
        content = memoryview(unpack(row.data, row.size))
        counts, used = unplaned(content, row.last - row.first + 1)
        gaps, _ = unplaned(content[used:], row.matches)
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        handles = np.cumsum(gaps)
        starts = offsets[:-1][counts > 0]
        before = handles[starts] - gaps[starts]  # what the sum had when each event began
        handles -= np.repeat(before, counts[counts > 0])
        return cls(row.first, row.last, offsets, handles)
