"""One segment against a run of encoded events: find, count, then list.

The caller cuts a batch into runs whose bitmaps fit the cache, calls `find` for each, makes room, and calls `write`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.blocks import WORDS, Blocks, Events, match_blocks
from tamis.kernels.clusters import Clusters, match_clusters
from tamis.kernels.jit import kernel
from tamis.kernels.rows import Places, count_hits, count_members, list_hits, list_members

__all__ = ["find", "match_one", "write"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.uint8]


@kernel
def find(
    blocks: Blocks, sizes: Ints, clusters: Clusters, places: Places, events: Events, first: int, last: int,
    hits: Words, touched: Flags, found: Ints, found_start: Longs, counts: Longs, work: Longs,
) -> int:  # fmt: skip
    """What events first to last satisfy: bitmaps in `hits`, cluster members in `found`, live rows in `counts`.

    The value is -1 if `found` is too short, 0 else.
    """
    match_blocks(blocks, sizes, events, first, last, hits, touched)
    if match_clusters(clusters, events, first, last, found, found_start, work) < 0:
        return -1
    for at in range(last - first):
        members = count_members(places, found, found_start[at], found_start[at + 1])
        counts[at] += count_hits(places, hits, touched, WORDS, len(sizes), at) + members
    return 0


@kernel
def write(
    places: Places, block_count: int, hits: Words, touched: Flags, found: Ints, found_start: Longs,
    base: int, out: Ints, at: Longs, end: Longs,
) -> None:  # fmt: skip
    """List the rows of each event from `out[at[event]]` on, `base` added to each; `at` moves on, up to `end`."""
    for event in range(len(at)):
        first = at[event]
        n = list_hits(places, hits, touched, WORDS, block_count, event, out, first, end[event])
        n = list_members(places, found, found_start[event], found_start[event + 1], out, n, end[event])
        if base != 0:
            for i in range(first, n):
                out[i] += base
        at[event] = n


@kernel
def match_one(
    blocks: Blocks, sizes: Ints, clusters: Clusters, places: Places, events: Events,
    hits: Words, touched: Flags, found: Ints, found_start: Longs, out: Ints, work: Longs,
) -> int:  # fmt: skip
    """The live rows of the one event there is; the value is their number.

    -1 says that `found` is too short, a number below -1 how long `out` must be.
    """
    match_blocks(blocks, sizes, events, 0, 1, hits, touched)
    members = match_clusters(clusters, events, 0, 1, found, found_start, work)
    if members < 0:
        return -1
    needed = count_hits(places, hits, touched, WORDS, len(sizes), 0) + count_members(places, found, 0, members)
    if needed > len(out):
        return -needed - 2
    n = list_hits(places, hits, touched, WORDS, len(sizes), 0, out, 0, len(out))
    return list_members(places, found, 0, members, out, n, len(out))
