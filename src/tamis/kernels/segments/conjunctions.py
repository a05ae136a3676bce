"""Conjunctions as runs of intervals (slot, low, high): telling them apart, and laying them into blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, kernel
from tamis.kernels.numbering import MOST_PROBES

__all__ = [
    "Intervals",
    "assign_blocks",
    "count_intervals",
    "merge_unions",
    "number_conjunctions",
    "place_intervals",
    "take_intervals",
]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class Intervals(NamedTuple):
    """Conjunction c has the intervals `start[c]` to `start[c + 1]`; those of one slot lie together and are a union."""

    start: Longs
    slot: Ints
    low: Ints
    high: Ints


@kernel
def merge_unions(intervals: Intervals, keep: npt.NDArray[np.bool_]) -> int:
    """Put the intervals of one conjunction and slot in order (few, so by insertion) and join those that touch.

    An interval that was joined to the one before it is not to be kept; the value is how many were.
    """
    start, slot, low, high = intervals
    joined = 0
    for c in range(len(start) - 1):
        last = -1
        for i in range(start[c], start[c + 1]):
            keep[i] = True
            j = i
            while j > start[c] and slot[j - 1] == slot[j] and low[j - 1] > low[j]:
                low[j], low[j - 1] = low[j - 1], low[j]
                high[j], high[j - 1] = high[j - 1], high[j]
                j -= 1
        for i in range(start[c], start[c + 1]):
            if last >= 0 and slot[last] == slot[i] and low[i] <= high[last] + 1:
                high[last] = max(high[last], high[i])
                keep[i] = False
                joined += 1
            else:
                last = i
    return joined


@kernel
def count_intervals(conjunctions: Longs, low: Ints, high: Ints, dead: npt.NDArray[np.bool_], start: Longs) -> None:
    """Count a piece's intervals in `start[conjunction + 1]`; those with nothing in them, and those of the dead, not."""
    for i in range(len(conjunctions)):
        c = conjunctions[i]
        if low[i] <= high[i] and not dead[c]:
            start[c + 1] += 1


@kernel
def place_intervals(
    conjunctions: Longs, slot: int, low: Ints, high: Ints, dead: npt.NDArray[np.bool_], cursor: Longs, out: Intervals
) -> None:
    """Put a piece's intervals where `cursor` says that their conjunctions' next ones come."""
    out_slot, out_low, out_high = out.slot, out.low, out.high
    for i in range(len(conjunctions)):
        c = conjunctions[i]
        if low[i] <= high[i] and not dead[c]:
            at = cursor[c]
            out_slot[at], out_low[at], out_high[at] = slot, low[i], high[i]
            cursor[c] = at + 1


@kernel
def _hash(slot: Ints, low: Ints, high: Ints, first: int, last: int) -> np.uint64:
    state = np.uint64(0x243F6A8885A308D3)
    for i in range(first, last):
        word = (np.uint64(slot[i]) << np.uint64(32)) ^ np.uint64(low[i])
        state = (state ^ word) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(32)
        state = (state ^ np.uint64(high[i])) * np.uint64(0xC2B2AE3D27D4EB4F)
        state ^= state >> np.uint64(29)
    return state


@kernel
def _same(slot: Ints, low: Ints, high: Ints, a: int, b: int, length: int) -> bool:
    for i in range(length):
        if slot[a + i] != slot[b + i] or low[a + i] != low[b + i] or high[a + i] != high[b + i]:
            return False
    return True


@kernel
def number_conjunctions(intervals: Intervals, table: npt.NDArray[np.uint64], numbers: Ints, first: Ints) -> int:
    """Number the distinct conjunctions from 0 in the order of their coming; the value is how many there are.

    `numbers[c]` is the number of conjunction c, `first[n]` the first conjunction with number n. `table` comes in as
    zeros, at most half full; an entry is a number plus one, and above it half of the hash, which spares most looks
    elsewhere. Conjunctions chosen for their hashes may be numbered several times, which is merely longer.
    """
    start, slot, low, high = intervals
    mask = np.uint64(len(table) - 1)
    count = 0
    for c in range(len(start) - 1):
        begin, length = start[c], start[c + 1] - start[c]
        state = _hash(slot, low, high, begin, start[c + 1])
        tag = state & np.uint64(0xFFFFFFFF00000000)
        place = state & mask
        found: Any = -1
        for _ in range(MOST_PROBES):
            entry = table[place]
            if entry == 0:
                break
            if (entry & np.uint64(0xFFFFFFFF00000000)) == tag:
                number = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
                model = start[first[number]]
                if start[first[number] + 1] - model == length and _same(slot, low, high, begin, model, length):
                    found = number
                    break
            place = (place + np.uint64(1)) & mask
        if found < 0:
            found = count
            first[count] = c
            count += 1
            table[place] = tag | np.uint64(count)
        numbers[c] = found
    return count


@kernel
def take_intervals(intervals: Intervals, chosen: Longs, out: Intervals) -> None:
    """Copy the intervals of some conjunctions; `out.start` says where to."""
    start, slot, low, high = intervals
    out_start, out_slot, out_low, out_high = out
    for at in range(len(chosen)):
        first, to = start[chosen[at]], out_start[at]
        for i in range(out_start[at + 1] - to):
            out_slot[to + i], out_low[to + i], out_high[to + i] = slot[first + i], low[first + i], high[first + i]


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
