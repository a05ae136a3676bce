"""Counting with a matrix (ToPSS §3.3): predicates × subscriptions, one cell per association, as bytes or as bits.

`counting-matrix` is the regular form, a byte per cell: the lines of the satisfied predicates are added up and compared
with the vector of counts. `counting-bits` packs the cells: a predicate bit vector says which lines to add, the hit
vector and the count vector are cut into bit planes, and 64 subscriptions are counted in one word.

We deviate in the bit form's hit vector, bytes in the paper: as planes it is added to and compared word by word, without
taking the bits apart. Columns are counted a stretch at a time, so that the counters stay in the first cache.
The matrices are bounded: past `most_bytes` adding raises LimitError.

Cost: match O(satisfied predicates × subscriptions), divided by 64 for bits; add and remove O(predicates of the
subscription); memory O(distinct predicates × subscriptions).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.errors import LimitError
from tamis.kernels.counting import count_bits, count_bytes, in_order, set_bits
from tamis.matchers.algorithm import CountingAlgorithm
from tamis.matchers.arrays import Ids, Scratches
from tamis.matchers.batches import Batch
from tamis.model import Event, Schema

__all__ = ["CountingBits", "CountingMatrix"]

_MOST_BYTES = 4 << 30
_STRETCH_BYTES, _STRETCH_WORDS = 8192, 512
"""Columns counted at a time: 8 KB of byte counters, or 4 KB per plane of bits."""


class _Scratch(NamedTuple):
    hits: npt.NDArray[Any]
    vector: npt.NDArray[np.uint64]
    out: Ids


class _Matrix(CountingAlgorithm):
    """What both forms share: a matrix that grows along both sides, within a bound."""

    def __init__(self, schema: Schema, index: str | None = None, most_bytes: int = _MOST_BYTES) -> None:
        super().__init__(schema, index)
        self._most_bytes = most_bytes
        self._scratches = Scratches(self._scratch)

    @abstractmethod
    def _scratch(self) -> _Scratch: ...

    def _room(self, matrix: npt.NDArray[Any], columns: int) -> tuple[int, int]:
        """A shape with room for the roster; the matrix' own if it has it already."""
        lines = self._roster.predicate_count
        shape = tuple(
            have if have >= need else min(need + need // 2, need + 65_536)
            for have, need in zip(matrix.shape, (lines, columns), strict=True)
        )
        needed = lines * columns * matrix.itemsize
        if needed > self._most_bytes:
            raise LimitError(
                f"expected a matrix of at most {self._most_bytes:,} bytes, found {lines:,} predicates and "
                f"{self._roster.row_count:,} conjunctions, which need {needed:,}: use counting-lists",
                self._most_bytes,
                needed,
            )
        return shape[0], shape[1]

    def _bytes(self) -> int:
        return self._front.bytes_used()


class CountingMatrix(_Matrix):
    """A byte per association."""

    def __init__(self, schema: Schema, index: str | None = None, most_bytes: int = _MOST_BYTES) -> None:
        super().__init__(schema, index, most_bytes)
        self._matrix = np.zeros((0, 0), np.uint8)
        self._counts = np.zeros(0, np.uint8)

    def _scratch(self) -> _Scratch:
        vector = np.zeros((self._matrix.shape[0] + 63) // 64, np.uint64)
        return _Scratch(np.zeros(_STRETCH_BYTES, np.uint8), vector, np.empty(self._matrix.shape[1] + 1, np.int32))

    def _join(self, batch: Batch) -> None:
        shape = self._room(self._matrix, self._roster.row_count)
        if shape != self._matrix.shape:
            self._matrix = _enlarged(self._matrix, shape)
            self._counts = np.concatenate([self._counts, np.zeros(shape[1] - len(self._counts), np.uint8)])
            self._scratches.discard()
        self._matrix[batch.pids, batch.members] = 1
        self._counts[batch.rows] = batch.sizes.astype(np.uint8)

    def _leave(self, batch: Batch) -> None:
        self._matrix[batch.pids, batch.members] = 0
        self._counts[batch.rows] = 0

    def _count(self, satisfied: Ids) -> Ids:
        scratch = self._scratches.borrow()
        ordered = in_order(satisfied, scratch.vector)
        stop = self._roster.row_count
        found = count_bytes(ordered, self._matrix, self._counts[:stop], scratch.hits, scratch.out)
        rows = scratch.out[:found].copy()
        self._scratches.give_back(scratch)
        self._work.counters_bumped += len(ordered) * stop
        return rows

    def _find(self, event: Event) -> Ids:
        rows = super()._find(event)
        return self._roster.verified(rows, self._roster.sizes[rows] > 255, event, self._work)

    def _bytes(self) -> int:
        return super()._bytes() + self._matrix.nbytes + self._counts.nbytes

    def _check(self) -> None:
        super()._check()
        for rows in self._roster.subscriptions.values():
            for row in rows:
                line = np.flatnonzero(self._matrix[:, row])
                assert set(line) == set(self._roster.pids_of(row)), f"column {row} has other predicates than its row"
        assert self._matrix.sum() == self._roster.sizes[self._live()].sum(), "a free column is not empty"

    def _live(self) -> list[int]:
        return [row for rows in self._roster.subscriptions.values() for row in rows]


class CountingBits(_Matrix):
    """A bit per association, counted 64 at a time."""

    def __init__(self, schema: Schema, index: str | None = None, most_bytes: int = _MOST_BYTES) -> None:
        super().__init__(schema, index, most_bytes)
        self._matrix = np.zeros((0, 0), np.uint64)
        self._counts = np.zeros((1, 0), np.uint64)

    def _scratch(self) -> _Scratch:
        vector = np.zeros((self._matrix.shape[0] + 63) // 64, np.uint64)
        hits = np.zeros((len(self._counts) + 1, _STRETCH_WORDS), np.uint64)
        return _Scratch(hits, vector, np.empty(64 * self._matrix.shape[1] + 1, np.int32))

    def _join(self, batch: Batch) -> None:
        shape = self._room(self._matrix, (self._roster.row_count + 63) // 64)
        planes = max(len(self._counts), int(batch.sizes.max(initial=0)).bit_length())
        if shape != self._matrix.shape or planes != len(self._counts):
            self._matrix = _enlarged(self._matrix, shape)
            self._counts = _enlarged(self._counts, (planes, shape[1]))
            self._scratches.discard()
        set_bits(self._matrix, batch.pids, batch.members, True)
        self._count_to(batch, True)

    def _leave(self, batch: Batch) -> None:
        set_bits(self._matrix, batch.pids, batch.members, False)
        self._count_to(batch, False)

    def _count_to(self, batch: Batch, on: bool) -> None:
        """Write each row's number of predicates into the planes, or take it out."""
        for plane in range(len(self._counts)):
            rows = batch.rows[(batch.sizes >> plane) & 1 == 1]
            set_bits(self._counts, np.full(len(rows), plane, np.int32), rows, on)

    def _count(self, satisfied: Ids) -> Ids:
        scratch = self._scratches.borrow()
        ordered = in_order(satisfied, scratch.vector)
        words = (self._roster.row_count + 63) // 64
        found = count_bits(ordered, self._matrix, self._counts[:, :words], scratch.hits, scratch.out)
        rows = scratch.out[:found].copy()
        self._scratches.give_back(scratch)
        self._work.counters_bumped += len(ordered) * words
        return rows

    def _bytes(self) -> int:
        return super()._bytes() + self._matrix.nbytes + self._counts.nbytes

    def _check(self) -> None:
        super()._check()
        for rows in self._roster.subscriptions.values():
            for row in rows:
                word, bit = divmod(row, 64)
                line = np.flatnonzero((self._matrix[:, word] >> np.uint64(bit)) & np.uint64(1))
                assert set(line) == set(self._roster.pids_of(row)), f"column {row} has other predicates than its row"
                planes = ((self._counts[:, word] >> np.uint64(bit)) & np.uint64(1)).tolist()
                count = sum(one << plane for plane, one in enumerate(planes))
                assert count == self._roster.sizes[row], f"column {row} counts to {count}"


def _enlarged(matrix: npt.NDArray[Any], shape: tuple[int, int]) -> npt.NDArray[Any]:
    larger = np.zeros(shape, matrix.dtype)
    larger[: matrix.shape[0], : matrix.shape[1]] = matrix
    return larger
