"""Building bitmap blocks: members' intervals to toggles, toggles to bases. `blocks.py` says what these are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, kernel
from tamis.kernels.segments.blocks import WORDS
from tamis.kernels.segments.conjunctions import Intervals

__all__ = ["count_bases", "fill_bases", "find_toggles", "number_entries", "place_bases", "sort_toggles"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

_SPREAD = 4
"""Codes up to so many times as far apart as there are toggles are sorted by counting."""


@allocating
def number_entries(intervals: Intervals, block: Ints, slots: int, entries: Longs, entry_of: Ints) -> int:
    """Number the slots that each block uses, block by block; the value is how many there are in all.

    `block[c]` is the block of conjunction c, and only grows. Entry e is slot `entries[e] % slots` of block
    `entries[e] // slots`; `entry_of` is per interval.
    """
    start, slot_of = intervals.start, intervals.slot
    entry = np.full(slots, -1, np.int64)
    count = 0
    for c in range(len(block)):
        key = np.int64(block[c]) * slots
        for i in range(start[c], start[c + 1]):
            slot = slot_of[i]
            if entry[slot] < 0 or entries[entry[slot]] != key + slot:
                entry[slot] = count
                entries[count] = key + slot
                count += 1
            entry_of[i] = entry[slot]
    return count


@kernel
def find_toggles(
    intervals: Intervals, order: Longs, block: Ints, entry_of: Ints, cursor: Longs,
    code: Ints, bit: npt.NDArray[np.uint16], free: Words,
) -> None:  # fmt: skip
    """The two toggles of each interval, where `cursor` says its entry's come; who uses the slot loses its free bit.

    `entry_of` is per interval in the order that `order` visits them; `free` comes in with a one for every member.
    """
    start, _, low, high = intervals
    first, visited = 0, 0
    for at in range(len(order)):
        if at > 0 and block[at] != block[at - 1]:
            first = at
        member = at - first
        c = order[at]
        for i in range(start[c], start[c + 1]):
            entry = entry_of[visited]
            visited += 1
            free[entry * WORDS + (member >> 6)] &= ~(np.uint64(1) << np.uint64(member & 63))
            t = cursor[entry]
            code[t], code[t + 1] = low[i], high[i] + 1
            bit[t], bit[t + 1] = member, member
            cursor[entry] = t + 2


@allocating
def sort_toggles(start: Longs, code: Ints, bit: npt.NDArray[np.uint16]) -> None:
    """Each entry's toggles by code: counted where the codes are few for the toggles there are, else sorted."""
    most = 0
    for entry in range(len(start) - 1):
        most = max(most, start[entry + 1] - start[entry])
    cursor, packed = np.empty(_SPREAD * most + 2, np.int32), np.empty(most, np.int64)
    for entry in range(len(start) - 1):
        first, count = start[entry], start[entry + 1] - start[entry]
        least, last = code[first], code[first]
        for t in range(first, first + count):
            packed[t - first] = (np.int64(code[t]) << 16) | np.int64(bit[t])
            least, last = min(least, code[t]), max(last, code[t])
        span = np.int64(last) - np.int64(least) + 1
        if span > _SPREAD * count:
            packed[:count].sort()
            for t in range(count):
                code[first + t], bit[first + t] = packed[t] >> 16, packed[t] & 0xFFFF
            continue
        cursor[: span + 1] = 0
        for t in range(first, first + count):
            cursor[code[t] - least + 1] += 1
        for place in range(span):
            cursor[place + 1] += cursor[place]
        for t in range(count):
            found = packed[t] >> 16
            to = first + cursor[found - least]
            cursor[found - least] += 1
            code[to], bit[to] = found, packed[t] & 0xFFFF


@kernel
def count_bases(
    start: Longs, code: Ints, most: int, share: int, spacing: int, counts: Ints, few: npt.NDArray[np.bool_]
) -> None:
    """How many bases each entry gets: one at code 0 and, if there are few for the toggles they stand for, one at each
    code where bits flip; else one after every `spacing` toggles."""
    for entry in range(len(start) - 1):
        first, last = start[entry], start[entry + 1]
        distinct = 1
        for t in range(first, last):
            previous = code[t - 1] if t > first else 0
            if code[t] != previous:
                distinct += 1
        few[entry] = distinct <= most and distinct * share <= last - first
        counts[entry] = distinct if few[entry] else 1 + (last - first) // spacing


@kernel
def place_bases(
    start: Longs, code: Ints, spacing: int, few: npt.NDArray[np.bool_],
    base_start: Ints, base_code: Ints, base_toggle: Longs,
) -> None:  # fmt: skip
    """Per base its code, and how many toggles (of all entries) come before or with it."""
    for entry in range(len(start) - 1):
        first, last = start[entry], start[entry + 1]
        base = base_start[entry]
        base_code[base] = 0
        t = first
        while t < last and code[t] == 0:
            t += 1
        base_toggle[base] = t if few[entry] else first
        if few[entry]:
            while t < last:
                base += 1
                base_code[base] = code[t]
                while t < last and code[t] == base_code[base]:
                    t += 1
                base_toggle[base] = t
        else:
            for number in range(1, base_start[entry + 1] - base):
                base_toggle[base + number] = first + number * spacing
                base_code[base + number] = code[first + number * spacing - 1]


@allocating
def fill_bases(
    start: Longs, bit: npt.NDArray[np.uint16], base_start: Ints, base_toggle: Longs, free: Words, bits: Words
) -> None:
    """The bitmap of each base: who does not use the slot, flipped by all toggles before it."""
    state = np.empty(WORDS, np.uint64)
    for entry in range(len(start) - 1):
        for w in range(WORDS):
            state[w] = free[entry * WORDS + w]
        t = start[entry]
        for base in range(base_start[entry], base_start[entry + 1]):
            while t < base_toggle[base]:
                member = np.int64(bit[t])
                state[member >> 6] ^= np.uint64(1) << np.uint64(member & 63)
                t += 1
            for w in range(WORDS):
                bits[base * WORDS + w] = state[w]
