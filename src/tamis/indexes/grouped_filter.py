"""Grouped filter — Madden, Shah, Hellerstein, Raman (CACQ), as told in seed 002, §3 and Table 1.

Four structures for one attribute: a balanced binary tree of greater-than constants, one of less-than constants, a hash
table for equality and one for inequality. A value walks down each tree once and takes whole subtrees on the
satisfied side.

Deviations. Each tree's node keeps the strict and the non-strict predicates of its constant apart, so that a value
equal to it reports the latter alone. The inequality table is read whole but for the value's own entry. A constant
without predicates stays as an empty node until half of the tree is empty; then the tree is built anew.

Costs, n predicates, L satisfied: search O(log n + L); insert and delete O(log n), the latter amortised; memory O(n).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.indexes.balanced import NONE, BalancedTree
from tamis.indexes.base import Ints, Key, MemoryIndex
from tamis.indexes.buckets import Buckets
from tamis.indexes.hashed_ids import HashedIds
from tamis.model import Domain, Operator, Value

__all__ = ["GroupedFilter"]

_STRICT, _OR_EQUAL = 0, 1


class GroupedFilter(MemoryIndex):
    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self._build({})

    def _build(self, predicates: dict[int, tuple[Operator, Key]]) -> None:
        by: dict[Operator, list[tuple[Key, int]]] = {operator: [] for operator in Operator}
        for id, (operator, key) in predicates.items():
            by[operator].append((key, id))
        self._equal, self._unequal = HashedIds(by[Operator.EQ]), HashedIds(by[Operator.NE])
        self._greater = _Tree(by[Operator.GT], by[Operator.GE])
        self._less = _Tree(by[Operator.LT], by[Operator.LE])
        self._parts: dict[Operator, HashedIds | _Half] = {
            Operator.EQ: self._equal,
            Operator.NE: self._unequal,
            Operator.GT: _Half(self._greater, _STRICT),
            Operator.GE: _Half(self._greater, _OR_EQUAL),
            Operator.LT: _Half(self._less, _STRICT),
            Operator.LE: _Half(self._less, _OR_EQUAL),
        }

    def _put(self, id: int, operator: Operator, key: Key) -> None:
        self._parts[operator].add(key, id)

    def _take(self, id: int, operator: Operator, key: Key) -> None:
        self._parts[operator].remove(key, id)

    def search(self, value: Value) -> Ints:
        key = value.data
        greater, less = self._greater.on_side(key, below=True), self._less.on_side(key, below=False)
        self.visited += 1 + len(self._unequal) + (len(greater) + len(less)) // 2
        parts = [self._equal.at(key), self._unequal.but(key), self._greater.gather(greater), self._less.gather(less)]
        return np.concatenate(parts)

    def _bytes(self) -> int:
        return sum(part.bytes_used() for part in (self._equal, self._unequal, self._greater, self._less))

    def check(self) -> None:
        for part in (self._equal, self._unequal, self._greater, self._less):
            part.check()


class _Tree:
    """A balanced tree whose node i has the buckets 2i (strict) and 2i + 1 (or equal)."""

    def __init__(self, strict: list[tuple[Key, int]], or_equal: list[tuple[Key, int]]) -> None:
        keys = sorted({key for key, _ in strict} | {key for key, _ in or_equal})
        node = {key: at for at, key in enumerate(keys)}
        placed = [(2 * node[key] + kind, id) for kind, pairs in enumerate((strict, or_equal)) for key, id in pairs]
        numbers, ids = np.array(placed, dtype=np.int64).reshape(-1, 2).T
        self._tree = BalancedTree(keys)
        self._buckets = Buckets.of(2 * len(keys), numbers, ids)
        self._empty = 0

    def _alive(self, node: int) -> bool:
        return bool(self._buckets.count[2 * node] or self._buckets.count[2 * node + 1])

    def add(self, key: Key, kind: int, id: int) -> None:
        node = self._tree.insert(key)
        if 2 * node == len(self._buckets):
            self._buckets.extend(2)
        elif not self._alive(node):
            self._empty -= 1
        self._buckets.add(2 * node + kind, id)

    def remove(self, key: Key, kind: int, id: int) -> None:
        node = self._tree.find(key)
        self._buckets.remove(2 * node + kind, id)
        self._empty += not self._alive(node)
        if 2 * self._empty > len(self._tree) + 64:
            self.__init__(self._pairs(_STRICT), self._pairs(_OR_EQUAL))  # type: ignore[misc]

    def _pairs(self, kind: int) -> list[tuple[Key, int]]:
        keys = enumerate(self._tree.keys)
        return [(key, int(id)) for node, key in keys for id in self._buckets.ids(2 * node + kind)]

    def on_side(self, key: Key, *, below: bool) -> npt.NDArray[np.int64]:
        """The buckets that a value equal to the key satisfies: constants below it (or above), and its own."""
        path = self._tree.path(key)
        nodes, equal = self._tree.side(path, key, below=below), self._tree.at(path, key)
        own = [2 * equal + _OR_EQUAL] if equal != NONE else []
        return np.concatenate([2 * nodes, 2 * nodes + 1, np.array(own, dtype=np.int64)])

    def gather(self, buckets: npt.NDArray[np.int64]) -> Ints:
        return self._buckets.gather(buckets)

    def bytes_used(self) -> int:
        return self._tree.bytes_used() + self._buckets.bytes_used()

    def check(self) -> None:
        self._tree.check()
        self._buckets.check()
        assert sum(not self._alive(node) for node in range(len(self._tree))) == self._empty, "empty nodes are counted"


class _Half:
    """The strict, or the other, buckets of a tree."""

    def __init__(self, tree: _Tree, kind: int) -> None:
        self._tree, self._kind = tree, kind

    def add(self, key: Key, id: int) -> None:
        self._tree.add(key, self._kind, id)

    def remove(self, key: Key, id: int) -> None:
        self._tree.remove(key, self._kind, id)
