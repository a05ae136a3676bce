"""`at least k of (…)`: the members that events have, counted for whoever asks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.bits import trailing_zeros
from tamis.kernels.jit import inlined, kernel

__all__ = ["Asked", "Dense", "count_dense", "count_thresholds"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


_AT_ONCE = 64
"""So many bytes are put back at once in the time that one takes somewhere among them."""


class Asked(NamedTuple):
    """Member m counts for the thresholds `of[start[m] : start[m + 1]]`; threshold t is reached at `least[t]`.

    A byte each: of twenty thousand thresholds the nearest cache has all.
    """

    start: Longs
    of: Ints
    least: Bytes


@inlined
def _count(asked: Asked, member: int, wanted: Bytes, found: Ints, total: int) -> int:
    """One more member of an event. Thresholds that are reached by it are written behind `total`, as far as there is
    room; the value is how many there are now."""
    for place in range(asked.start[member], asked.start[member + 1]):
        threshold = np.uint32(asked.of[place])  # unsigned, so that nothing looks for an index from behind
        left = wanted[threshold] - np.uint8(1)
        wanted[threshold] = left
        if left == 0:
            if total < found.shape[0]:
                found[total] = threshold
            total += 1
    return total


@inlined
def _sort(found: Ints, first: int, last: int) -> None:
    """The few of one event, in order."""
    for at in range(first + 1, last):
        one, place = found[at], at
        while place > first and found[place - 1] > one:
            found[place] = found[place - 1]
            place -= 1
        found[place] = one


@kernel
def count_thresholds(offsets: Longs, members: Longs, asked: Asked, wanted: Bytes, rows: Ints, found: Ints) -> int:
    """For each event, the thresholds that are reached; event i has the members `members[offsets[i] : offsets[i + 1]]`.

    `wanted` is scratch, a copy of `asked.least`, and is left so. The value is how many pairs there are, also where
    `rows` and `found` have no room for them. A byte of it may go below zero and round: no threshold has 256 members.
    """
    total = 0
    for event in range(offsets.shape[0] - 1):
        first, touched = total, 0
        for at in range(offsets[event], offsets[event + 1]):
            touched += asked.start[members[at] + 1] - asked.start[members[at]]
            total = _count(asked, members[at], wanted, found, total)
        room = min(total, rows.shape[0])
        if room - first <= 64:
            _sort(found, first, room)
        for at in range(first, room):
            rows[at] = event
        if touched > wanted.shape[0] // _AT_ONCE:
            for threshold in range(wanted.shape[0]):
                wanted[threshold] = asked.least[threshold]
            continue
        for at in range(offsets[event], offsets[event + 1]):
            for place in range(asked.start[members[at]], asked.start[members[at] + 1]):
                wanted[asked.of[place]] = asked.least[asked.of[place]]
    return total


class Dense(NamedTuple):
    """The same where a member counts for many, and once for each: 64 thresholds in a word, their counters in as many
    words as a counter has bits. A counter begins so far below a power of two that it overflows when its threshold is
    reached.

        at least 3 of …: two bits, first 1; a member makes it 2, another 3, the third 4, which is 0 and a carry
    """

    words: int  # of all thresholds, a bit each
    bits: Words  # per member, `words` of them: which it counts for
    begin: Words  # per bit of a counter, the lowest first: `words` of them
    state: Words  # scratch, as long as `begin`
    carry: Words  # scratch, `words` of them
    reached: Words  # scratch, `words` of them


@inlined
def _add(dense: Dense, member: int) -> None:
    """One more member of an event, for all thresholds that it counts for."""
    words, carry, reached = dense.words, dense.carry, dense.reached
    bits = dense.bits[member * words : (member + 1) * words]  # plain indices are what vectorises
    for w in range(words):
        carry[w] = bits[w]
    for bit in range(dense.begin.shape[0] // words):
        state = dense.state[bit * words : (bit + 1) * words]
        for w in range(words):
            before = state[w]
            state[w] = before ^ carry[w]
            carry[w] = before & carry[w]
    for w in range(words):
        reached[w] |= carry[w]


@kernel
def count_dense(offsets: Longs, members: Longs, dense: Dense, rows: Ints, found: Ints) -> int:
    """As `count_thresholds`."""
    total = 0
    for event in range(offsets.shape[0] - 1):
        for w in range(dense.words):
            dense.reached[w] = np.uint64(0)
        for place in range(dense.begin.shape[0]):
            dense.state[place] = dense.begin[place]
        for at in range(offsets[event], offsets[event + 1]):
            _add(dense, members[at])
        for w in range(dense.words):
            left = dense.reached[w]
            while left != 0:
                if total < rows.shape[0]:
                    rows[total] = event
                    found[total] = w * 64 + np.int64(trailing_zeros(left))
                total += 1
                left &= left - np.uint64(1)
    return total
