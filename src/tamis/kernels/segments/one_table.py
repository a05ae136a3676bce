"""One segment against one event, everything it takes in one table of addresses."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.bits import trailing_zeros
from tamis.kernels.jit import inlined, kernel
from tamis.kernels.memory import Grid, fields_of, place_of, reader_of, table_of
from tamis.kernels.segments.blocks import Events, Scratch
from tamis.kernels.segments.finding import Finds, Parts, Target, find, list_found
from tamis.kernels.segments.rows import is_alive

__all__ = [
    "ALIVE",
    "ANY_DEAD",
    "FEW_ROWS",
    "STALE",
    "UNRANKED",
    "Buffers",
    "Ranks",
    "Single",
    "match_one",
    "single_table",
]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

FEW_ROWS = 64
"""So many rows, or fewer, are put in the order of subscribing by comparing; more by their ranks."""
STALE = -(1 << 62)
"""What `match_one` says if it was compiled for other fields than the table has."""
UNRANKED = -(1 << 61)
"""What it says if there are more than `FEW_ROWS`, and the table has no ranks yet."""


class Ranks(NamedTuple):
    """A segment's subscriptions in their order; empty, until somebody needs it."""

    rank: Ints  # per row: how many subscriptions come before its own
    ranked: Ints  # per rank: the first row of that subscription
    marks: Words  # a bit per rank, all zero between two calls
    summary: Words  # a bit per word of `marks`, likewise


class Buffers(NamedTuple):
    """The event's codes, also of attributes that have several, room for its rows, what is needed on the way."""

    codes: Grid
    out: Ints
    at: Longs
    counts: Longs
    work: Longs
    list_start: Ints
    list_codes: Ints
    canon: Ints  # per row: the first of its subscription; empty, if each is
    sequence: Longs  # per row: its number in the order of subscribing
    keys: Longs  # room for FEW_ROWS of those
    ranks: Ranks


class Single(NamedTuple):
    """All that matching one event takes."""

    fields: int  # tells tables apart that were made for different fields
    parts: Parts
    scratch: Scratch
    finds: Finds
    buffers: Buffers


_FIELDS = zlib.crc32(repr(fields_of(Single)).encode())
ALIVE = place_of(Single, "parts.places.alive")
"""Where in a table the address of the marks of the living is."""
ANY_DEAD = place_of(Single, "parts.places.any_dead")

_single_at = reader_of(Single)


def single_table(parts: Parts, scratch: Scratch, finds: Finds, buffers: Buffers) -> Longs:
    """The table of a segment and of one thread's buffers, which must all outlive it."""
    return table_of(Single(_FIELDS, parts, scratch, finds, buffers))


@inlined
def _once_each(rows: Ints, count: int, canon: Ints, alive: Words, any_dead: int) -> Any:
    """Rows become the first rows of their subscriptions, if these live; one may come several times."""
    kept: Any = np.int64(0)
    for at in range(count):
        row = canon[rows[at]]
        rows[kept] = row
        kept += 1 if any_dead == 0 or is_alive(alive, row) else 0
    return kept


@inlined
def _compare(rows: Ints, count: int, sequence: Longs, keys: Longs) -> Any:
    """A few rows by their numbers in the order of subscribing, each once; how many are left."""
    kept: Any = np.int64(0)
    for at in range(count):
        row = rows[at]
        key = sequence[row]
        to = kept
        while to > 0 and keys[to - 1] > key:
            to -= 1
        if to > 0 and keys[to - 1] == key:
            continue
        for place in range(kept, to, -1):
            keys[place], rows[place] = keys[place - 1], rows[place - 1]
        keys[to], rows[to] = key, row
        kept += 1
    return kept


@inlined
def _mark(rows: Ints, count: int, ranks: Ranks, alive: Words, any_dead: int) -> Any:
    """Many rows become the first ones of their subscriptions, each once, if it lives: their ranks are marked in a
    bitmap, and read off it; how many are left."""
    by_row, ranked, marks, summary = ranks
    for i in range(count):
        rank = np.int64(by_row[rows[i]])
        marks[rank >> 6] |= np.uint64(1) << np.uint64(rank & 63)
        summary[rank >> 12] |= np.uint64(1) << np.uint64((rank >> 6) & 63)
    kept: Any = np.int64(0)
    for place in range(len(summary)):
        words = summary[place]
        summary[place] = np.uint64(0)
        while words != 0:
            at = np.int64(place * 64) + np.int64(trailing_zeros(words))
            words &= words - np.uint64(1)
            bits = marks[at]
            marks[at] = np.uint64(0)
            while bits != 0:
                row = ranked[at * 64 + np.int64(trailing_zeros(bits))]
                bits &= bits - np.uint64(1)
                rows[kept] = row
                kept += 1 if any_dead == 0 or is_alive(alive, row) else 0
    return kept


@kernel
def match_one(table: Longs) -> int:
    """Write the first rows of the living that the event satisfies to the table's `out`, in the order of subscribing;
    the value is their number.

    -1 says that the cluster members found do not fit, a number below -1 how long `out` must be, or `UNRANKED`. What the
    event met is then counted twice in `parts.met`, which only estimates.
    """
    if table[0] != _FIELDS:
        return STALE
    _, parts, scratch, finds, buffers = _single_at(table)
    out, at, counts, work = buffers.out, buffers.at, buffers.counts, buffers.work
    events = Events(buffers.codes, buffers.list_start, buffers.list_codes)
    at[0], counts[0] = 0, 0
    probes, candidates = work[0], work[1]
    first = at[0]  # a variable: for a literal Numba would compile everything again
    found = find(parts, events, first, first + 1, scratch, finds, counts, work)
    many = counts[0] > FEW_ROWS
    if found < 0 or counts[0] > len(out) or (many and len(buffers.ranks.rank) == 0):
        work[0], work[1] = probes, candidates  # it will be asked again
        return -1 if found < 0 else -counts[0] - 2 if counts[0] > len(out) else UNRANKED
    list_found(parts, events, first, first + 1, scratch, finds, Target(first, out, at, counts))
    alive, any_dead = parts.places.alive, parts.places.any_dead
    if many:
        return _mark(out, counts[0], buffers.ranks, alive, any_dead)
    count = counts[0]
    if len(buffers.canon) > 0:
        count = _once_each(out, count, buffers.canon, alive, any_dead)
    return _compare(out, count, buffers.sequence, buffers.keys)
