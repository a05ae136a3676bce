"""One segment against one event, everything it takes in one table of addresses."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel
from tamis.kernels.memory import Grid, fields_of, place_of, reader_of, table_of
from tamis.kernels.segments.blocks import Events, Scratch
from tamis.kernels.segments.finding import Finds, Parts, Target, find, list_found

__all__ = ["ALIVE", "ANY_DEAD", "IN_ORDER", "STALE", "Buffers", "Single", "match_one", "single_table"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

IN_ORDER = 64
"""So many rows, or fewer, are listed in the order of subscribing."""
STALE = -(1 << 62)
"""What `match_one` says if it was compiled for other fields than the table has."""


class Buffers(NamedTuple):
    """The event's codes, also of attributes that have several, room for its rows, what is needed on the way."""

    codes: Grid
    out: Ints
    at: Longs
    counts: Longs
    work: Longs
    list_start: Ints
    list_codes: Ints
    sequence: Longs
    keys: Longs


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
def _order(rows: Ints, count: int, sequence: Longs, keys: Longs) -> None:
    """A few rows by their numbers in the order of subscribing, which `keys` has room for."""
    for at in range(count):
        row = rows[at]
        key = sequence[row]
        to = at
        while to > 0 and keys[to - 1] > key:
            keys[to], rows[to] = keys[to - 1], rows[to - 1]
            to -= 1
        keys[to], rows[to] = key, row


@kernel
def match_one(table: Longs) -> int:
    """Write the live rows that the event satisfies to the table's `out`, few of them in the order of subscribing; the
    value is their number.

    -1 says that the cluster members found do not fit, a number below -1 how long `out` must be.
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
    if found < 0 or counts[0] > len(out):
        work[0], work[1] = probes, candidates  # it will be asked again
        return -1 if found < 0 else -counts[0] - 2
    list_found(parts, events, first, first + 1, scratch, finds, Target(first, out, at, counts))
    if counts[0] <= IN_ORDER:
        _order(out, counts[0], buffers.sequence, buffers.keys)
    return counts[0]
