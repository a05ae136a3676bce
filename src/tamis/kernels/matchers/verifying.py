"""Whether the predicates of candidates hold: each comparison is two integer comparisons on a code.

Constants of a column have even codes in their order, a value between two constants the odd code past the lower one.
So `low <= code <= high` decides every comparison exactly, whatever the constant was.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel
from tamis.kernels.matchers.groups import Groups

__all__ = [
    "HEAD_BITS",
    "Bound",
    "Candidates",
    "Encoded",
    "TestMode",
    "Tests",
    "bind",
    "holds",
    "unbind",
    "verify_groups",
    "verify_rows",
]


class TestMode(IntEnum):
    """How a predicate is decided. It fits two bits."""

    INSIDE = 0  # some code inside the interval
    OUTSIDE = 1  # some code outside it
    TOLD = 2  # by `Bound.told`


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
def holds(
    pid: int,
    modes: npt.NDArray[np.int32],
    spans: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int32],
    lasts: npt.NDArray[np.int32],
    told: npt.NDArray[np.bool_],
) -> bool:
    """Whether a predicate holds of the bound event.

    The arrays come one by one: taking them out of their tuples for every predicate counts references, 200 ns each.
    """
    mode = modes[pid] & 3
    column = modes[pid] >> 2
    found = mode == TestMode.TOLD and told[pid]
    if mode != TestMode.TOLD:
        for at in range(firsts[column], lasts[column]):
            inside = (spans[pid, 0] <= codes[at]) & (codes[at] <= spans[pid, 1])
            found |= inside == (mode == TestMode.INSIDE)
    return bool(found)


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
    verified = 0
    starts, lengths, members = groups.starts, groups.lengths, groups.members
    for i in range(len(chosen)):
        start = starts[chosen[i]]
        for at in range(start, start + lengths[chosen[i]]):
            out[verified] = members[at]
            verified += 1
    found, evaluated = verify_rows(out[:verified], candidates, tests, event, bound, out)
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
    """Write to `out`, which may be `rows` itself, those whose predicates hold; their number, and that of predicates
    evaluated."""
    found, evaluated = 0, 0
    heads, pids, modes, spans = candidates.heads, candidates.pids, tests.modes, tests.spans
    codes, firsts, lasts, told = event.codes, bound.firsts, bound.lasts, bound.told
    bind(event, bound)
    for i in range(len(rows)):
        row = rows[i]
        first, size = heads[row] >> HEAD_BITS, heads[row] & ((1 << HEAD_BITS) - 1)
        passed = True
        for k in range(first, first + size):
            evaluated += 1
            pid = pids[k]  # from here to the test, `holds` written out: a call would take five times as long
            mode, column = modes[pid] & 3, modes[pid] >> 2
            passed = mode == TestMode.TOLD and told[pid]
            if mode != TestMode.TOLD:
                for at in range(firsts[column], lasts[column]):
                    inside = (spans[pid, 0] <= codes[at]) & (codes[at] <= spans[pid, 1])
                    passed |= inside == (mode == TestMode.INSIDE)
            if not passed:
                break
        out[found] = row
        found += passed
    unbind(event, bound)
    return found, evaluated
