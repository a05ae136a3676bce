"""Counting satisfied predicates per row, three ways: over lists, over a byte matrix, over a bit matrix.

`left[row]` starts at the row's number of predicates and goes down by one for each that is satisfied; at zero the row
matches. It is scratch that every kernel leaves as it found it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.associations import Groups
from tamis.kernels.jit import kernel

__all__ = ["count_clusters", "count_lists"]


@kernel
def count_lists(
    satisfied: npt.NDArray[np.int32],
    groups: Groups,
    sizes: npt.NDArray[np.unsignedinteger],
    left: npt.NDArray[np.unsignedinteger],
    out: npt.NDArray[np.int32],
) -> tuple[int, int]:
    """Write the rows that match to `out`; return their number and how many counters were bumped."""
    found = 0
    bumped = 0
    for i in range(len(satisfied)):
        start = groups.starts[satisfied[i]]
        stop = start + groups.lengths[satisfied[i]]
        bumped += stop - start
        for at in range(start, stop):
            row = groups.members[at]
            left[row] -= 1
            out[found] = row  # without a branch: overwritten unless the row is done
            found += left[row] == 0
    _reset(satisfied, groups, sizes, left, bumped)
    return found, bumped


@kernel
def _reset(
    satisfied: npt.NDArray[np.int32],
    groups: Groups,
    sizes: npt.NDArray[np.unsignedinteger],
    left: npt.NDArray[np.unsignedinteger],
    bumped: int,
) -> None:
    """Counters back to their start: one by one if few were bumped, else all at once, which is a plain copy."""
    if 4 * bumped > len(left):
        left[:] = sizes
        return
    for i in range(len(satisfied)):
        start = groups.starts[satisfied[i]]
        for at in range(start, start + groups.lengths[satisfied[i]]):
            row = groups.members[at]
            left[row] = sizes[row]


@kernel
def count_clusters(
    satisfied: npt.NDArray[np.int32],
    groups: Groups,
    sizes: npt.NDArray[np.unsignedinteger],
    left: npt.NDArray[np.unsignedinteger],
    partial: npt.NDArray[np.int32],
    clusters: Groups,
    alone: npt.NDArray[np.bool_],
    out: npt.NDArray[np.int32],
) -> tuple[int, int]:
    """As `count_lists`, but a row matches only if it stands `alone` or in one of the `partial` clusters."""
    found = 0
    bumped = 0
    for i in range(len(satisfied)):
        start = groups.starts[satisfied[i]]
        stop = start + groups.lengths[satisfied[i]]
        bumped += stop - start
        for at in range(start, stop):
            row = groups.members[at]
            left[row] -= 1
            out[found] = row
            found += (left[row] == 0) & alone[row]
    for i in range(len(partial)):
        start = clusters.starts[partial[i]]
        for at in range(start, start + clusters.lengths[partial[i]]):
            out[found] = clusters.members[at]
            found += left[clusters.members[at]] == 0
    _reset(satisfied, groups, sizes, left, bumped)
    return found, bumped
