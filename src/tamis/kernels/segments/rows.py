"""From satisfied conjunctions to rows: reading off bits, skipping the dead, reporting each subscription once.

A *row* is a place in a segment's list of ids. A conjunction of many subscribers has a run of rows. A subscription of
several conjunctions has a row for each, and all name the first of them as its *canon*.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.bits import COMPRESSES, list_ones, popcount, trailing_zeros
from tamis.kernels.jit import inlined, kernel
from tamis.kernels.segments.blocks import WORDS

__all__ = [
    "SPILL",
    "Places",
    "count_block",
    "count_members",
    "is_alive",
    "list_block",
    "list_members",
    "once",
    "writing_speed",
]

SPILL = 80
"""A word's ones and sixteen more: what listing a word may overwrite."""
_FEW_ONES = 2
"""Up to so many ones a word, on average over a block, are found one by one, more by sifting all positions."""
_STEP = 16
"""Rows of a group written at a time."""

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]


class Places(NamedTuple):
    """Where the rows of conjunctions are.

    In the blocks after the single ones a word of 64 members has its rows in *layers*: the first row of each member,
    then the second of each. A layer is 64 rows from a multiple of 64 on, some of them unused, so that a word of hits
    can be held against the living at once. Words whose members have very many rows, or very different numbers of
    them, have none: each member's rows lie together.
    """

    single_blocks: int  # blocks before this one have one row per member
    block_row: Ints  # per single block: the row of its first member, a multiple of 64
    word_layers: Ints  # per word of the other blocks, WORDS each: its layers, 0 for none
    word_at: Ints  # per word of the other blocks: its first row or, without layers, its first entry in group_start
    group_start: Ints  # per member of a word without layers, and one more: its first row
    member_row: Ints  # per cluster member, and one more: its first row
    alive: Words  # per row, one bit
    any_dead: int


@inlined
def is_alive(alive: Words, row: int) -> bool:
    return (alive[row >> 6] >> np.uint64(row & 63)) & np.uint64(1) != 0


@kernel
def count_block(places: Places, hits: Words, block: int) -> Any:
    """Live rows of the members of a block that `hits` has a one for."""
    total = np.uint64(0)
    if block < places.single_blocks:
        if places.any_dead == 0:
            for w in range(WORDS):
                total += popcount(hits[w])
        else:
            row = places.block_row[block] >> 6
            alive = places.alive[row : row + WORDS]
            for w in range(WORDS):
                total += popcount(hits[w] & alive[w])
    else:
        first = (block - places.single_blocks) * WORDS
        for w in range(WORDS):
            word = hits[w]
            if word != 0:
                at, layers = places.word_at[first + w], places.word_layers[first + w]
                for layer in range(layers):
                    total += popcount(word & places.alive[(at >> 6) + layer])
                while layers == 0 and word != 0:
                    member = at + np.int64(trailing_zeros(word))
                    word &= word - np.uint64(1)
                    total += np.uint64(_live(places, places.group_start[member], places.group_start[member + 1]))
    return np.int64(total)


@inlined
def _mask(word: int, first: int, last: int) -> Any:
    """The bits of word number `word` that are rows first to last."""
    mask = np.uint64(0xFFFFFFFFFFFFFFFF)
    if first > word * 64:
        mask <<= np.uint64(first & 63)
    if last < word * 64 + 64:
        mask &= (np.uint64(1) << np.uint64(last & 63)) - np.uint64(1)
    return mask


@inlined
def _live(places: Places, first: int, last: int) -> Any:
    total = np.int64(last - first)
    if places.any_dead == 1:
        total = np.int64(0)
        for word in range(first >> 6, (last + 63) >> 6):
            total += np.int64(popcount(places.alive[word] & _mask(word, first, last)))
    return total


@inlined
def _list_word(word: Any, base: Any, out: Ints, n: int, limit: int, sift: Any) -> Any:
    """The positions of the ones of a word, plus `base`; `sift` if it has many, where the machine can.

    A few places past the last are written too, and again by whoever comes next; near `limit` one at a time.
    """
    if n + SPILL > limit:
        while word != 0:
            out[n] = base + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            n += 1
        return n
    if COMPRESSES and sift:
        return list_ones(word, np.int32(base), out, n)
    count = np.int64(popcount(word))
    at = np.uint64(n)  # unsigned: a signed index would be tested for being negative at every store
    for _ in range((count + 3) >> 2):  # four at a time: one guess of the branch predictor for four
        for place in range(4):
            out[at + np.uint64(place)] = base + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
        at += np.uint64(4)
    return n + count


@kernel
def list_block(places: Places, hits: Words, block: int, base: Any, out: Ints, n: int, limit: int) -> int:
    """Write the live rows of a block's members, plus `base`, to `out` from `n` on; nothing from `limit` on is touched.

    The value is one past the last row written.
    """
    if block < places.single_blocks:
        row = places.block_row[block]
        ones = np.uint64(0)
        for w in range(WORDS):
            ones += popcount(hits[w])
        for w in range(WORDS):
            word = hits[w]
            if places.any_dead == 1:
                word &= places.alive[(row >> 6) + w]
            n = _list_word(word, base + row + w * 64, out, n, limit, ones > np.uint64(_FEW_ONES * WORDS))
    else:
        first = (block - places.single_blocks) * WORDS
        for w in range(WORDS):
            word = hits[w]
            if word != 0:
                many = popcount(word) > np.uint64(_FEW_ONES)
                at, layers = np.int64(places.word_at[first + w]), places.word_layers[first + w]
                for layer in range(layers):
                    living = word & places.alive[(at >> 6) + layer]
                    n = _list_word(living, base + at + layer * 64, out, n, limit, many)
                while layers == 0 and word != 0:
                    member = at + np.int64(trailing_zeros(word))
                    word &= word - np.uint64(1)
                    row, end = places.group_start[member], places.group_start[member + 1]
                    n = _list_run(places, row, end, base, out, n, limit)
    return n


@inlined
def _list_run(places: Places, first: int, last: int, base: int, out: Ints, n: int, limit: int) -> Any:
    """The live rows first to last; as `_list_word`, many at a time where there is room."""
    if places.any_dead == 0 and n + (last - first) + _STEP <= limit:
        at = np.uint64(n)
        for row in range(base + first, base + last, _STEP):
            for place in range(_STEP):
                out[at + np.uint64(place)] = row + place
            at += np.uint64(_STEP)
        return n + (last - first)
    for word in range(first >> 6, (last + 63) >> 6):
        living = places.alive[word] & _mask(word, first, last)
        n = _list_word(living, base + word * 64, out, n, limit, last - first > _STEP)
    return n


@kernel
def count_members(places: Places, members: Ints, first: int, last: int) -> int:
    """Live rows of cluster members."""
    total = 0
    for at in range(first, last):
        total += _live(places, places.member_row[members[at]], places.member_row[members[at] + 1])
    return total


@kernel
def list_members(places: Places, members: Ints, first: int, last: int, base: int, out: Ints, n: int, limit: int) -> int:
    """Write the live rows of cluster members, plus `base`."""
    for at in range(first, last):
        row, end = places.member_row[members[at]], places.member_row[members[at] + 1]
        n = _list_run(places, row, end, base, out, n, limit)
    return n


@kernel
def once(canon: Ints, alive: Words, base: int, offsets: Longs, rows: Ints, seen: Ints) -> int:
    """Replace each row of a segment by its canon and keep the first of each per event if it lives, in place.

    The segment's rows are those from `base` on; others stay. The value is how many are left. `seen` is scratch, a zero
    per row of the segment: nearly all of it is never touched.
    """
    kept = 0
    for event in range(len(offsets) - 1):
        first, last = offsets[event], offsets[event + 1]
        offsets[event] = kept
        for at in range(first, last):
            row: Any = np.int64(rows[at]) - base
            if row < 0 or row >= len(canon):
                rows[kept] = rows[at]
                kept += 1
                continue
            row = np.int64(canon[row])
            if seen[row] != event + 1 and is_alive(alive, row):
                seen[row] = event + 1
                rows[kept] = base + row
                kept += 1
    offsets[len(offsets) - 1] = kept
    return kept


@kernel
def writing_speed(bits: Words, out: Ints) -> int:
    """Merely write the positions of a prepared bitmap's ones: the yardstick of the benchmarks."""
    n = 0
    for w in range(len(bits)):
        n = _list_word(bits[w], w * 64, out, n, len(out), True)
    return n
