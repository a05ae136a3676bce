"""Bitmap blocks: the ToPSS predicate table and bit matrix, turned round.

A block holds up to 4,096 conjunctions, one bit each. For each slot that any of them uses it can produce, for every
code, the bitmap of the members that admit the code; matching is the AND of one such bitmap per slot.

As the code grows past an interval's ends, one member's bit flips: a *toggle*. Bitmaps are stored at some codes only
(*bases*), the toggles between them in order, so that any domain, however large, is exact: take the last base at or
before the event's code and flip what lies between. A small domain has a base at each of its toggles and needs none.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel
from tamis.kernels.memory import Grid

__all__ = ["MEMBERS", "WORDS", "Blocks", "Events", "Scratch", "SlotMode", "choose", "match_located", "scratch_for"]

MEMBERS = 4096
"""Conjunctions per block."""
WORDS = MEMBERS // 64

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]


class SlotMode(IntEnum):
    """How a slot takes several values: one of them must be admitted, or all of them."""

    ONE_OF = 0
    ALL_OF = 1


class Blocks(NamedTuple):
    """Block b uses the entries `start[b]` to `start[b + 1]`; entry s has the bases `base_start[s]` to `[s + 1]`."""

    start: Ints
    column: Ints  # per entry: the event column of its slot
    mode: npt.NDArray[np.uint8]  # per entry: a SlotMode
    needed: npt.NDArray[np.uint8]  # per entry: every member refuses a missing value
    base_start: Ints
    base_code: Ints  # per base: from which code on it holds
    base_toggle: Ints  # per base: its first toggle
    base_end: Ints  # per base: one past its last toggle
    bits: Words  # per base: WORDS words
    toggle_code: Ints
    toggle_bit: npt.NDArray[np.uint16]


class Events(NamedTuple):
    """Encoded events: `codes[event, column]`; a negative entry -1 - i stands for the several codes of list i,
    in order."""

    codes: Grid
    list_start: Ints
    list_codes: Ints


class Scratch(NamedTuple):
    """What holding a block against a stretch of events takes, kept from block to block."""

    chosen: Ints  # the events that the block is held against
    where: Grid  # [i, entry]: the base for the i-th, -2 - base if bits flip after it, -1 for several
    table: Ints  # per code of the entry at hand: its base
    hits: Words  # the bitmap of one event
    slot_bits: Words
    one: Words


_TABLE = 1 << 14
"""Codes up to here are looked up, not searched for, if there are enough events to make the table pay."""


def scratch_for(blocks: Blocks, size: int) -> Scratch:
    """Room for `size` events."""
    most = int(np.diff(blocks.start).max(initial=1))
    return Scratch(
        np.empty(size, np.int32),
        np.empty((size, most), np.int32),
        np.empty(_TABLE, np.int32),
        np.empty(WORDS, np.uint64),
        np.empty(WORDS, np.uint64),
        np.empty(WORDS, np.uint64),
    )


@kernel
def choose(blocks: Blocks, events: Events, block: int, n: int, scratch: Scratch) -> int:
    """Find the bases of each entry of a block for the first `n` of the chosen events; the value is how many are left.

    Events drop out that lack what every member needs, or whose first bitmap is empty.
    """
    chosen = scratch.chosen
    begin, end = blocks.start[block], blocks.start[block + 1]
    for entry in range(begin, end):
        if blocks.needed[entry] == 1:
            column = blocks.column[entry]
            left = 0
            for i in range(n):
                chosen[left] = chosen[i]
                left += 1 if events.codes[chosen[i], column] != 0 else 0
            n = left
    for entry in range(begin, end):
        if n == 0:
            break
        _locate(blocks, events, entry, n, scratch, entry - begin)
        if entry == begin and end - begin > 1:
            left = 0
            for i in range(n):
                chosen[left], scratch.where[left, 0] = chosen[i], scratch.where[i, 0]
                left += 0 if _is_empty(blocks, scratch.where[i, 0]) else 1
            n = left
    return n


@kernel
def _locate(blocks: Blocks, events: Events, entry: int, n: int, scratch: Scratch, place: int) -> None:
    """The base of one entry for each chosen event."""
    column, first, end = blocks.column[entry], blocks.base_start[entry], blocks.base_start[entry + 1]
    last = np.int64(blocks.base_code[end - 1])
    if last >= _TABLE or last > 16 * n:
        for i in range(n):
            code = events.codes[scratch.chosen[i], column]
            scratch.where[i, place] = _find_base(blocks.base_code, first, end, code) if code >= 0 else -1
    else:
        for base in range(first, end):
            until = blocks.base_code[base + 1] if base + 1 < end else last + 1
            for code in range(blocks.base_code[base], until):
                scratch.table[code] = base
        for i in range(n):
            code = np.int64(events.codes[scratch.chosen[i], column])
            scratch.where[i, place] = scratch.table[min(code, last)] if code >= 0 else -1
    if blocks.base_toggle[first] != blocks.base_end[end - 1]:
        for i in range(n):
            base = scratch.where[i, place]
            toggle = blocks.base_toggle[max(base, 0)]
            some = base >= 0 and toggle < blocks.base_end[base]
            if some and blocks.toggle_code[toggle] <= events.codes[scratch.chosen[i], column]:
                scratch.where[i, place] = -2 - base


@inlined
def _find_base(base_code: Ints, low: int, high: int, code: int) -> int:
    """The last base in [low, high) whose code is at most `code`; the first base's code is 0."""
    size = high - low
    while size > 1:
        half = size >> 1
        low += half if base_code[low + half] <= code else 0
        size -= half
    return low


@inlined
def _is_empty(blocks: Blocks, base: int) -> bool:
    """Whether nobody is admitted."""
    left = np.uint64(1)
    if base >= 0:
        left = np.uint64(0)
        bits = blocks.bits[base * WORDS : (base + 1) * WORDS]
        for w in range(WORDS):
            left |= bits[w]
    return left == 0


@inlined
def match_located(blocks: Blocks, sizes: Ints, events: Events, block: int, i: int, scratch: Scratch) -> bool:
    """`scratch.hits` becomes the bitmap of a block's members that the i-th chosen event satisfies; whether any do."""
    begin, count = blocks.start[block], blocks.start[block + 1] - blocks.start[block]
    _fill(scratch.hits, sizes[block])
    where = scratch.where[i]
    alive = True
    at = 0
    while alive and at < count:
        base = where[at]
        if at + 3 < count and base >= 0 and where[at + 1] >= 0 and where[at + 2] >= 0 and where[at + 3] >= 0:
            alive = _and_four(scratch.hits, blocks.bits, base, where[at + 1], where[at + 2], where[at + 3])
            at += 4
            continue
        if base >= 0:
            alive = _and_into(scratch.hits, blocks.bits, base * WORDS)
        else:
            code = events.codes[scratch.chosen[i], blocks.column[begin + at]]
            if base < -1:
                _admitting(blocks, -2 - base, code, scratch.slot_bits)
            else:
                _admitting_several(blocks, begin + at, events, -1 - code, scratch)
            alive = _and_into(scratch.hits, scratch.slot_bits, 0)
        at += 1
    return alive


@kernel
def _and_into(hits: Words, source: Words, at: int) -> bool:
    """Leave in `hits` what the WORDS words of `source` from `at` on have too; whether anything is left."""
    bits = source[at : at + WORDS]  # plain indices are what vectorises
    left = np.uint64(0)
    for w in range(WORDS):
        word = hits[w] & bits[w]
        hits[w] = word
        left |= word
    return left != 0


@kernel
def _and_four(hits: Words, bits: Words, base: int, second: int, third: int, fourth: int) -> bool:
    """Leave in `hits` what four bases have too, read and written once for all; whether anything is left."""
    one, two = bits[base * WORDS : (base + 1) * WORDS], bits[second * WORDS : (second + 1) * WORDS]
    three, four = bits[third * WORDS : (third + 1) * WORDS], bits[fourth * WORDS : (fourth + 1) * WORDS]
    left = np.uint64(0)
    for w in range(WORDS):
        word = hits[w] & one[w] & two[w] & three[w] & four[w]
        hits[w] = word
        left |= word
    return left != 0


@kernel
def _admitting(blocks: Blocks, base: int, code: int, into: Words) -> None:
    """The bitmap of the members that admit a code, whose base is given."""
    bits = blocks.bits[base * WORDS : (base + 1) * WORDS]
    for w in range(WORDS):
        into[w] = bits[w]
    t = blocks.base_toggle[base]
    end = blocks.base_end[base]
    while t < end and blocks.toggle_code[t] <= code:
        member = np.int64(blocks.toggle_bit[t])
        into[member >> 6] ^= np.uint64(1) << np.uint64(member & 63)
        t += 1


@kernel
def _admitting_several(blocks: Blocks, entry: int, events: Events, which: int, scratch: Scratch) -> None:
    """`scratch.slot_bits` becomes the bitmap of members that admit several codes, one or all by the slot's mode."""
    into, one = scratch.slot_bits, scratch.one
    low, high = blocks.base_start[entry], blocks.base_start[entry + 1]
    first = True
    for i in range(events.list_start[which], events.list_start[which + 1]):
        code = events.list_codes[i]
        _admitting(blocks, _find_base(blocks.base_code, low, high, code), code, one)
        for w in range(WORDS):
            if first:
                into[w] = one[w]
            elif blocks.mode[entry] == SlotMode.ONE_OF:
                into[w] |= one[w]
            else:
                into[w] &= one[w]
        first = False


@inlined
def _fill(hits: Words, size: int) -> None:
    """A one for each member."""
    whole = size >> 6
    for w in range(WORDS):
        hits[w] = np.uint64(0xFFFFFFFFFFFFFFFF) if w < whole else np.uint64(0)
    if whole < WORDS:
        hits[whole] = (np.uint64(1) << np.uint64(size & 63)) - np.uint64(1)
