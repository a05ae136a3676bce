"""Counting with a bit matrix (ToPSS §3.3): the cells of the matrix are bits, and 64 subscriptions are counted at once.

A predicate bit vector says which lines to add; the hit vector and the count vector are cut into bit planes, plane p
with bit p of each subscription's number, so that adding a word is a ripple of carries and comparing an exclusive or.

We deviate in the hit vector, bytes in the paper: as planes it is added to and compared word by word, without taking the
bits apart. Columns are counted a stretch at a time, so that the planes stay in the first cache. The matrix is bounded:
past `most_bytes` adding raises LimitError.

Cost: match O(satisfied predicates × subscriptions / 64), add and remove O(predicates of the subscription), memory
O(distinct predicates × subscriptions / 8) bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.matchers.counting import count_bits, set_bits
from tamis.matchers.parts.arrays import Ints
from tamis.matchers.parts.changes import Change
from tamis.matchers.parts.matrices import MOST_BYTES, Matrix, Scratch, enlarged
from tamis.model import Schema

__all__ = ["CountingBits"]

_STRETCH = 512
"""Words counted at a time: 4 KB per plane."""


class CountingBits(Matrix):
    """A bit per association, counted 64 at a time."""

    _width = 64

    def __init__(self, schema: Schema, index: str | None = None, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(schema, index, most_bytes)
        self._matrix = np.zeros((0, 0), np.uint64)
        self._counts = np.zeros((1, 0), np.uint64)

    def _hits(self) -> npt.NDArray[np.uint64]:
        return np.zeros((len(self._counts) + 1, _STRETCH), np.uint64)

    def _join(self, change: Change) -> None:
        shape = self._room()
        planes = max(len(self._counts), int(change.sizes.max(initial=0)).bit_length())
        if shape != self._matrix.shape or planes != len(self._counts):
            self._matrix = enlarged(self._matrix, shape)
            self._counts = enlarged(self._counts, (planes, shape[1]))
            self._scratches.discard()
        set_bits(self._matrix, change.pids, change.members, True)
        self._count_to(change, True)

    def _leave(self, change: Change) -> None:
        set_bits(self._matrix, change.pids, change.members, False)
        self._count_to(change, False)

    def _count_to(self, change: Change, on: bool) -> None:
        """Write each row's number of predicates into the planes, or take it out."""
        for plane in range(len(self._counts)):
            rows = change.rows[(change.sizes >> plane) & 1 == 1]
            set_bits(self._counts, np.full(len(rows), plane, np.int32), rows, on)

    def _add_up(self, ordered: Ints, columns: int, scratch: Scratch) -> int:
        return count_bits(ordered, self._matrix, self._counts[:, :columns], scratch.hits, scratch.out)

    def _line(self, row: int) -> Ints:
        return np.flatnonzero(_column(self._matrix, row)).astype(np.int32)

    def _check(self) -> None:
        super()._check()
        for rows in self._roster.subscriptions.values():
            for row in rows:
                count = sum(int(one) << plane for plane, one in enumerate(_column(self._counts, row)))
                assert count == self._roster.sizes[row], f"column {row} counts to {count}"


def _column(lines: npt.NDArray[np.uint64], row: int) -> npt.NDArray[np.uint64]:
    """The row's bit of each line."""
    word, bit = divmod(row, 64)
    return (lines[:, word] >> np.uint64(bit)) & np.uint64(1)
