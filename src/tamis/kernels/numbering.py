"""Equal keys under one small number, and rows in the order of such numbers: sorting is often used for no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, inlined, kernel

__all__ = ["MOST_PROBES", "find_hashes", "first_from", "grouped", "new_table", "numbered", "ranked", "sorted_hashes"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint64]

MOST_PROBES = 256
"""A key that finds so many places of a half empty table taken was made to: nobody shall wait for it."""
_MOST_SHARING = 64


def new_table(count: int, of: Any = np.int32) -> npt.NDArray[Any]:
    """An empty hash table for so many keys, at most half full. Pages that are never touched cost nothing."""
    return np.zeros(1 << max(4, (2 * count).bit_length()), of)


@inlined
def spread(key: np.uint64) -> np.uint64:
    """A hash whose low bits depend on every bit of the key."""
    mixed = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


@kernel
def number_keys(keys: Longs, table: Ints, numbers: Ints, first: Ints) -> int:
    """Number the distinct keys from 0 in the order of their coming; the value is how many there are.

    `numbers[i]` is the number of `keys[i]`, -1 for a negative key; `first[n]` the place where number n came first.
    Keys chosen for their hashes may get several numbers each.
    """
    mask = np.uint64(len(table) - 1)
    count = 0
    for at in range(len(keys)):
        key = keys[at]
        numbers[at] = -1
        if key < 0:
            continue
        place = spread(np.uint64(key)) & mask
        probes = 0
        while table[place] > 0 and keys[first[table[place] - 1]] != key and probes < MOST_PROBES:
            place = (place + np.uint64(1)) & mask
            probes += 1
        if table[place] == 0 or probes == MOST_PROBES:
            first[count] = at
            count += 1
            table[place] = count
        numbers[at] = table[place] - 1
    return count


@allocating
def order_by(numbers: Ints, starts: Longs, order: Longs) -> None:
    """Places in the order of their numbers, those of one number as they come; negative ones are left out.

    `starts[n]` will be where number n begins; it has one entry more than there are numbers, and comes in as zeros.
    """
    for at in range(len(numbers)):
        if numbers[at] >= 0:
            starts[numbers[at] + 1] += 1
    for number in range(1, len(starts)):
        starts[number] += starts[number - 1]
    cursor = starts.copy()
    for at in range(len(numbers)):
        number = numbers[at]
        if number >= 0:
            order[cursor[number]] = at
            cursor[number] += 1


@allocating
def sort_hashes(hashes: Hashes, bits: int, starts: Longs, sorted_hashes: Hashes, order: Ints) -> bool:
    """Hashes in order, and where each came from: by their first bits, then by insertion among the few that share them.

    `starts` are zeros, one more than two to the power of `bits`. Equal hashes stay in order. False, and nothing done,
    if very many share their first bits: then they were chosen to.
    """
    shift = np.uint64(64 - bits)
    for at in range(len(hashes)):
        starts[np.int64(hashes[at] >> shift) + 1] += 1
    for bucket in range(1, len(starts)):
        if starts[bucket] > _MOST_SHARING:
            return False
        starts[bucket] += starts[bucket - 1]
    cursor = starts.copy()
    for at in range(len(hashes)):
        of = np.int64(hashes[at] >> shift)
        place = cursor[of]
        cursor[of] += 1
        while place > starts[of] and sorted_hashes[place - 1] > hashes[at]:
            sorted_hashes[place], order[place] = sorted_hashes[place - 1], order[place - 1]
            place -= 1
        sorted_hashes[place], order[place] = hashes[at], at
    return True


@inlined
def first_from(values: npt.NDArray[Any], first: Any, last: Any, wanted: Any) -> Any:
    """The first place from first to last whose value is at least the one wanted; values are in order."""
    low, high = np.int64(first), np.int64(last)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_hashes(hashes: Hashes, wanted: Hashes, places: Longs) -> None:
    """Where each wanted hash is, or would be, among hashes in order; of equal ones the first.

    Hashes are spread evenly, so that the place is guessed to within a few and sought from there in growing steps: one
    look at memory, where halving takes twenty. Hashes that were chosen not to be cost no more than halving twice.
    """
    size = np.int64(len(hashes))
    for i in range(len(wanted)):
        hash = wanted[i]
        low = np.int64((np.uint64(hash >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))
        high, step = low, np.int64(4)
        while high < size and hashes[high] < hash:  # all before `low` are smaller, none from `high` on
            low, high, step = high + 1, high + step, 2 * step
        while low > 0 and hashes[low - 1] >= hash:
            low, high, step = max(low - step, np.int64(0)), low - 1, 2 * step
        places[i] = first_from(hashes, low, min(high, size), hash)


def numbered(keys: Longs) -> tuple[Ints, Ints]:
    """The number of each key, and where each number came first; -1 for negative keys."""
    numbers, first = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    count = number_keys(keys, new_table(len(keys)), numbers, first)
    return numbers, first[:count]


def ranked(keys: Longs) -> tuple[Ints, int]:
    """The number of each key among the distinct ones in order, and how many these are; no key is negative."""
    numbers, first = numbered(keys)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(keys[first], kind="stable")] = np.arange(len(first), dtype=np.int32)
    return rank[numbers], len(first)


def grouped(numbers: Ints, count: int) -> tuple[Longs, Longs]:
    """Where each number's group begins, and the end; places group by group, without those of negative numbers."""
    starts, order = np.zeros(count + 1, np.int64), np.empty(len(numbers), np.int64)
    order_by(numbers, starts, order)
    return starts, order[: starts[-1]]


def sorted_hashes(hashes: Hashes) -> tuple[Hashes, Ints]:
    """Hashes in order, and where each came from."""
    bits = max(1, len(hashes).bit_length() - 1)
    found, order = np.empty(len(hashes), np.uint64), np.empty(len(hashes), np.int32)
    if sort_hashes(hashes, bits, np.zeros((1 << bits) + 1, np.int64), found, order):
        return found, order
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    return hashes[order], order
