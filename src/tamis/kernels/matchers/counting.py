"""Counting satisfied predicates per row, three ways: over lists, over a byte matrix, over a bit matrix.

`left[row]` starts at the row's number of predicates and goes down by one for each that is satisfied; at zero the row
matches. It is scratch that every kernel leaves as it found it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, inlined, kernel
from tamis.kernels.matchers.groups import Groups

__all__ = ["count_bits", "count_bytes", "count_clusters", "count_lists", "in_order", "set_bits"]


@inlined
def _count_down(
    satisfied: npt.NDArray[np.int32],
    groups: Groups,
    left: npt.NDArray[np.unsignedinteger],
    out: npt.NDArray[np.int32],
) -> tuple[int, int]:
    """Bump the counters of all rows in the lists; those that run out stand in `out`. How many, and how many bumps."""
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
    return found, bumped


@kernel
def count_lists(
    satisfied: npt.NDArray[np.int32],
    groups: Groups,
    sizes: npt.NDArray[np.unsignedinteger],
    left: npt.NDArray[np.unsignedinteger],
    out: npt.NDArray[np.int32],
) -> tuple[int, int]:
    """Write the rows that match to `out`; return their number and how many counters were bumped."""
    found, bumped = _count_down(satisfied, groups, left, out)
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
        for row in range(len(sizes)):
            left[row] = sizes[row]
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
    done, bumped = _count_down(satisfied, groups, left, out)
    found = 0
    for i in range(done):
        out[found] = out[i]
        found += alone[out[i]]
    for i in range(len(partial)):
        start = clusters.starts[partial[i]]
        for at in range(start, start + clusters.lengths[partial[i]]):
            out[found] = clusters.members[at]
            found += left[clusters.members[at]] == 0
    _reset(satisfied, groups, sizes, left, bumped)
    return found, bumped


@allocating
def in_order(satisfied: npt.NDArray[np.int32], vector: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """The satisfied predicates by way of the predicate bit vector: ascending, so that a matrix is read forwards.

    `vector` is scratch, one bit per predicate, zero between events.
    """
    for pid in satisfied:
        vector[pid >> 6] |= np.uint64(1) << np.uint64(pid & 63)
    ordered = np.empty(len(satisfied), np.int32)
    at = 0
    for word in range(len(vector)):
        if vector[word]:
            for bit in range(64):
                if (vector[word] >> np.uint64(bit)) & np.uint64(1):
                    ordered[at] = 64 * word + bit
                    at += 1
            vector[word] = 0
    return ordered[:at]


@kernel
def count_bytes(
    satisfied: npt.NDArray[np.int32],
    matrix: npt.NDArray[np.uint8],
    counts: npt.NDArray[np.uint8],
    hits: npt.NDArray[np.uint8],
    out: npt.NDArray[np.int32],
) -> int:
    """Add up the satisfied rows of the byte matrix, a stretch of columns at a time; `hits` is scratch for a stretch.

    Counters are modulo 256, as the paper's are: who has more predicates than that must look again.
    """
    found = 0
    for base in range(0, len(counts), len(hits)):
        width = min(len(hits), len(counts) - base)
        hits[:] = 0
        for i in range(len(satisfied)):
            line = matrix[satisfied[i], base : base + width]
            for k in range(width):
                hits[k] += line[k]
        for k in range(width):
            out[found] = base + k
            found += (hits[k] == counts[base + k]) & (hits[k] != 0)
    return found


@kernel
def count_bits(
    satisfied: npt.NDArray[np.int32],
    matrix: npt.NDArray[np.uint64],
    counts: npt.NDArray[np.uint64],
    hits: npt.NDArray[np.uint64],
    out: npt.NDArray[np.int32],
) -> int:
    """Count 64 columns in one word. Plane p of `hits` and of `counts` holds bit p of each column's number.

    Adding a word of the matrix to the planes is a ripple of carries; comparing with the count vector is an exclusive or
    per plane. `hits` has one plane more than `counts` as its carry, and is scratch for a stretch of words.
    """
    planes, words = counts.shape
    stretch = hits.shape[1]
    carry = hits[planes]
    found = 0
    for base in range(0, words, stretch):
        width = min(stretch, words - base)
        hits[:planes] = 0
        for i in range(len(satisfied)):
            line = matrix[satisfied[i], base : base + width]
            for k in range(width):
                carry[k] = line[k]
            for plane in range(planes):
                line = hits[plane]
                for k in range(width):
                    both = line[k] & carry[k]
                    line[k] ^= carry[k]
                    carry[k] = both
        for k in range(width):
            differ = np.uint64(0)
            some = np.uint64(0)
            for plane in range(planes):
                differ |= hits[plane, k] ^ counts[plane, base + k]
                some |= counts[plane, base + k]
            matched = ~differ & some
            if matched:
                found = _read_off(matched, 64 * (base + k), out, found)
    return found


@kernel
def _read_off(word: np.uint64, first: int, out: npt.NDArray[np.int32], found: int) -> int:
    for bit in range(64):
        out[found] = first + bit
        found += int((word >> np.uint64(bit)) & np.uint64(1))
    return found


@kernel
def set_bits(
    matrix: npt.NDArray[np.uint64], lines: npt.NDArray[np.int32], columns: npt.NDArray[np.int32], on: bool
) -> None:
    """Switch the bit of each (line, column)."""
    for i in range(len(lines)):
        bit = np.uint64(1) << np.uint64(columns[i] & 63)
        if on:
            matrix[lines[i], columns[i] >> 6] |= bit
        else:
            matrix[lines[i], columns[i] >> 6] &= ~bit
