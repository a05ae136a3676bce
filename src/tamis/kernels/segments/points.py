"""Equality constraints as keys: the rarest of each conjunction, packed, filed under buckets, and what they leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel
from tamis.kernels.segments.blocks import SlotMode
from tamis.kernels.segments.clusters import bucket_of
from tamis.kernels.segments.conjunctions import Intervals

__all__ = ["MOST_POINTS", "Points", "Slots", "file_keys", "find_points", "leave_rest", "pack_keys", "set_keys"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Keys = npt.NDArray[np.uint64]

MOST_POINTS = 3
_FEW = 16


class Slots(NamedTuple):
    """The column and mode of each slot; columns from `attributes` on are links, which are no part of a key."""

    column: Ints
    mode: npt.NDArray[np.uint8]
    attributes: int


class Points(NamedTuple):
    """Up to three equality constraints per conjunction, the rarest first; column -1 where there is none."""

    column: Ints
    code: Ints
    chance: npt.NDArray[np.float64]


@inlined
def _point(intervals: Intervals, slots: Slots, first: int, i: int, last: int) -> int:
    """The column of interval i if it can be part of a key, else -1: a slot's only interval, of one code."""
    slot = intervals.slot[i]
    alone = (i == first or intervals.slot[i - 1] != slot) and (i + 1 == last or intervals.slot[i + 1] != slot)
    code = intervals.low[i]
    if not alone or code != intervals.high[i] or code <= 0 or slots.mode[slot] != SlotMode.ONE_OF:
        return -1
    column = slots.column[slot]
    return column if column < slots.attributes else -1


@kernel
def find_points(
    intervals: Intervals, slots: Slots, chance_start: Longs, chances: npt.NDArray[np.float64], seen: Longs,
    points: Points,
) -> None:  # fmt: skip
    """The rarest equalities of each conjunction, one per column; of equally rare ones those of the first columns.

    Code k of column c has the chance `chances[chance_start[c] + k]`. `seen` is scratch, -1 per column; the points come
    in empty.
    """
    for c in range(len(intervals.start) - 1):
        first, last = intervals.start[c], intervals.start[c + 1]
        for i in range(first, last):
            column = _point(intervals, slots, first, i, last)
            if column < 0 or seen[column] == c:
                continue
            seen[column] = c
            code = intervals.low[i]
            chance = chances[chance_start[column] + code]
            place = MOST_POINTS
            while place > 0:
                other = points.column[place - 1, c]
                rarer = points.chance[place - 1, c]
                if other >= 0 and (rarer < chance or (rarer == chance and other < column)):
                    break
                if place < MOST_POINTS:
                    points.column[place, c] = other
                    points.code[place, c] = points.code[place - 1, c]
                    points.chance[place, c] = rarer
                place -= 1
            if place < MOST_POINTS:
                points.column[place, c], points.code[place, c], points.chance[place, c] = column, code, chance


@inlined
def _places(points: Points, c: int, level: int) -> tuple[int, int, int]:
    """The places of the first `level` points of a conjunction, in the order of their columns; 0 for those past it."""
    a, b, d = 0, 1, 2
    if level > 1 and points.column[a, c] > points.column[b, c]:
        a, b = b, a
    if level > 2:
        if points.column[b, c] > points.column[d, c]:
            b, d = d, b
        if points.column[a, c] > points.column[b, c]:
            a, b = b, a
    return a, b, d


@kernel
def set_keys(points: Points, chosen: Longs, level: int, columns: int, keys: Longs) -> None:
    """A number per conjunction that is equal for equal sets of columns; there are less than two million columns."""
    for at in range(len(chosen)):
        c = chosen[at]
        places = _places(points, c, level)
        key = np.int64(0)
        for place in range(level):
            key = key * (columns + 1) + points.column[places[place], c] + 1
        keys[at] = key


@kernel
def pack_keys(points: Points, chosen: Longs, level: int, widths: Longs, keys: Keys) -> None:
    """The codes of the first `level` points in the order of their columns, `widths[column]` bits each."""
    for at in range(len(chosen)):
        c = chosen[at]
        places = _places(points, c, level)
        key, shift = np.uint64(0), np.uint64(0)
        for place in range(level):
            key |= np.uint64(points.code[places[place], c]) << shift
            shift += np.uint64(widths[points.column[places[place], c]])
        keys[at] = key


@kernel
def file_keys(keys: Keys, bits: int, starts: Longs, order: Longs) -> None:
    """Members by the bucket of their key, then by key; `starts`, one more than there are buckets, come in as zeros."""
    for at in range(len(keys)):
        starts[bucket_of(keys[at], bits)] += 1
    for bucket in range(1, len(starts)):
        starts[bucket] += starts[bucket - 1]
    for at in range(len(keys) - 1, -1, -1):  # from behind, so that starts end up where they begin
        bucket = bucket_of(keys[at], bits)
        starts[bucket] -= 1
        order[starts[bucket]] = at
    for bucket in range(len(starts) - 1):
        first, last = starts[bucket], starts[bucket + 1]
        if last - first > _FEW:
            _sort(keys, order[first:last])
            continue
        for i in range(first + 1, last):
            member = order[i]
            j = i
            while j > first and keys[order[j - 1]] > keys[member]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = member


@kernel
def _sort(keys: Keys, order: Longs) -> None:
    """Members of one bucket by key, those of one key as they come: by heaps, whose cost nobody's keys can raise."""
    size = np.int64(len(order))
    for step in range(size // 2 + size - 1):
        building = step < size // 2
        end = size if building else 2 * size - 1 - (step + size - size // 2)
        root = size // 2 - 1 - step if building else np.int64(0)
        if not building:
            order[0], order[end] = order[end], order[0]
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and _before(keys, order[child], order[child + 1]):
                child += 1
            if not _before(keys, order[root], order[child]):
                break
            order[root], order[child] = order[child], order[root]
            root = child


@inlined
def _before(keys: Keys, one: int, other: int) -> bool:
    return keys[one] < keys[other] or (keys[one] == keys[other] and one < other)


@kernel
def leave_rest(
    intervals: Intervals, slots: Slots, members: Longs, access: Ints, keyed: Ints, seen: Longs, rest: Intervals
) -> int:
    """Each member's intervals but for those that its key stands for; the value is how many there are.

    `keyed[a]` are the columns in the key of access a, -1 for less than three. `seen` is scratch, -1 per column.
    """
    n = 0
    for at in range(len(members)):
        first, last = intervals.start[members[at]], intervals.start[members[at] + 1]
        one, two, three = keyed[access[at], 0], keyed[access[at], 1], keyed[access[at], 2]
        for i in range(first, last):
            column = _point(intervals, slots, first, i, last)
            if column >= 0 and seen[column] != at:
                seen[column] = at
                if column in (one, two, three):
                    continue
            rest.slot[n], rest.low[n], rest.high[n] = intervals.slot[i], intervals.low[i], intervals.high[i]
            n += 1
        rest.start[at + 1] = n
    return n
