"""One segment against a range of encoded events: find and count, then list.

What an event satisfies in a block is either few rows, which are kept, or found again when it is listed: keeping whole
bitmaps would cost more than that, for they would not fit the cache, while a block that is held against many events in a
row does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel
from tamis.kernels.segments.blocks import Blocks, Events, Scratch, choose, match_located
from tamis.kernels.segments.clusters import Clusters, match_clusters
from tamis.kernels.segments.rows import SPILL, Places, count_block, count_members, list_block, list_members

__all__ = ["FEW", "Finds", "Parts", "Target", "find", "list_found", "nothing_met"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]

FEW = 64
"""Rows of one event in one block that are kept rather than found again."""
_KEPT, _AGAIN = 1, 2


class Parts(NamedTuple):
    """What a segment matches with."""

    blocks: Blocks
    block_sizes: Ints
    clusters: Clusters
    places: Places
    met: Longs  # what events met, ever since: see `nothing_met`


class Finds(NamedTuple):
    """What the events of a range were found to satisfy."""

    touched: Flags  # block by block, per event: 0 if it satisfies nothing there, else how to list what it does
    kept: Ints  # in the same order, where there are few rows: how many, and the rows
    members: Ints  # of clusters, event by event
    member_start: Longs  # per event, and one more: its first in `members`


class Target(NamedTuple):
    """Where rows go, `base` added to each: event i's to `out` from `at[i]` on, which moves on, up to `end[i]`."""

    base: int
    out: Ints
    at: Longs
    end: Longs


def nothing_met(clusters: Clusters) -> Longs:
    """Counters: of each access its candidates, then the events that tell these, all events, and the blocks that these
    looked into, each once per event. Threads count without a lock, so a few may be missing."""
    return np.zeros(len(clusters.hashed) + 3, np.int64)


@kernel
def find(
    parts: Parts, events: Events, first: int, last: int, scratch: Scratch, finds: Finds, counts: Longs, work: Longs
) -> int:
    """Add the live rows that each of the events first to last satisfies to `counts`; fill `finds`.

    The value is how much of `finds.kept` was used, or -1 if `finds.members` is too short and nothing was counted.
    """
    places, met, size = parts.places, parts.met, last - first
    if match_clusters(parts.clusters, events, first, last, finds.members, finds.member_start, work, met) < 0:
        return -1
    met[len(met) - 2] += size
    for at in range(size):
        counts[at] += count_members(places, finds.members, finds.member_start[at], finds.member_start[at + 1])
    used: Any = np.int64(0)  # a literal's type would be tried, and compiled, first
    for block in range(len(parts.block_sizes)):
        for at in range(size):
            scratch.chosen[at] = first + at
            finds.touched[block * size + at] = 0
        left = choose(parts.blocks, events, block, size, scratch)
        met[len(met) - 1] += left
        for i in range(left):
            if not match_located(parts.blocks, parts.block_sizes, events, block, i, scratch):
                continue
            at = scratch.chosen[i] - first
            count = count_block(places, scratch.hits, block)
            counts[at] += count
            finds.touched[block * size + at] = _AGAIN
            if count <= FEW and used + 1 + FEW + SPILL <= len(finds.kept):
                finds.touched[block * size + at] = _KEPT
                finds.kept[used] = count
                used = list_block(places, scratch.hits, block, np.int64(0), finds.kept, used + 1, len(finds.kept))
    return used


@kernel
def list_found(
    parts: Parts, events: Events, first: int, last: int, scratch: Scratch, finds: Finds, target: Target
) -> None:
    """List what `find` found."""
    base, out, at, end = target
    size = last - first
    used = np.int64(0)
    for block in range(len(parts.block_sizes)):
        n: Any = np.int64(0)
        for event in range(size):
            how = finds.touched[block * size + event]
            if how == _AGAIN:
                scratch.chosen[n] = first + event
                n += 1
            elif how == _KEPT:
                count, to = finds.kept[used], at[event]
                for i in range(count):
                    out[to + i] = finds.kept[used + 1 + i] + base
                at[event] = to + count
                used += 1 + count
        for i in range(choose(parts.blocks, events, block, n, scratch)):
            match_located(parts.blocks, parts.block_sizes, events, block, i, scratch)
            event = scratch.chosen[i] - first
            at[event] = list_block(parts.places, scratch.hits, block, base, out, at[event], end[event])
    for event in range(size):
        begin, past = finds.member_start[event], finds.member_start[event + 1]
        at[event] = list_members(parts.places, finds.members, begin, past, base, out, at[event], end[event])
