"""Conjunctions as runs of intervals (slot, low, high): telling them apart, and laying them into blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, kernel

__all__ = ["Intervals", "assign_blocks", "hash_conjunctions", "merge_unions", "same_conjunctions"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class Intervals(NamedTuple):
    """Conjunction c has the intervals `start[c]` to `start[c + 1]`; those of one slot lie together and are a union."""

    start: Longs
    slot: Ints
    low: Ints
    high: Ints


@kernel
def merge_unions(intervals: Intervals, keep: npt.NDArray[np.bool_]) -> None:
    """Put the intervals of one conjunction and slot in order (few, so by insertion) and join those that touch.

    An interval that was joined to the one before it is not to be kept.
    """
    for c in range(len(intervals.start) - 1):
        for i in range(intervals.start[c] + 1, intervals.start[c + 1]):
            j = i
            while (
                j > intervals.start[c]
                and intervals.slot[j - 1] == intervals.slot[j]
                and intervals.low[j - 1] > intervals.low[j]
            ):
                low, high = intervals.low[j], intervals.high[j]
                intervals.low[j], intervals.high[j] = intervals.low[j - 1], intervals.high[j - 1]
                intervals.low[j - 1], intervals.high[j - 1] = low, high
                j -= 1
        last = -1
        for i in range(intervals.start[c], intervals.start[c + 1]):
            joined = (
                last >= 0 and intervals.slot[last] == intervals.slot[i] and intervals.low[i] <= intervals.high[last] + 1
            )
            keep[i] = not joined
            if joined:
                intervals.high[last] = max(intervals.high[last], intervals.high[i])
            else:
                last = i


@kernel
def hash_conjunctions(intervals: Intervals, hashes: npt.NDArray[np.uint64]) -> None:
    """A 64-bit hash of each conjunction's intervals."""
    for c in range(len(intervals.start) - 1):
        state = np.uint64(0x243F6A8885A308D3)
        for i in range(intervals.start[c], intervals.start[c + 1]):
            word = (np.uint64(intervals.slot[i]) << np.uint64(32)) ^ np.uint64(intervals.low[i])
            state = (state ^ word) * np.uint64(0x9E3779B97F4A7C15)
            state ^= state >> np.uint64(32)
            state = (state ^ np.uint64(intervals.high[i])) * np.uint64(0xC2B2AE3D27D4EB4F)
            state ^= state >> np.uint64(29)
        hashes[c] = state


@kernel
def same_conjunctions(intervals: Intervals, left: Longs, right: Longs, same: npt.NDArray[np.bool_]) -> None:
    """Whether the conjunctions `left[i]` and `right[i]` have the same intervals: equal hashes are not yet proof."""
    for at in range(len(left)):
        a, b = intervals.start[left[at]], intervals.start[right[at]]
        length = intervals.start[left[at] + 1] - a
        equal = length == intervals.start[right[at] + 1] - b
        i = 0
        while equal and i < length:
            equal = (
                intervals.slot[a + i] == intervals.slot[b + i]
                and intervals.low[a + i] == intervals.low[b + i]
                and intervals.high[a + i] == intervals.high[b + i]
            )
            i += 1
        same[at] = equal


@allocating
def assign_blocks(intervals: Intervals, order: Longs, slots: int, most_slots: int, members: int, block: Ints) -> int:
    """Cut `order` into blocks of at most `members` conjunctions that use at most `most_slots` slots together.

    `block[i]` is the block of `order[i]`; the value is the number of blocks.
    """
    seen = np.full(slots, -1, np.int32)
    number, size, used = 0, 0, 0
    for at in range(len(order)):
        c = order[at]
        fresh = 0
        previous = -1
        for i in range(intervals.start[c], intervals.start[c + 1]):
            slot = intervals.slot[i]
            if slot != previous and seen[slot] != number:
                fresh += 1
            previous = slot
        if size == members or (size > 0 and used + fresh > most_slots):
            number += 1
            size, used = 0, 0
            fresh = 0
        for i in range(intervals.start[c], intervals.start[c + 1]):
            slot = intervals.slot[i]
            if seen[slot] != number:
                seen[slot] = number
                used += 1
        block[at] = number
        size += 1
    return number + 1 if len(order) else 0
