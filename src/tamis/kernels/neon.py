"""Scan the predicates of chosen operations one by one, and count those that hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.associations import Groups
from tamis.kernels.jit import kernel
from tamis.kernels.verify import Bound, Encoded, Tests, bind, holds, unbind

__all__ = ["scan_operations"]


@kernel
def scan_operations(
    operations: npt.NDArray[np.int32],
    groups: Groups,
    slot_pids: npt.NDArray[np.int32],
    tests: Tests,
    event: Encoded,
    bound: Bound,
    sizes: npt.NDArray[np.int32],
    left: npt.NDArray[np.int32],
    out: npt.NDArray[np.int32],
) -> tuple[int, int, int]:
    """Rows whose every predicate was found to hold, in `out`; their number, predicates evaluated, counters bumped.

    `left[row]` is scratch: it starts at `sizes[row]` and is put back.
    """
    found, evaluated, bumped = 0, 0, 0
    bind(event, bound)
    for operation in operations:
        start = groups.starts[operation]
        stop = start + groups.lengths[operation]
        evaluated += stop - start
        for at in range(start, stop):
            if holds(slot_pids[groups.slots[at]], tests, event.codes, bound):
                row = groups.members[at]
                bumped += 1
                left[row] -= 1
                out[found] = row
                found += left[row] == 0
    for operation in operations:
        start = groups.starts[operation]
        for at in range(start, start + groups.lengths[operation]):
            left[groups.members[at]] = sizes[groups.members[at]]
    unbind(event, bound)
    return found, evaluated, bumped
