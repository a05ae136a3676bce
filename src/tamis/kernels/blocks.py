"""Bitmap blocks: the ToPSS predicate table and bit matrix, turned round.

A block holds up to 4,096 conjunctions, one bit each. For each slot that any of them uses it can produce, for every
code, the bitmap of the members that admit the code; matching is the AND of one such bitmap per slot.

As the code grows past an interval's ends, one member's bit flips: a *toggle*. Bitmaps are stored at some codes only
(*bases*), the toggles between them in order, so that any domain, however large, is exact: take the last base at or
before the event's code and flip what lies between. A small domain has a base at each of its toggles and needs none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel

__all__ = ["ALL", "ANY", "MEMBERS", "WORDS", "Blocks", "Events", "match_blocks"]

MEMBERS = 4096
"""Conjunctions per block."""
WORDS = MEMBERS // 64

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]

ANY, ALL = 0, 1
"""How a slot takes several values: one of them must be admitted, or all of them."""


class Blocks(NamedTuple):
    """Block b uses the entries `start[b]` to `start[b + 1]`; entry s has the bases `base_start[s]` to `[s + 1]`."""

    start: Ints
    column: Ints  # per entry: the event column of its slot
    mode: npt.NDArray[np.uint8]  # per entry: ANY or ALL
    needed: npt.NDArray[np.uint8]  # per entry: every member refuses a missing value
    base_start: Ints
    base_code: Ints  # per base: from which code on it holds
    base_toggle: Ints  # per base: its first toggle
    base_end: Ints  # per base: one past its last toggle
    bits: Words  # per base: WORDS words
    toggle_code: Ints
    toggle_bit: npt.NDArray[np.uint16]


class Events(NamedTuple):
    """Encoded events: `codes[event, column]`; a negative entry -1 - i stands for the several codes of list i."""

    codes: npt.NDArray[np.int32]
    list_start: Ints
    list_codes: Ints


@inlined
def _find_base(base_code: Ints, low: int, high: int, code: int) -> int:
    """The last base in [low, high) whose code is at most `code`; the first base's code is 0."""
    while high - low > 1:
        middle = (low + high) >> 1
        if base_code[middle] <= code:
            low = middle
        else:
            high = middle
    return low


@inlined
def _admitting(blocks: Blocks, entry: int, code: int, into: Words) -> None:
    """The bitmap of the members of an entry that admit a code."""
    base = _find_base(blocks.base_code, blocks.base_start[entry], blocks.base_start[entry + 1], code)
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
def _admitting_several(blocks: Blocks, entry: int, events: Events, which: int, into: Words, one: Words) -> None:
    """The same for several codes: the union of their bitmaps, or what they have in common."""
    first = True
    for i in range(events.list_start[which], events.list_start[which + 1]):
        _admitting(blocks, entry, events.list_codes[i], one)
        for w in range(WORDS):
            if first:
                into[w] = one[w]
            elif blocks.mode[entry] == ANY:
                into[w] |= one[w]
            else:
                into[w] &= one[w]
        first = False


@inlined
def _and_into(hits: Words, bits: Words) -> bool:
    """hits &= bits; whether anything is left. Both are slices of WORDS words: plain indices are what vectorises."""
    left = np.uint64(0)
    for w in range(WORDS):
        word = hits[w] & bits[w]
        hits[w] = word
        left |= word
    return left != 0


@inlined
def _fill(hits: Words, size: int) -> None:
    """A one for each member."""
    whole = size >> 6
    for w in range(WORDS):
        hits[w] = np.uint64(0xFFFFFFFFFFFFFFFF) if w < whole else np.uint64(0)
    if whole < WORDS:
        hits[whole] = (np.uint64(1) << np.uint64(size & 63)) - np.uint64(1)


@kernel
def match_blocks(
    blocks: Blocks, sizes: Ints, events: Events, first: int, last: int, hits: Words, touched: Flags
) -> None:
    """`hits[(event - first) * blocks + block]` becomes the bitmap of the members that events first to last satisfy.

    `touched` says of each bitmap whether it has a one at all; those that have none are not written.

    Blocks outside, events inside: a block's bases stay in cache for the whole batch.
    """
    count = len(blocks.start) - 1
    slot_bits, one = np.empty(WORDS, np.uint64), np.empty(WORDS, np.uint64)
    for block in range(count):
        begin, end = blocks.start[block], blocks.start[block + 1]
        for event in range(first, last):
            at = ((event - first) * count + block) * WORDS
            mine = hits[at : at + WORDS]
            alive = True
            for entry in range(begin, end):
                if blocks.needed[entry] == 1 and events.codes[event, blocks.column[entry]] == 0:
                    alive = False
                    break
            touched[(event - first) * count + block] = 0
            if not alive:
                continue
            _fill(mine, sizes[block])
            for entry in range(begin, end):
                code = events.codes[event, blocks.column[entry]]
                if code >= 0:
                    base = _find_base(blocks.base_code, blocks.base_start[entry], blocks.base_start[entry + 1], code)
                    t = blocks.base_toggle[base]
                    if t == blocks.base_end[base] or blocks.toggle_code[t] > code:
                        alive = _and_into(mine, blocks.bits[base * WORDS : (base + 1) * WORDS])
                    else:
                        _admitting(blocks, entry, code, slot_bits)
                        alive = _and_into(mine, slot_bits)
                else:
                    _admitting_several(blocks, entry, events, -1 - code, slot_bits, one)
                    alive = _and_into(mine, slot_bits)
                if not alive:
                    break
            touched[(event - first) * count + block] = 1 if alive else 0
