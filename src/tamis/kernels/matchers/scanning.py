"""Scan the predicates of chosen operations one by one, and count those that hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel
from tamis.kernels.matchers.groups import Groups
from tamis.kernels.matchers.verifying import Bound, Encoded, TestMode, Tests, bind, unbind

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
    modes, spans, codes = tests.modes, tests.spans, event.codes
    firsts, lasts, told = bound.firsts, bound.lasts, bound.told
    starts, lengths, members, slots = groups.starts, groups.lengths, groups.members, groups.slots
    bind(event, bound)
    for operation in operations:
        start = starts[operation]
        stop = start + lengths[operation]
        evaluated += stop - start
        for at in range(start, stop):
            pid = slot_pids[slots[at]]  # from here to the test, `holds` written out: a call takes five times as long
            mode, column = modes[pid] & 3, modes[pid] >> 2
            passed = mode == TestMode.TOLD and told[pid]
            if mode != TestMode.TOLD:
                for k in range(firsts[column], lasts[column]):
                    inside = (spans[pid, 0] <= codes[k]) & (codes[k] <= spans[pid, 1])
                    passed |= inside == (mode == TestMode.INSIDE)
            if passed:
                row = members[at]
                bumped += 1
                left[row] -= 1
                out[found] = row
                found += left[row] == 0
    for operation in operations:
        start = starts[operation]
        for at in range(start, start + lengths[operation]):
            left[members[at]] = sizes[members[at]]
    unbind(event, bound)
    return found, evaluated, bumped
