"""Cells: a row of small sets of ids in a fixed order, of which any range is copied out in a few pieces.

64 cells make a stripe; the ids of a stripe lie side by side in the order of its cells, with some room behind them.
A full stripe moves to the arena's end with twice the room; the arena is packed again when it is full.

    cells    0: 5 9 | 1: | 2: 4        ids of stripe 0: 5 9 4 _ _        ends: 2 2 3

Adding and removing shift at most one stripe: O(1) for any number of cells, growing only with the ids per cell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.indexes.base import Ints
from tamis.kernels.indexes.stripes import STRIPE, gather_cells

__all__ = ["STRIPE", "Cells"]


class Cells:
    def __init__(self, size: int, cells: npt.NDArray[np.int64], ids: npt.NDArray[np.int64]) -> None:
        """`size` cells, a multiple of the stripe, where ids[i] lies in cells[i]."""
        upto = np.cumsum(np.bincount(cells, minlength=size)).reshape(-1, STRIPE)
        self._base: npt.NDArray[np.int64] = np.concatenate([[0], upto[:-1, -1]])
        self._ends = (upto - self._base[:, None]).astype(np.int32).ravel()
        self._total: Ints = self._ends[STRIPE - 1 :: STRIPE].copy()
        self._room = self._total.astype(np.int64)
        self._arena: Ints = ids[np.argsort(cells, kind="stable")].astype(np.int32)
        self._used = len(ids)

    def __len__(self) -> int:
        """The number of ids."""
        return int(self._total.sum())

    def at(self, cell: int) -> Ints:
        """A view of one cell's ids."""
        base, low = self._base[cell // STRIPE], self._ends[cell - 1] if cell % STRIPE else 0
        return self._arena[base + low : base + self._ends[cell]]

    def gather(self, ranges: list[tuple[int, int]]) -> Ints:
        return gather_cells(self._arena, self._base, self._total, self._ends, np.array(ranges, dtype=np.int64))

    def add(self, cell: int, id: int) -> None:
        stripe, last = cell // STRIPE, (cell // STRIPE + 1) * STRIPE
        total = int(self._total[stripe])
        if total == self._room[stripe]:
            self._move(stripe, total, 2 * total + 4)
        at, end = self._base[stripe] + self._ends[cell], self._base[stripe] + total
        self._arena[at + 1 : end + 1] = self._arena[at:end].copy()
        self._arena[at] = id
        self._ends[cell:last] += 1
        self._total[stripe] += 1

    def remove(self, cell: int, id: int) -> None:
        stripe, last = cell // STRIPE, (cell // STRIPE + 1) * STRIPE
        here = self.at(cell)
        at = self._base[stripe] + self._ends[cell] - len(here) + int(np.flatnonzero(here == id)[0])
        end = self._base[stripe] + self._total[stripe]
        self._arena[at : end - 1] = self._arena[at + 1 : end].copy()
        self._ends[cell:last] -= 1
        self._total[stripe] -= 1

    def _move(self, stripe: int, total: int, room: int) -> None:
        if self._used + room > len(self._arena):
            self._pack(room)
        base = self._base[stripe]
        self._arena[self._used : self._used + total] = self._arena[base : base + total]
        self._base[stripe], self._room[stripe] = self._used, room
        self._used += room

    def _pack(self, room: int) -> None:
        packed = self.gather([(0, len(self._ends))])
        self._arena = np.empty(2 * (len(packed) + room) + 16, dtype=np.int32)
        self._arena[: len(packed)] = packed
        self._room = self._total.astype(np.int64)
        self._base = np.cumsum(self._room) - self._room
        self._used = len(packed)

    def bytes_used(self) -> int:
        return self._arena.nbytes + self._base.nbytes + self._ends.nbytes + self._room.nbytes + self._total.nbytes

    def check(self) -> None:
        ends = self._ends.reshape(-1, STRIPE)
        assert np.all(np.diff(ends, axis=1, prepend=0) >= 0), "cells follow one another"
        assert np.array_equal(ends[:, -1], self._total), "totals are right"
        assert np.all(self._total <= self._room), "no stripe is fuller than its room"
        order = np.argsort(self._base, kind="stable")
        order = order[self._room[order] > 0]
        past = self._base[order] + self._room[order]
        assert np.all(past[:-1] <= self._base[order][1:]), "stripes do not overlap"
        assert self._used <= len(self._arena), "the arena holds all stripes"
