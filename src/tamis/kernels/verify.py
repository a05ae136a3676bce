"""Whether the predicates of candidates hold: each comparison is two integer comparisons on a code.

Constants of a column have even codes in their order, a value between two constants the odd code past the lower one.
So `low <= code <= high` decides every comparison exactly, whatever the constant was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.associations import Groups
from tamis.kernels.jit import kernel

__all__ = [
    "HEAD_BITS",
    "INSIDE",
    "OUTSIDE",
    "TOLD",
    "Bound",
    "Candidates",
    "Encoded",
    "Tests",
    "bind",
    "holds",
    "unbind",
    "verify_groups",
]

INSIDE, OUTSIDE, TOLD = 0, 1, 2
"""Some code inside the interval; some code outside it; `told` says it."""


class Tests(NamedTuple):
    """Per predicate id: `4 * column + mode`, and the ends of its interval. Few arrays, as each look at one may miss the
    cache."""

    modes: npt.NDArray[np.int32]
    spans: npt.NDArray[np.int64]


class Bound(NamedTuple):
    """An event while it is matched: column c has `codes[firsts[c] : lasts[c]]`. Scratch, all zero between events."""

    firsts: npt.NDArray[np.int32]
    lasts: npt.NDArray[np.int32]
    told: npt.NDArray[np.bool_]


class Encoded(NamedTuple):
    """An event as codes. The i-th column it has is `columns[i]` with `codes[starts[i] : starts[i + 1]]`."""

    columns: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int64]
    told: npt.NDArray[np.int32]


class Candidates(NamedTuple):
    """Row r still has to pass `size` predicates from `pids[start]` on; `heads[r]` is `start << HEAD_BITS | size`."""

    heads: npt.NDArray[np.int64]
    pids: npt.NDArray[np.int32]


HEAD_BITS = 20
"""Room for a million predicates in a conjunction. One array instead of two is one cache miss less per candidate."""


@kernel
def bind(event: Encoded, bound: Bound) -> None:
    for i in range(len(event.columns)):
        bound.firsts[event.columns[i]] = event.starts[i]
        bound.lasts[event.columns[i]] = event.starts[i + 1]
    for pid in event.told:
        bound.told[pid] = True


@kernel
def unbind(event: Encoded, bound: Bound) -> None:
    for column in event.columns:
        bound.firsts[column] = 0
        bound.lasts[column] = 0
    for pid in event.told:
        bound.told[pid] = False


@kernel
def holds(pid: int, tests: Tests, codes: npt.NDArray[np.int64], bound: Bound) -> bool:
    mode = tests.modes[pid] & 3
    if mode == TOLD:
        return bool(bound.told[pid])
    column = tests.modes[pid] >> 2
    for at in range(bound.firsts[column], bound.lasts[column]):
        inside = tests.spans[pid, 0] <= codes[at] <= tests.spans[pid, 1]
        if inside == (mode == INSIDE):
            return True
    return False


@kernel
def _passes(
    row: int, candidates: Candidates, tests: Tests, codes: npt.NDArray[np.int64], bound: Bound
) -> tuple[bool, int]:
    """Whether the row's predicates hold, and how many were evaluated to know."""
    first, size = candidates.heads[row] >> HEAD_BITS, candidates.heads[row] & ((1 << HEAD_BITS) - 1)
    for k in range(size):
        if not holds(candidates.pids[first + k], tests, codes, bound):
            return False, k + 1
    return True, size


@kernel
def verify_groups(
    chosen: npt.NDArray[np.int32],
    groups: Groups,
    candidates: Candidates,
    tests: Tests,
    event: Encoded,
    bound: Bound,
    out: npt.NDArray[np.int32],
) -> tuple[int, int, int]:
    """Write to `out` the members of the chosen groups whose predicates hold.

    Returns how many there are, how many members were verified and how many predicates were evaluated for it.
    """
    found, verified, evaluated = 0, 0, 0
    bind(event, bound)
    for i in range(len(chosen)):
        start = groups.starts[chosen[i]]
        stop = start + groups.lengths[chosen[i]]
        verified += stop - start
        for at in range(start, stop):
            passed, tried = _passes(groups.members[at], candidates, tests, event.codes, bound)
            out[found] = groups.members[at]
            found += passed
            evaluated += tried
    unbind(event, bound)
    return found, verified, evaluated


@kernel
def verify_rows(
    rows: npt.NDArray[np.int32],
    candidates: Candidates,
    tests: Tests,
    event: Encoded,
    bound: Bound,
    out: npt.NDArray[np.int32],
) -> tuple[int, int]:
    """Write to `out` those of the rows whose predicates hold; their number, and that of predicates evaluated."""
    found, evaluated = 0, 0
    bind(event, bound)
    for row in rows:
        passed, tried = _passes(row, candidates, tests, event.codes, bound)
        out[found] = row
        found += passed
        evaluated += tried
    unbind(event, bound)
    return found, evaluated
