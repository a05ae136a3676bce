"""Many needles in many texts at once: the automaton of Aho and Corasick (1975), as arrays.

States are the beginnings of needles. From a state a byte leads on, if some needle goes on so, else the state *falls
back* to the longest ending of itself that is a beginning, too. A text is gone through once, whatever the number of
needles; a needle that a text has is told once for it.

    next     (state, byte) → state, a hash table of two numbers an entry: 256 * state + byte, -1 if it is free, and the
             state that it leads to
    first    byte → state, from the empty beginning, where most texts are most of the time
    fall     where a state falls back to
    needle   the needle that a state is the end of, or -1
    above    the nearest state down the falls that is the end of a needle, 0 if there is none

Texts are fed with a byte before and one behind them that no UTF-8 has: a needle with them stands at an end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel
from tamis.kernels.numbering import spread

__all__ = ["END", "START", "Automaton", "Found", "automaton_of", "search"]

START, END = 0xFE, 0xFF

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Long = np.int64


class Automaton(NamedTuple):
    """See above. Entry s of `fall`, `needle` and `above` is of state s; state 0 is the empty beginning."""

    next: Longs
    first: Ints
    fall: Ints
    needle: Ints
    above: Ints


class _Growth(NamedTuple):
    """Of each state while the automaton is built: the state before it, the byte between them, how deep it lies."""

    parent: Ints
    byte: Bytes
    depth: Ints


class Found(NamedTuple):
    """Text `texts[i]` has needle `needles[i]`. `seen` is scratch: by needle, the last text that had it, counted from
    `first` on, which is higher in each call."""

    texts: Ints
    needles: Ints
    seen: Longs


def automaton_of(letters: Bytes, ends: Longs) -> Automaton:
    """Of needles, all different and none empty; needle i is `letters[ends[i] : ends[i + 1]]`."""
    room = len(letters) + 1
    growth = _Growth(np.zeros(room, np.int32), np.zeros(room, np.uint8), np.zeros(room, np.int32))
    table = 1 << max(4, (2 * room).bit_length())
    needle = np.full(room, -1, np.int32)
    following, first = np.full(2 * table, -1, np.int64), np.zeros(256, np.int32)
    states = _grow(letters, ends, following, needle, growth)
    begins = growth.depth[:states] == 1
    first[growth.byte[:states][begins]] = np.flatnonzero(begins)
    made = Automaton(following, first, np.zeros(states, np.int32), needle[:states].copy(), np.zeros(states, np.int32))
    _link(made, growth, np.argsort(growth.depth[:states], kind="stable"))
    return made


@inlined
def _place(table: Longs, key: Long) -> Any:
    """Where the key is, or would be; the table has a power of two of entries and is never full."""
    mask = np.uint64(table.shape[0] - 1)
    at = (spread(np.uint64(key)) << np.uint64(1)) & mask
    while table[at] != -1 and table[at] != key:
        at = (at + np.uint64(2)) & mask
    return at


@kernel
def _grow(letters: Bytes, ends: Longs, following: Longs, needle: Ints, growth: _Growth) -> int:
    """A state for each beginning of a needle; the value is how many there are."""
    states = 1
    for number in range(ends.shape[0] - 1):
        state = np.int64(0)
        for at in range(ends[number], ends[number + 1]):
            key = state * 256 + np.int64(letters[at])
            place = _place(following, key)
            if following[place] == -1:
                following[place] = key
                following[place + np.uint64(1)] = states
                growth.parent[states] = state
                growth.byte[states] = letters[at]
                growth.depth[states] = growth.depth[state] + 1
                states += 1
            state = following[place + np.uint64(1)]
        needle[state] = number
    return states


@kernel
def _link(made: Automaton, growth: _Growth, order: Longs) -> None:
    """The falls, in the order of depth: a state falls to something less deep, whose falls are then known."""
    for at in range(order.shape[0]):
        state = order[at]
        if growth.depth[state] > 1:
            back = _step(made, np.int64(made.fall[growth.parent[state]]), np.int64(growth.byte[state]))
            made.fall[state] = back
            made.above[state] = back if made.needle[back] >= 0 else made.above[back]


@inlined
def _step(made: Automaton, state: Long, byte: Long) -> Long:
    """The longest ending of what was read that is the beginning of a needle."""
    while state > 0:
        place = _place(made.next, state * 256 + byte)
        if made.next[place] != -1:
            return made.next[place + np.uint64(1)]
        state = np.int64(made.fall[state])
    return np.int64(made.first[byte])


@kernel
def search(made: Automaton, letters: Bytes, ends: npt.NDArray[Any], first: int, found: Found) -> int:
    """The needles of each text, once; text i is `letters[ends[i] : ends[i + 1]]`. The value is how many pairs there
    are, also where `found` has no room for them."""
    count = 0
    for text in range(ends.shape[0] - 1):
        state = _step(made, np.int64(0), np.int64(START))
        for at in range(np.int64(ends[text]), np.int64(ends[text + 1]) + 1):
            byte = np.int64(letters[at]) if at < ends[text + 1] else np.int64(END)
            state = _step(made, state, byte)
            hit = state if made.needle[state] >= 0 else np.int64(made.above[state])
            while hit > 0 and found.seen[made.needle[hit]] != first + text:
                found.seen[made.needle[hit]] = first + text
                if count < found.texts.shape[0]:
                    found.texts[count] = text
                    found.needles[count] = made.needle[hit]
                count += 1
                hit = np.int64(made.above[hit])
    return count
