"""One segment against one event, everything it takes in one table of addresses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, inlined
from tamis.kernels.memory import flags_at, ints_at, longs_at, shorts_at, table_of, words_at
from tamis.kernels.segments.blocks import Blocks, Events, Scratch
from tamis.kernels.segments.clusters import Clusters
from tamis.kernels.segments.finding import Finds, Parts, Target, find, list_found
from tamis.kernels.segments.rows import Places

__all__ = ["ALIVE", "ANY_DEAD", "IN_ORDER", "Buffers", "match_one", "single_table"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_BLOCKS = 0
_SIZES = _BLOCKS + len(Blocks._fields)
_CLUSTERS = _SIZES + 1
_PLACES = _CLUSTERS + len(Clusters._fields)
_SCRATCH = _PLACES + len(Places._fields) - 2  # its first and last fields are numbers
_FINDS = _SCRATCH + len(Scratch._fields)
_CODES = _FINDS + len(Finds._fields)
_OUT, _AT, _COUNTS, _WORK, _NO_LISTS, _SEQUENCE, _KEYS = range(_CODES + 1, _CODES + 8)
_NUMBERS = _KEYS + 1
ALIVE = 2 * (_PLACES + 5)
"""Where in a table the address of the marks of the living is."""
ANY_DEAD = 2 * _NUMBERS + 1
IN_ORDER = 64
"""So many rows, or fewer, are listed in the order of subscribing."""


class Buffers(NamedTuple):
    """The event's codes, room for its rows, what counting, listing and ordering need on the way."""

    codes: Ints
    out: Ints
    at: Longs
    counts: Longs
    work: Longs
    no_lists: Ints
    sequence: Longs
    keys: Longs


def single_table(parts: Parts, scratch: Scratch, finds: Finds, buffers: Buffers) -> Longs:
    """The table of a segment and of one thread's buffers, which must all outlive it."""
    blocks, sizes, clusters, places = parts
    arrays = [*blocks, sizes, *clusters, *places._asdict().values(), *scratch, *finds, *buffers]
    table = table_of([array for array in arrays if isinstance(array, np.ndarray)])
    assert len(table) == 2 * _NUMBERS, "the table and its reader disagree"
    return np.concatenate([table, np.array([places.single_blocks, places.any_dead], np.int64)])


@inlined
def _blocks_at(table: Longs) -> Blocks:
    return Blocks(
        ints_at(table, _BLOCKS), ints_at(table, _BLOCKS + 1), flags_at(table, _BLOCKS + 2),
        flags_at(table, _BLOCKS + 3), ints_at(table, _BLOCKS + 4), ints_at(table, _BLOCKS + 5),
        ints_at(table, _BLOCKS + 6), ints_at(table, _BLOCKS + 7), words_at(table, _BLOCKS + 8),
        ints_at(table, _BLOCKS + 9), shorts_at(table, _BLOCKS + 10),
    )  # fmt: skip


@inlined
def _clusters_at(table: Longs) -> Clusters:
    return Clusters(
        ints_at(table, _CLUSTERS), ints_at(table, _CLUSTERS + 1), ints_at(table, _CLUSTERS + 2),
        flags_at(table, _CLUSTERS + 3), ints_at(table, _CLUSTERS + 4), ints_at(table, _CLUSTERS + 5),
        ints_at(table, _CLUSTERS + 6), words_at(table, _CLUSTERS + 7), ints_at(table, _CLUSTERS + 8),
        ints_at(table, _CLUSTERS + 9), ints_at(table, _CLUSTERS + 10), ints_at(table, _CLUSTERS + 11),
        ints_at(table, _CLUSTERS + 12), flags_at(table, _CLUSTERS + 13),
    )  # fmt: skip


@inlined
def _places_at(table: Longs) -> Places:
    return Places(
        table[2 * _NUMBERS], ints_at(table, _PLACES), ints_at(table, _PLACES + 1), ints_at(table, _PLACES + 2),
        ints_at(table, _PLACES + 3), ints_at(table, _PLACES + 4), words_at(table, _PLACES + 5), table[ANY_DEAD],
    )  # fmt: skip


@inlined
def _scratch_at(table: Longs) -> Scratch:
    where = ints_at(table, _SCRATCH + 1)
    return Scratch(
        ints_at(table, _SCRATCH), where.reshape((1, len(where))), ints_at(table, _SCRATCH + 2),
        words_at(table, _SCRATCH + 3), words_at(table, _SCRATCH + 4), words_at(table, _SCRATCH + 5),
    )  # fmt: skip


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


@allocating  # it makes none, but Numba lets no other function take arrays from addresses
def match_one(table: Longs) -> int:
    """Write the live rows that the event satisfies to the table's `out`, few of them in the order of subscribing; the
    value is their number.

    -1 says that the cluster members found do not fit, a number below -1 how long `out` must be.
    """
    blocks, clusters, places, scratch = _blocks_at(table), _clusters_at(table), _places_at(table), _scratch_at(table)
    parts = Parts(blocks, ints_at(table, _SIZES), clusters, places)
    finds = Finds(
        flags_at(table, _FINDS), ints_at(table, _FINDS + 1), ints_at(table, _FINDS + 2), longs_at(table, _FINDS + 3)
    )
    codes, lists = ints_at(table, _CODES), ints_at(table, _NO_LISTS)
    events = Events(codes.reshape((1, len(codes))), lists, lists)
    out, at, counts, work = (
        ints_at(table, _OUT), longs_at(table, _AT), longs_at(table, _COUNTS), longs_at(table, _WORK)
    )  # fmt: skip
    at[0], counts[0] = 0, 0
    probes, candidates = work[0], work[1]
    first = at[0]  # a variable: for a literal Numba would compile everything again
    found = find(parts, events, first, first + 1, scratch, finds, counts, work)
    if found < 0 or counts[0] > len(out):
        work[0], work[1] = probes, candidates  # it will be asked again
        return -1 if found < 0 else -counts[0] - 2
    list_found(parts, events, first, first + 1, scratch, finds, Target(first, out, at, counts))
    if counts[0] <= IN_ORDER:
        _order(out, counts[0], longs_at(table, _SEQUENCE), longs_at(table, _KEYS))
    return counts[0]
