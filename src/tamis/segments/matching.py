"""Several segments against one batch: runs of events whose bitmaps fit the cache, answers written once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from tamis.kernels import segment as kernels
from tamis.kernels.blocks import WORDS, Events
from tamis.segments.build import Layout

__all__ = ["Work", "count_matches", "list_matches"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_CACHE_WORDS = 1 << 16
"""Bitmaps of a run of events: half a MiB, so that they stay in the second-level cache."""
_FIRST_FOUND = 1 << 18

Work = npt.NDArray[np.int64]
"""Probes and candidates of clusters."""


class _Run:
    """Scratch for one thread: bitmaps and cluster members of a run of events, per segment."""

    def __init__(self, layouts: Sequence[Layout], length: int) -> None:
        self.layouts = layouts
        self.hits = [np.empty(length * len(layout.block_sizes) * WORDS, np.uint64) for layout in layouts]
        self.touched = [np.empty(length * len(layout.block_sizes), np.uint8) for layout in layouts]
        self.found = [np.empty(_FIRST_FOUND, np.int32) for _ in layouts]
        self.found_start = [np.zeros(length + 1, np.int64) for _ in layouts]
        self.work = np.zeros(2, np.int64)

    def find(self, encoded: Sequence[Events], first: int, last: int, counts: Longs) -> None:
        counts[:] = 0
        for at, layout in enumerate(self.layouts):
            while True:
                before = counts.copy()
                done = kernels.find(
                    layout.blocks, layout.block_sizes, layout.clusters, layout.places, encoded[at], first, last,
                    self.hits[at], self.touched[at], self.found[at], self.found_start[at], counts, self.work,
                )  # fmt: skip
                if done == 0:
                    break
                counts[:] = before
                self.found[at] = np.empty(2 * len(self.found[at]), np.int32)

    def write(self, bases: Sequence[int], out: Ints, at: Longs, end: Longs) -> None:
        for number, layout in enumerate(self.layouts):
            kernels.write(
                layout.places, len(layout.block_sizes), self.hits[number], self.touched[number], self.found[number],
                self.found_start[number], bases[number], out, at, end,
            )  # fmt: skip


def _run_length(layouts: Sequence[Layout]) -> int:
    blocks = max((len(layout.block_sizes) for layout in layouts), default=1)
    return max(1, min(256, _CACHE_WORDS // (max(blocks, 1) * WORDS)))


def count_matches(layouts: Sequence[Layout], encoded: Sequence[Events], size: int, work: Work) -> Longs:
    """Live rows per event."""
    length = _run_length(layouts)
    run = _Run(layouts, length)
    counts = np.zeros(size, np.int64)
    for first in range(0, size, length):
        last = min(first + length, size)
        run.find(encoded, first, last, counts[first:last])
    work += run.work
    return counts


def list_matches(
    layouts: Sequence[Layout], encoded: Sequence[Events], size: int, bases: Sequence[int], work: Work, threads: int = 1
) -> tuple[Longs, Ints]:
    """Live rows of every event as compressed sparse rows, `bases[i]` added to segment i's."""
    if threads > 1 and size > threads:
        edges = np.linspace(0, size, threads + 1).astype(int).tolist()

        def part(number: int) -> tuple[Longs, Ints]:
            return _list(layouts, encoded, edges[number], edges[number + 1], bases, work)

        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(part, range(threads)))
        offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part[0]) for part in parts]))])
        return offsets.astype(np.int64), np.concatenate([part[1] for part in parts])
    return _list(layouts, encoded, 0, size, bases, work)


def _list(
    layouts: Sequence[Layout], encoded: Sequence[Events], start: int, stop: int, bases: Sequence[int], work: Work
) -> tuple[Longs, Ints]:
    length = _run_length(layouts)
    run = _Run(layouts, length)
    offsets = np.zeros(stop - start + 1, np.int64)
    out = np.empty(0, np.int32)
    for first in range(start, stop, length):
        last = min(first + length, stop)
        counts = np.empty(last - first, np.int64)
        run.find(encoded, first, last, counts)
        done = first - start
        np.cumsum(counts, out=offsets[done + 1 : done + 1 + len(counts)])
        offsets[done + 1 : done + 1 + len(counts)] += offsets[done]
        needed = int(offsets[done + len(counts)])
        if needed > len(out):
            out = _grown(out, needed, last - start, stop - start, int(offsets[done]))
        run.write(bases, out, offsets[done : done + len(counts)].copy(), offsets[done + 1 : done + 1 + len(counts)])
    work += run.work
    return offsets, out[: offsets[-1]]


def _grown(out: Ints, needed: int, done: int, total: int, used: int) -> Ints:
    """Room for what the whole batch will need if the rest is like what was seen, and a little more."""
    room = needed if done == total else int(needed / done * total * 1.05) + 1024
    grown = np.empty(max(room, needed), np.int32)
    grown[:used] = out[:used]
    return grown
