"""From satisfied conjunctions to rows: reading off bits, skipping the dead, reporting each subscription once.

A *row* is a place in a segment's list of ids. A conjunction of many subscribers has a run of rows. A subscription of
several conjunctions has a row for each, and all name the first of them as its *canon*.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.bits import popcount, trailing_zeros
from tamis.kernels.jit import inlined, kernel

__all__ = ["Places", "count_hits", "count_members", "is_alive", "list_hits", "list_members", "once", "writing_speed"]

_SPILL = 68
"""A word's ones, rounded up to fours, and then some."""

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]


class Places(NamedTuple):
    """Where the rows of conjunctions are."""

    single_blocks: int  # blocks before this one have one row per member
    block_row: Ints  # per single block: the row of its first member, a multiple of 64
    group_start: Ints  # per member of the other blocks, block by block, and one more: its first row
    group_first: Ints  # per other block: its first entry in group_start
    member_row: Ints  # per cluster member, and one more: its first row
    alive: Words  # per row, one bit
    any_dead: int


@inlined
def is_alive(alive: Words, row: int) -> bool:
    return (alive[row >> 6] >> np.uint64(row & 63)) & np.uint64(1) != 0


@kernel
def count_hits(places: Places, hits: Words, touched: Flags, words: int, block_count: int, event: int) -> int:
    """Live rows in the bitmaps of one event."""
    total = 0
    for block in range(block_count):
        if touched[event * block_count + block] == 0:
            continue
        at = (event * block_count + block) * words
        mine = hits[at : at + words]
        if block < places.single_blocks:
            if places.any_dead == 0:
                for w in range(words):
                    total += popcount(mine[w])
            else:
                row = places.block_row[block] >> 6
                alive = places.alive[row : row + words]
                for w in range(words):
                    total += popcount(mine[w] & alive[w])
        else:
            first = places.group_first[block - places.single_blocks]
            for w in range(words):
                word = mine[w]
                while word != 0:
                    member = first + w * 64 + np.int64(trailing_zeros(word))
                    word &= word - np.uint64(1)
                    total += _live(places, places.group_start[member], places.group_start[member + 1])
    return total


@inlined
def _live(places: Places, first: int, last: int) -> int:
    if places.any_dead == 0:
        return last - first
    total = 0
    for row in range(first, last):
        if is_alive(places.alive, row):
            total += 1
    return total


@inlined
def _list_word(word: Any, base: int, out: Ints, n: int, limit: int) -> Any:
    """The positions of the ones of a word, plus `base`, four at a time: one guess of the branch predictor for four.

    Up to three places too many are written and written again by whoever comes next; near `limit` one at a time.
    """
    if n + _SPILL > limit:
        while word != 0:
            out[n] = base + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            n += 1
        return n
    count = np.int64(popcount(word))
    at = np.uint64(n)  # unsigned: a signed index would be tested for being negative at every store
    for _ in range((count + 3) >> 2):
        for place in range(4):
            out[at + np.uint64(place)] = base + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
        at += np.uint64(4)
    return n + count


@kernel
def list_hits(
    places: Places, hits: Words, touched: Flags, words: int, block_count: int, event: int, out: Ints, n: int, limit: int
) -> int:
    """Write the live rows in the bitmaps of one event to `out` from `n` on; nothing at or past `limit` is touched."""
    for block in range(block_count):
        if touched[event * block_count + block] == 0:
            continue
        at = (event * block_count + block) * words
        mine = hits[at : at + words]
        if block < places.single_blocks:
            row = places.block_row[block]
            for w in range(words):
                word = mine[w]
                if places.any_dead == 1:
                    word &= places.alive[(row >> 6) + w]
                n = _list_word(word, row + w * 64, out, n, limit)
        else:
            first = places.group_first[block - places.single_blocks]
            for w in range(words):
                word = mine[w]
                while word != 0:
                    member = first + w * 64 + np.int64(trailing_zeros(word))
                    word &= word - np.uint64(1)
                    n = _list_run(places, places.group_start[member], places.group_start[member + 1], out, n, limit)
    return n


@inlined
def _list_run(places: Places, first: int, last: int, out: Ints, n: int, limit: int) -> Any:
    """The live rows first to last; as `_list_word`, four at a time where there is room."""
    if places.any_dead == 0 and n + (last - first) + 4 <= limit:
        at = np.uint64(n)
        for row in range(first, last, 4):
            for place in range(4):
                out[at + np.uint64(place)] = row + place
            at += np.uint64(4)
        return n + (last - first)
    for row in range(first, last):
        if places.any_dead == 0 or is_alive(places.alive, row):
            out[n] = row
            n += 1
    return n


@kernel
def count_members(places: Places, members: Ints, first: int, last: int) -> int:
    """Live rows of cluster members."""
    total = 0
    for at in range(first, last):
        total += _live(places, places.member_row[members[at]], places.member_row[members[at] + 1])
    return total


@kernel
def list_members(places: Places, members: Ints, first: int, last: int, out: Ints, n: int, limit: int) -> int:
    """Write the live rows of cluster members."""
    for at in range(first, last):
        n = _list_run(places, places.member_row[members[at]], places.member_row[members[at] + 1], out, n, limit)
    return n


@kernel
def once(canon: Ints, alive: Words, offsets: Longs, rows: Ints, seen: Ints) -> int:
    """Replace each row by its canon and keep the first of each per event if it lives, in place; the value is how many.

    `seen` is scratch, one per row, smaller than any event's number at first.
    """
    kept = 0
    for event in range(len(offsets) - 1):
        first, last = offsets[event], offsets[event + 1]
        offsets[event] = kept
        for at in range(first, last):
            row = canon[rows[at]]
            if seen[row] != event and is_alive(alive, row):
                seen[row] = event
                rows[kept] = row
                kept += 1
    offsets[len(offsets) - 1] = kept
    return kept


@kernel
def writing_speed(bits: Words, out: Ints) -> int:
    """Merely write the positions of a prepared bitmap's ones: the yardstick of the benchmarks."""
    n = 0
    for w in range(len(bits)):
        n = _list_word(bits[w], w * 64, out, n, len(out))
    return n
