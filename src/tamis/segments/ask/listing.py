"""Several segments against one batch: first count what each event satisfies, then write all of it where it belongs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tamis.kernels.segments.blocks import Events, scratch_for
from tamis.kernels.segments.finding import FEW, Finds, Target, find, list_found
from tamis.kernels.segments.rows import SPILL
from tamis.segments.ask.buffers import answer_buffer
from tamis.segments.compile.layout import Layout
from tamis.segments.errands import side_by_side

__all__ = ["Work", "count_matches", "list_matches"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_AT_ONCE = 1024
"""Events held against a block while it is in the cache."""
_MEMBERS = 1 << 16
_KEPT = 1 << 21
"""Room for rows found in blocks where an event has few; past it they are found twice."""

Work = npt.NDArray[np.int64]
"""Probes and candidates of clusters."""


class _Finder:
    """A stretch of events against one segment."""

    def __init__(self, layout: Layout, events: Events, first: int, last: int) -> None:
        self._parts, self._events, self._range = layout.parts, events, (first, last)
        self._scratch = scratch_for(layout.blocks, last - first)
        self._finds: Finds | None = None

    def find(self, counts: Longs, work: Work, members: Ints, kept: Ints) -> Ints:
        """Add the live rows of each event to `counts`; the value is `members`, perhaps longer than before."""
        first, last = self._range
        touched = np.empty(len(self._parts.block_sizes) * (last - first), np.uint8)
        member_start = np.empty(last - first + 1, np.int64)
        before = work.copy()
        while True:
            finds = Finds(touched, kept, members, member_start)
            used = find(self._parts, self._events, first, last, self._scratch, finds, counts, work)
            if used >= 0:
                break
            members = np.empty(2 * len(members), np.int32)
            work[:] = before
        self._finds = Finds(touched, kept[:used].copy(), members[: member_start[-1]].copy(), member_start)
        return members

    def write(self, target: Target) -> None:
        assert self._finds is not None, "find comes first"
        list_found(self._parts, self._events, *self._range, self._scratch, self._finds, target)


class _Share:
    """The events of one thread, stretch by stretch against all segments."""

    def __init__(self, layouts: Sequence[Layout], encoded: Sequence[Events], first: int, last: int) -> None:
        self._layouts, self._encoded = layouts, encoded
        self._first = first
        self._stretches = [(start, min(start + _AT_ONCE, last)) for start in range(first, last, _AT_ONCE)]
        self._found: list[list[_Finder]] = []
        self.counts = np.zeros(last - first, np.int64)
        self.work = np.zeros(2, np.int64)
        self.wanted = True

    def find(self, *, keep: bool) -> None:
        """Count the live rows of each event; `keep` what `write` needs."""
        members, kept = np.empty(_MEMBERS, np.int32), np.empty(self._room() if keep else 0, np.int32)
        for first, last in self._stretches:
            if not self.wanted:
                return
            counts = self.counts[first - self._first : last - self._first]
            finders = []
            for layout, events in zip(self._layouts, self._encoded, strict=True):
                finder = _Finder(layout, events, first, last)
                members = finder.find(counts, self.work, members, kept)
                finders.append(finder)
            if keep:
                self._found.append(finders)

    def _room(self) -> int:
        """For few rows of each event in each block, but not for ever so many of them."""
        blocks = max((len(layout.block_sizes) for layout in self._layouts), default=0)
        return min(_KEPT, blocks * min(_AT_ONCE, len(self.counts)) * (1 + FEW) + SPILL)

    def write(self, bases: Sequence[int], offsets: Longs, out: Ints) -> None:
        """Event i's rows from `out[offsets[i]]` on, `bases[j]` added to segment j's."""
        for (first, last), finders in zip(self._stretches, self._found, strict=True):
            if not self.wanted:
                return
            at, end = offsets[first:last].copy(), offsets[first + 1 : last + 1]
            for finder, base in zip(finders, bases, strict=True):
                finder.write(Target(base, out, at, end))


def count_matches(layouts: Sequence[Layout], encoded: Sequence[Events], size: int, work: Work) -> Longs:
    """Live rows per event."""
    share = _Share(layouts, encoded, 0, size)
    share.find(keep=False)
    work += share.work
    return share.counts


def list_matches(
    layouts: Sequence[Layout], encoded: Sequence[Events], size: int, bases: Sequence[int], work: Work, threads: int = 1
) -> tuple[Longs, Ints]:
    """Live rows of every event as compressed sparse rows, `bases[i]` added to segment i's."""
    edges = np.linspace(0, size, max(1, min(threads, size)) + 1).astype(int).tolist()
    shares = [_Share(layouts, encoded, first, last) for first, last in pairwise(edges)]
    offsets = np.zeros(size + 1, np.int64)
    _together(shares, [partial(share.find, keep=True) for share in shares])
    np.cumsum(np.concatenate([share.counts for share in shares]), out=offsets[1:])
    out = answer_buffer(int(offsets[-1]))
    _together(shares, [partial(share.write, bases, offsets, out) for share in shares])
    for share in shares:
        work += share.work
    return offsets, out


def _together(shares: Sequence[_Share], calls: Sequence[Callable[[], object]]) -> None:
    try:
        side_by_side(calls)
    except BaseException:
        for share in shares:
            share.wanted = False  # what still runs stops soon
        raise
