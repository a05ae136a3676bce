"""Interval binary search tree — Hanson, Chaabouni, Kim, Wang 1990, as told in seed 002, §3 and Table 1.

A balanced tree over the ends of intervals; an interval leaves its mark on O(log n) nodes whose whole left side, own
constant or whole right side it covers. A value walks down once and takes the marks of the side it goes to.

Deviations. A predicate is not an interval with two ends: `= c` is [c, c], `< c` is (-∞, c), `>= c` is [c, ∞), and
`!=` is two intervals, as seed 002 §5 says of structures made for intervals. Balance is red-black rather than AVL; the
marks move with rotations by the same rules. A constant without predicates keeps its node until half of the nodes
are so; then the tree is built anew, instead of the paper's deletion by exchange.

Invariant: a mark stands at a node only if no node above it says the same, so that a value meets each id once.

Costs, n constants, L satisfied: search O(log n + L); insert and delete O(log n) marks, each into a bucket, and the
marks of rotated nodes (rays make them long, as the seed says: "overlap will rise greatly"); memory O(n log n).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tamis.indexes.balanced import BalancedTree
from tamis.indexes.base import Ints, Key, MemoryIndex
from tamis.indexes.buckets import Buckets
from tamis.kernels.indexes.marks import marks
from tamis.model import Domain, Operator, Value

__all__ = ["IbsTree"]

_LEFT, _OWN, _RIGHT = range(3)

_RAYS = {
    Operator.EQ: ((0, True),),
    Operator.NE: ((-1, False), (1, False)),
    Operator.LT: ((-1, False),),
    Operator.LE: ((-1, True),),
    Operator.GT: ((1, False),),
    Operator.GE: ((1, True),),
}
"""Each operator as (direction, closed) from its constant."""


class IbsTree(MemoryIndex):
    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self._build({})

    def _build(self, predicates: dict[int, tuple[Operator, Key]]) -> None:
        keys = sorted({key for _, key in predicates.values()})
        node = {key: at for at, key in enumerate(keys)}
        rays = [(id, node[key], *ray) for id, (operator, key) in predicates.items() for ray in _RAYS[operator]]
        self._tree = BalancedTree(keys, self._rotated)
        left, right = (np.array(side, dtype=np.int32) for side in (self._tree.left, self._tree.right))
        placed = marks(left, right, self._tree.root, np.array(rays, dtype=np.int64).reshape(-1, 4))
        self._buckets = Buckets.of(3 * len(keys), placed[:, 0], placed[:, 1])
        self._uses = np.bincount([node[key] for _, key in predicates.values()], minlength=len(keys)).tolist()
        self._empty = 0

    def _put(self, id: int, operator: Operator, key: Key) -> None:
        node = self._tree.insert(key)
        self._grow()
        self._empty -= node < len(self._uses) and not self._uses[node]
        if node == len(self._uses):
            self._uses.append(0)
        self._uses[node] += 1
        for bucket in self._marks(operator, key):
            self._buckets.add(bucket, id)

    def _take(self, id: int, operator: Operator, key: Key) -> None:
        for bucket in self._marks(operator, key):
            self._buckets.remove(bucket, id)
        node = self._tree.find(key)
        self._uses[node] -= 1
        self._empty += not self._uses[node]
        if 2 * self._empty > len(self._tree) + 64:
            self._build({other: held for other, held in self._held.items() if other != id})

    def _marks(self, operator: Operator, key: Key) -> Iterator[int]:
        """The buckets that hold a predicate's marks. The key has a node."""
        path = self._tree.path(key)
        for direction, closed in _RAYS[operator]:
            if closed:
                yield 3 * path[-1] + _OWN
            if direction:
                yield 3 * path[-1] + _OWN + direction
            for node in path[:-1]:
                above = key < self._tree.keys[node]
                if direction and above == (direction > 0):  # the ray covers this constant and all beyond it
                    yield 3 * node + _OWN
                    yield 3 * node + _OWN + direction

    def _grow(self) -> None:
        missing = 3 * len(self._tree) - len(self._buckets)
        if missing > 0:
            self._buckets.extend(missing)

    def _rotated(self, upper: int, lower: int) -> None:
        """Hanson's rules. `lower` came up from the outer side; what lay between the two now hangs on `upper`."""
        self._grow()
        outer, inner = (_LEFT, _RIGHT) if self._tree.right[lower] == upper else (_RIGHT, _LEFT)
        down = [self._buckets.ids(3 * upper + side).copy() for side in (outer, _OWN, inner)]
        came = [self._buckets.ids(3 * lower + side).copy() for side in (outer, _OWN, inner)]
        between = np.concatenate([came[2], down[0]])
        raised = np.intersect1d(np.intersect1d(between, down[1]), down[2])
        self._buckets.replace(3 * lower + outer, np.concatenate([came[0], down[0]]))
        self._buckets.replace(3 * lower + _OWN, np.concatenate([came[1], down[0]]))
        self._buckets.replace(3 * lower + inner, raised)
        for side, ids in ((outer, between), (_OWN, down[1]), (inner, down[2])):
            self._buckets.replace(3 * upper + side, ids[~np.isin(ids, raised)])

    def search(self, value: Value) -> Ints:
        key, keys = value.data, self._tree.keys
        path = self._tree.path(key)
        self.visited += len(path)
        chosen = [3 * node + _OWN + (keys[node] < key) - (key < keys[node]) for node in path]  # type: ignore[operator]
        return self._buckets.gather(np.array(chosen, dtype=np.int64))

    def _bytes(self) -> int:
        return self._tree.bytes_used() + self._buckets.bytes_used() + 8 * len(self._uses)

    def check(self) -> None:
        self._tree.check()
        self._buckets.check()
        assert sum(self._uses) == len(self._held), "each predicate uses one node"
        assert self._uses.count(0) == self._empty, "unused nodes are counted"
        expected: dict[int, list[int]] = {bucket: [] for bucket in range(len(self._buckets))}
        for id, (operator, key) in self._held.items():
            for bucket in self._marks(operator, key):
                expected[bucket].append(id)
        for bucket, ids in expected.items():
            assert sorted(ids) == sorted(self._buckets.ids(bucket).tolist()), "marks stand where the rules put them"
