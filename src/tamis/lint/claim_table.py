"""Claims as columns, and the distinct conjunctions that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.covering import Claims
from tamis.kernels.numbering import new_table
from tamis.kernels.segments.conjunctions import Intervals, number_conjunctions

__all__ = ["ClaimTable", "distinct"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class ClaimTable(NamedTuple):
    """One row per claim, and as many intervals as its `size` says."""

    conjunction: Longs
    dim: Longs
    asks: npt.NDArray[np.bool_]
    nth: Longs
    """Which it is of the conjunction's claims along the dimension."""
    size: Longs
    low: Ints
    high: Ints

    @classmethod
    def joined(cls, tables: Sequence[ClaimTable]) -> ClaimTable:
        return cls(*(np.concatenate(columns) for columns in zip(*tables, strict=True)))

    def take(self, chosen: Longs) -> ClaimTable:
        """Some claims with their intervals, in this order."""
        size = self.size[chosen]
        first = (np.cumsum(self.size) - self.size)[chosen]
        inside = np.arange(size.sum()) + np.repeat(first - (np.cumsum(size) - size), size)
        rows = (self.conjunction[chosen], self.dim[chosen], self.asks[chosen], self.nth[chosen])
        return ClaimTable(*rows, size, self.low[inside], self.high[inside])

    def ordered(self) -> ClaimTable:
        """By conjunction, dimension and place along it."""
        return self.take(np.lexsort((self.nth, ~self.asks, self.dim, self.conjunction)))


def distinct(table: ClaimTable, count: int, dimensions: int, cells: Longs) -> tuple[Claims, Longs]:
    """The different ones of `count` conjunctions, and the number of each; -1 of those without a claim. A column has so
    many `dimensions`, and so many cells."""
    table = table.ordered()
    having, start = np.unique(table.conjunction, return_index=True)
    most = int(table.nth.max(initial=0)) + 1
    _, slot = np.unique((2 * table.dim + ~table.asks) * most + table.nth, return_inverse=True)
    ends = np.r_[0, np.cumsum(table.size)]
    intervals = Intervals(
        ends[np.r_[start, len(table.dim)]], np.repeat(slot, table.size).astype(np.int32), table.low, table.high
    )
    numbers, first = np.empty(len(having), np.int32), np.empty(len(having), np.int32)
    found = number_conjunctions(intervals, new_table(len(having), np.uint64), numbers, first)
    of_all = np.full(count, -1, np.int64)
    of_all[having] = numbers
    kept = np.isin(table.conjunction, having[first[:found]])  # first ones come in the order of their numbers
    return _claims(table.take(np.nonzero(kept)[0]), dimensions, cells), of_all


def _claims(table: ClaimTable, dimensions: int, cells: Longs) -> Claims:
    """The same as kernels want it; the conjunctions are numbered in their order."""
    _, start = np.unique(table.conjunction, return_index=True)
    first = np.r_[0, np.cumsum(table.size)]
    sizes = np.r_[0, np.cumsum(table.high.astype(np.int64) - table.low + 1)]
    narrow = np.where(table.asks, 1 + cells[table.dim // dimensions] - (sizes[first[1:]] - sizes[first[:-1]]), 0)
    starts = np.r_[start, len(table.dim)]
    narrows = np.r_[0, np.cumsum(narrow)]
    return Claims(
        starts, table.dim.astype(np.int32), table.asks, first, table.low, table.high, np.diff(narrows[starts])
    )
