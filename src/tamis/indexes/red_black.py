"""Red-black tree with five arrays per node — Chandrasekaran and Franklin (PSoup), as told in seed 002, §3 and Table 1.

All predicates of an attribute share one red-black tree over their constants; a node keeps the ids of its `<`, `<=`,
`=`, `>=`, `>` predicates in five arrays. A value splits the tree: nodes below it give `>` and `>=`, nodes above it
`<` and `<=`, its own node `<=`, `=`, `>=`.

Deviations. `!=` is not among the five: it is stored as `<` and as `>`, of which one at most holds. A constant without
predicates stays as an empty node until half of the nodes are empty; then the tree is built anew.

Costs, n constants, L satisfied: search O(n), since one tree mixes what the value satisfies with what it does not and
every node is looked at; insert and delete O(log n), the latter amortised; memory O(n).
"""

from __future__ import annotations

import numpy as np

from tamis.indexes.balanced import NONE, BalancedTree
from tamis.indexes.base import Ints, Key, MemoryIndex
from tamis.indexes.buckets import Buckets
from tamis.model import Domain, Operator, Value

__all__ = ["RedBlack"]

_FIVE = 5
_LT, _LE, _EQ, _GE, _GT = range(_FIVE)
_ARRAYS = {
    Operator.LT: (_LT,),
    Operator.LE: (_LE,),
    Operator.EQ: (_EQ,),
    Operator.GE: (_GE,),
    Operator.GT: (_GT,),
    Operator.NE: (_LT, _GT),
}


class RedBlack(MemoryIndex):
    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self._build({})

    def _build(self, predicates: dict[int, tuple[Operator, Key]]) -> None:
        keys = sorted({key for _, key in predicates.values()})
        node = {key: at for at, key in enumerate(keys)}
        placed = [(node[key] * _FIVE + a, id) for id, (op, key) in predicates.items() for a in _ARRAYS[op]]
        numbers, ids = np.array(placed, dtype=np.int64).reshape(-1, 2).T
        self._tree = BalancedTree(keys)
        self._buckets = Buckets.of(_FIVE * len(keys), numbers, ids)
        self._uses = np.bincount([node[key] for _, key in predicates.values()], minlength=len(keys)).tolist()
        self._empty = 0

    def _put(self, id: int, operator: Operator, key: Key) -> None:
        node = self._tree.insert(key)
        if node == len(self._uses):
            self._uses.append(0)
            self._buckets.extend(_FIVE)
        elif not self._uses[node]:
            self._empty -= 1
        self._uses[node] += 1
        for place in _ARRAYS[operator]:
            self._buckets.add(node * _FIVE + place, id)

    def _take(self, id: int, operator: Operator, key: Key) -> None:
        node = self._tree.find(key)
        for place in _ARRAYS[operator]:
            self._buckets.remove(node * _FIVE + place, id)
        self._uses[node] -= 1
        self._empty += not self._uses[node]
        if 2 * self._empty > len(self._tree) + 64:
            self._build({other: held for other, held in self._held.items() if other != id})

    def search(self, value: Value) -> Ints:
        below, equal, above = self._tree.sides(value.data)
        self.visited += len(below) + len(above) + (equal != NONE)
        below, above = below * _FIVE, above * _FIVE
        here = [equal * _FIVE + place for place in (_LE, _EQ, _GE)] if equal != NONE else []
        parts = [below + _GT, below + _GE, above + _LT, above + _LE, np.array(here, dtype=np.int64)]
        return self._buckets.gather(np.concatenate(parts))

    def _bytes(self) -> int:
        return self._tree.bytes_used() + self._buckets.bytes_used() + 8 * len(self._uses)

    def check(self) -> None:
        self._tree.check()
        self._buckets.check()
        assert self._uses.count(0) == self._empty, "empty nodes are counted"
        assert sum(self._uses) == len(self._held), "each predicate uses one node"
        for id, (operator, key) in self._held.items():
            node = self._tree.find(key)
            for place in _ARRAYS[operator]:
                assert id in self._buckets.ids(node * _FIVE + place), "each id stands in its node's arrays"
