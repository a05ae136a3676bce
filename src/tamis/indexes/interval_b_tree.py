"""Interval B+tree — Bozkaya and Özsoyoğlu 1998, as told in seed 002, §3 and Table 1.

A B+tree whose keys are the lower ends of intervals; each entry of an inner node also carries the greatest upper end
below it. A value goes into every child that starts at or below it and reaches beyond it.

Deviations. Predicates become intervals as `cuts` says (`!=` becomes two, of which at most one holds). Intervals with
the same lower end, such as all of `< c`, are ordered by their upper end. Nodes go away when empty and are not merged
before. A search looks through a leaf by a kernel over doubles, and compares exactly where these do not tell.

Costs, n predicates, L satisfied: search O(n), as the seed says, since rays reach beyond every value and prune nothing;
insert and delete O(log n); memory O(n).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.indexes.base import Ints, Key, MemoryIndex
from tamis.indexes.cuts import LOWEST, KeyCut, before, intervals, number
from tamis.kernels.indexes.around import around
from tamis.model import Domain, Operator, Value

__all__ = ["IntervalBTree"]

NODE = 128
"""Entries in a full node."""

Entry: TypeAlias = tuple[KeyCut, KeyCut, int]
"""Lower end, upper end, id: the order of entries."""


class _Leaf:
    __slots__ = ("_ends", "entries", "reach")

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.measure()

    def measure(self) -> None:
        """`reach` is the greatest upper end."""
        self.reach: KeyCut = max((entry[1] for entry in self.entries), default=LOWEST)
        self._ends: tuple[npt.NDArray[np.float64], Ints] | None = None

    def insert(self, entry: Entry) -> None:
        self.entries.insert(bisect_left(self.entries, entry), entry)
        self._ends = None

    def search(self, cut: KeyCut) -> Ints:
        """The ids of the intervals that the cut lies in."""
        if self._ends is None:
            ends = np.array(
                [[number(low) for low, _, _ in self.entries], [number(high) for _, high, _ in self.entries]]
            )
            self._ends = ends, np.array([entry[2] for entry in self.entries], np.int32)
        sure, doubtful = around(*self._ends, number(cut))
        again = [self.entries[at] for at in doubtful.tolist()]
        return np.concatenate([sure, np.array([id for low, high, id in again if low <= cut < high], np.int32)])

    @property
    def first(self) -> Entry:
        return self.entries[0]

    def __len__(self) -> int:
        return len(self.entries)

    def halve(self) -> _Leaf:
        half = len(self.entries) // 2
        right = _Leaf(self.entries[half:])
        del self.entries[half:]
        self.measure()
        return right


class _Inner:
    __slots__ = ("children", "firsts", "reach")

    def __init__(self, children: Sequence[_Leaf | _Inner]) -> None:
        """Children of one type: all leaves are on one level."""
        self.children = list(children)
        self.firsts = [child.first for child in children]
        self.measure()

    def measure(self) -> None:
        self.reach: KeyCut = max(child.reach for child in self.children)

    @property
    def first(self) -> Entry:
        return self.firsts[0]

    def __len__(self) -> int:
        return len(self.children)

    def halve(self) -> _Inner:
        half = len(self.children) // 2
        right = _Inner(self.children[half:])
        del self.children[half:], self.firsts[half:]
        self.measure()
        return right


class IntervalBTree(MemoryIndex):
    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self._build({})

    def _build(self, predicates: dict[int, tuple[Operator, Key]]) -> None:
        entries = sorted(entry for id, held in predicates.items() for entry in _entries(id, *held))
        step = NODE * 3 // 4
        level: Sequence[_Leaf | _Inner] = [
            _Leaf(entries[at : at + step]) for at in range(0, max(len(entries), 1), step)
        ]
        while len(level) > 1:
            level = [_Inner(level[at : at + step]) for at in range(0, len(level), step)]
        self._root: _Leaf | _Inner = level[0]

    def _put(self, id: int, operator: Operator, key: Key) -> None:
        for entry in _entries(id, operator, key):
            right = _insert(self._root, entry)
            if right is not None:
                self._root = _Inner([self._root, right])

    def _take(self, id: int, operator: Operator, key: Key) -> None:
        for entry in _entries(id, operator, key):
            _remove(self._root, entry)
            while isinstance(self._root, _Inner) and len(self._root) == 1:
                self._root = self._root.children[0]

    def search(self, value: Value) -> Ints:
        cut = before(value.data)
        found: list[Ints] = []
        stack = [self._root]
        while stack:
            node = stack.pop()
            self.visited += 1
            if isinstance(node, _Leaf):
                found.append(node.search(cut))
            else:
                started = bisect_right(node.firsts, cut, key=lambda first: first[0])
                stack += [child for child in node.children[:started] if cut < child.reach]
        return np.concatenate(found) if found else np.empty(0, np.int32)

    def _bytes(self) -> int:
        return 195 * len(self._held)  # by tracemalloc: an entry is up to three tuples, and 20 bytes of arrays

    def check(self) -> None:
        held = sorted(entry for id, held in self._held.items() for entry in _entries(id, *held))
        assert _check(self._root, top=True) == held, "the leaves hold each predicate's intervals, in order"


def _entries(id: int, operator: Operator, key: Key) -> list[Entry]:
    return [(low, high, id) for low, high in intervals(operator, key)]


def _insert(node: _Leaf | _Inner, entry: Entry) -> _Leaf | _Inner | None:
    """The new right half, if the node was split."""
    if isinstance(node, _Leaf):
        node.insert(entry)
    else:
        at = max(bisect_right(node.firsts, entry) - 1, 0)
        right = _insert(node.children[at], entry)
        node.firsts[at] = node.children[at].first
        if right is not None:
            node.children.insert(at + 1, right)
            node.firsts.insert(at + 1, right.first)
    node.reach = max(node.reach, entry[1])
    return node.halve() if len(node) > NODE else None


def _remove(node: _Leaf | _Inner, entry: Entry) -> None:
    if isinstance(node, _Leaf):
        del node.entries[bisect_left(node.entries, entry)]
    else:
        at = bisect_right(node.firsts, entry) - 1
        child = node.children[at]
        _remove(child, entry)
        if len(child):
            node.firsts[at] = child.first
        else:
            del node.children[at], node.firsts[at]
    if len(node) or isinstance(node, _Leaf):
        node.measure()


def _check(node: _Leaf | _Inner, *, top: bool = False) -> list[Entry]:
    """All entries below, in order."""
    assert top or len(node), "no node but the root is empty"
    assert len(node) <= NODE, "no node is too full"
    if isinstance(node, _Leaf):
        entries = node.entries
    else:
        assert node.firsts == [child.first for child in node.children], "inner nodes know where children start"
        assert len({type(child) for child in node.children}) == 1, "all leaves are on one level"
        entries = [entry for child in node.children for entry in _check(child)]
    assert node.reach == max((entry[1] for entry in entries), default=LOWEST), "reach is the greatest upper end"
    return entries
