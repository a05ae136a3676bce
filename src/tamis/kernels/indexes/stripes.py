"""Copying ranges of cells out of a table: cells are grouped in stripes, and a stripe's ids lie side by side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.gather import copy
from tamis.kernels.jit import allocating, kernel

__all__ = ["STRIPE", "gather_cells"]

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

STRIPE = 64
"""Cells in a stripe."""


@allocating
def gather_cells(arena: Int32s, base: Int64s, total: Int32s, ends: Int32s, ranges: Int64s) -> Int32s:
    """The ids of the cells `ranges[i, 0] .. ranges[i, 1] - 1`.

    Stripe s is `arena[base[s] : base[s] + total[s]]`; within it, cell c ends at `ends[c]`. The first pass counts. In
    the second, stripes that follow one another in the arena, as all do when freshly packed, are copied as one run.
    """
    size = 0
    for row in range(ranges.shape[0]):
        size += _count(total, ends, ranges[row, 0], ranges[row, 1])
    out = np.empty(size, dtype=np.int32)
    at, first, last = np.int64(0), np.int64(0), np.int64(0)
    for row in range(ranges.shape[0]):
        cell, stop = ranges[row, 0], ranges[row, 1]
        while cell < stop:
            stripe = cell // STRIPE
            following = (stripe + 1) * STRIPE
            low = np.int64(ends[cell - 1]) if cell % STRIPE else np.int64(0)
            high = np.int64(total[stripe]) if following <= stop else np.int64(ends[stop - 1])
            if base[stripe] + low != last:
                copy(arena[first:last], out[at : at + last - first])
                at += last - first
                first = base[stripe] + low
            last = base[stripe] + high
            cell = following
    copy(arena[first:last], out[at:size])
    return out


@kernel
def _count(total: Int32s, ends: Int32s, cell: int, stop: int) -> int:
    """How many ids the cells from one up to another have."""
    if cell >= stop:
        return 0
    first, last = cell // STRIPE, (stop - 1) // STRIPE
    size = np.int64(ends[stop - 1]) - (np.int64(ends[cell - 1]) if cell % STRIPE else 0)
    for stripe in range(first, last):
        size += total[stripe]
    return int(size)
