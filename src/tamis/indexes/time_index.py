"""Time index — Elmasri, Wuu, Kim 1990, as told in seed 002, §3 and Table 1.

The points where intervals start or end stand in order in the leaves of a B+tree. The first entry of a leaf lists all
intervals that run there, the others only what starts and what ends at them: the answer for a value is its leaf's list,
with the changes up to the value applied.

Deviations. Predicates become intervals as `cuts` says (`!=` becomes two). Above the leaves there is one sorted array
of their first points, not further levels: 10^6 points make 4,000 leaves, and a binary search over those is what more
levels would do. Leaves go away when empty and are not merged before.

Costs, n points, L satisfied: search O(log n + L + one leaf's changes); insert and delete at least O(log n), and at most
one entry in every leaf's list, O(n); memory O(n²), as half of all rays run through every leaf. Past 2**27 listed ids
(half a gigabyte) an insertion is refused.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from tamis.errors import LimitError
from tamis.indexes.base import Ints, Key, MemoryIndex
from tamis.indexes.cuts import HIGHEST, LOWEST, KeyCut, before, intervals
from tamis.kernels.indexes.time_line import still_running
from tamis.model import Domain, Operator, Value

__all__ = ["MOST_LISTED", "TimeIndex"]

LEAF = 512
"""Points in a full leaf."""

MOST_LISTED = 2**27


@dataclass(slots=True)
class _Leaf:
    """`running` are the intervals that start before `low` and end at it or later; then come the changes."""

    low: KeyCut
    running: array[int] = field(default_factory=lambda: array("i"))
    points: list[KeyCut] = field(default_factory=list)
    starts: list[list[int]] = field(default_factory=list)
    ends: list[list[int]] = field(default_factory=list)

    def state(self, upto: int, most: int) -> Ints:
        """The intervals that run after the first so many points."""
        started, ended = (list(chain.from_iterable(lists[:upto])) for lists in (self.starts, self.ends))
        running = np.frombuffer(self.running, dtype=np.int32) if self.running else np.empty(0, dtype=np.int32)
        return still_running(running, np.array(started, dtype=np.int32), np.array(ended, dtype=np.int32), most)

    def point(self, cut: KeyCut) -> int:
        """The place of a point, new if need be."""
        at = bisect_left(self.points, cut)
        if at == len(self.points) or self.points[at] != cut:
            self.points.insert(at, cut)
            self.starts.insert(at, [])
            self.ends.insert(at, [])
        return at


class TimeIndex(MemoryIndex):
    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self._build({})

    def _build(self, predicates: dict[int, tuple[Operator, Key]]) -> None:
        most = max(predicates, default=0) + 1
        pieces = [(id, piece) for id, (operator, key) in predicates.items() for piece in intervals(operator, key)]
        changes: dict[KeyCut, tuple[list[int], list[int]]] = {}
        for id, ends in pieces:
            for side, cut in enumerate(ends):
                changes.setdefault(cut, ([], []))[side].append(id)
        first = _Leaf(LOWEST, array("i", changes.pop(LOWEST, ([], []))[0]))
        changes.pop(HIGHEST, None)
        leaves, listed = [first], len(first.running)
        for at, cut in enumerate(sorted(changes)):
            if at and at % (LEAF // 2) == 0:
                leaves.append(_Leaf(cut, _ints(leaves[-1].state(LEAF, most))))
                listed += len(leaves[-1].running)
                _refuse_past(listed)
            leaf = leaves[-1]
            leaf.points.append(cut)
            leaf.starts.append(changes[cut][0])
            leaf.ends.append(changes[cut][1])
        self._leaves, self._listed, self._most = leaves, listed, most
        self._lows = [leaf.low for leaf in leaves]

    def _leaf(self, cut: KeyCut) -> int:
        return bisect_right(self._lows, cut) - 1

    def _through(self, low: KeyCut, high: KeyCut) -> list[_Leaf]:
        """The leaves at whose start the interval runs already."""
        first = 0 if low == LOWEST else bisect_right(self._lows, low)
        return self._leaves[first : bisect_right(self._lows, high)]

    def _put(self, id: int, operator: Operator, key: Key) -> None:
        pieces = intervals(operator, key)
        added = sum(len(self._through(*piece)) for piece in pieces)
        _refuse_past(self._listed + added)
        self._listed += added
        self._most = max(self._most, id + 1)
        for low, high in pieces:
            for leaf in self._through(low, high):
                leaf.running.append(id)
            self._change(low, id, start=True)
            self._change(high, id, start=False)

    def _change(self, cut: KeyCut, id: int, *, start: bool) -> None:
        if cut in (LOWEST, HIGHEST):
            return
        number = self._leaf(cut)
        leaf = self._leaves[number]
        at = leaf.point(cut)
        (leaf.starts if start else leaf.ends)[at].append(id)
        if len(leaf.points) > LEAF:
            self._split(number, leaf)

    def _split(self, number: int, leaf: _Leaf) -> None:
        half = LEAF // 2
        right = _Leaf(leaf.points[half], _ints(leaf.state(half, self._most)))
        right.points, right.starts, right.ends = leaf.points[half:], leaf.starts[half:], leaf.ends[half:]
        del leaf.points[half:], leaf.starts[half:], leaf.ends[half:]
        self._leaves.insert(number + 1, right)
        self._lows.insert(number + 1, right.low)
        self._listed += len(right.running)

    def _take(self, id: int, operator: Operator, key: Key) -> None:
        for low, high in intervals(operator, key):
            for leaf in self._through(low, high):
                leaf.running.remove(id)
                self._listed -= 1
            self._unchange(low, id, start=True)
            self._unchange(high, id, start=False)

    def _unchange(self, cut: KeyCut, id: int, *, start: bool) -> None:
        if cut in (LOWEST, HIGHEST):
            return
        number = self._leaf(cut)
        leaf = self._leaves[number]
        at = leaf.point(cut)
        (leaf.starts if start else leaf.ends)[at].remove(id)
        if not leaf.starts[at] and not leaf.ends[at]:
            del leaf.points[at], leaf.starts[at], leaf.ends[at]
        if not leaf.points and number:  # the state at its start is the one before it: the leaf says nothing new
            self._listed -= len(leaf.running)
            del self._leaves[number], self._lows[number]

    def search(self, value: Value) -> Ints:
        cut = before(value.data)
        leaf = self._leaves[self._leaf(cut)]
        upto = bisect_right(leaf.points, cut)
        self.visited += len(self._leaves).bit_length() + upto
        return leaf.state(upto, self._most)

    @property
    def listed(self) -> int:
        """Ids that stand in the leaves' lists, each leaf's counted."""
        return self._listed

    def _bytes(self) -> int:
        return 4 * self._listed + 200 * sum(len(leaf.points) for leaf in self._leaves)  # a point, by tracemalloc

    def check(self) -> None:
        assert self._lows == [leaf.low for leaf in self._leaves] == sorted(self._lows), "leaves ascend"
        assert self._listed == sum(len(leaf.running) for leaf in self._leaves), "listed ids are counted"
        pieces = [(id, *piece) for id, held in self._held.items() for piece in intervals(*held)]
        for number, leaf in enumerate(self._leaves):
            ids = [id for id, low, high in pieces if leaf in self._through(low, high)]
            assert sorted(ids) == sorted(leaf.running), "a leaf lists what runs at its start"
            assert leaf.points == sorted(set(leaf.points)), "points ascend"
            assert all(self._leaf(point) == number for point in leaf.points), "points are in their leaf"
            assert leaf.points or not number, "no leaf but the first is empty"
        points = {cut for _, *ends in pieces for cut in ends} - {LOWEST, HIGHEST}
        assert sum(len(leaf.points) for leaf in self._leaves) == len(points), "each point serves an interval"


def _ints(ids: Ints) -> array[int]:
    return array("i", ids.tobytes())


def _refuse_past(listed: int) -> None:
    if listed > MOST_LISTED:
        raise LimitError(f"a time index lists at most {MOST_LISTED:,} ids in its leaves", MOST_LISTED, listed)
