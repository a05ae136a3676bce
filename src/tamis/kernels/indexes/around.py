"""Intervals around a number, as far as doubles can tell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel

__all__ = ["around"]

Int32s = npt.NDArray[np.int32]
Doubles = npt.NDArray[np.float64]


def around(ends: Doubles, ids: Int32s, number: float) -> tuple[Int32s, Int32s]:
    """The ids of the intervals from `ends[0, i]` to `ends[1, i]` that have the number within, and the places of those
    that have it for an end, or have an end that is no number: to be looked at again."""
    sure, doubtful = np.empty(len(ids), np.int32), np.empty(len(ids), np.int32)
    found, doubts = _sort_out(ends, ids, number, sure, doubtful)
    return sure[:found], doubtful[:doubts]


@kernel
def _sort_out(ends: Doubles, ids: Int32s, number: float, sure: Int32s, doubtful: Int32s) -> tuple[int, int]:
    """Fill the two arrays; how far each is filled."""
    found, doubts = 0, 0
    for at in range(len(ids)):
        low, high = ends[0, at], ends[1, at]
        within = low < number and number < high
        without = number < low or high < number
        sure[found] = ids[at]
        found += within
        doubtful[doubts] = at
        doubts += not within and not without
    return found, doubts
