"""Hash table for `=`, sorted clusters for the inequalities — Le Subscribe, fair predicate algorithm (its steps 4-6).

`eqpredmatch` finds the value in a hash table; `lesspredmatch` and `greaterpredmatch` find it in a cluster of constants
in increasing order, and everything on one side of it is satisfied. A search is thus six look-ups and then copies.

Deviations. The paper's text describes `lesspredmatch` in words that fit *greater than*: we go by the operator's
meaning. The paper has no `!=`: one more sorted cluster, of which everything but the value's own run is satisfied.
Strict and non-strict operators have clusters of their own, so that a cluster is cut at one place. Clusters are cut into
blocks, as one long array would shift n ids per insertion.

Costs, n predicates of which L are satisfied: search O(log n + L), where L is plain copying; insert and delete O(log n)
to find the place and one block of constants to shift; memory O(n).
"""

from __future__ import annotations

import math

import numpy as np

from tamis.indexes.base import Ints, Key, MemoryIndex
from tamis.indexes.hashed_ids import HashedIds
from tamis.indexes.sorted_ids import Place, SortedIds
from tamis.model import Domain, Operator, Value

__all__ = ["HashAndSorted"]

_CLUSTERS = (Operator.NE, Operator.LT, Operator.LE, Operator.GT, Operator.GE)


class HashAndSorted(MemoryIndex):
    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self._build({})

    def _build(self, predicates: dict[int, tuple[Operator, Key]]) -> None:
        pairs: dict[Operator, list[tuple[Key, int]]] = {operator: [] for operator in (Operator.EQ, *_CLUSTERS)}
        for id, (operator, key) in predicates.items():
            pairs[operator].append((key, id))
        self._equal = HashedIds(pairs[Operator.EQ])
        self._clusters = {operator: _cluster(pairs[operator]) for operator in _CLUSTERS}

    def _put(self, id: int, operator: Operator, key: Key) -> None:
        (self._equal if operator is Operator.EQ else self._clusters[operator]).add(key, id)

    def _take(self, id: int, operator: Operator, key: Key) -> None:
        (self._equal if operator is Operator.EQ else self._clusters[operator]).remove(key, id)

    def search(self, value: Value) -> Ints:
        equal = self._equal.at(value.data)
        runs = self._runs(value.data)
        total = len(equal) + sum(cluster.count(last) - cluster.count(first) for cluster, first, last in runs)
        out = np.empty(total, dtype=np.int32)
        out[: len(equal)] = equal
        at = len(equal)
        for cluster, first, last in runs:
            at = cluster.copy(first, last, out, at)
            self.visited += last[0] - first[0] + math.ceil(math.log2(len(cluster) + 1))
        self.visited += 1
        return out

    def _runs(self, key: Key) -> list[tuple[SortedIds, Place, Place]]:
        """What is satisfied, as runs of clusters."""
        ne, lt, le, gt, ge = (self._clusters[operator] for operator in _CLUSTERS)
        start = (0, 0)
        return [
            (ne, start, ne.left(key)),
            (ne, ne.right(key), ne.end()),
            (lt, lt.right(key), lt.end()),
            (le, le.left(key), le.end()),
            (gt, start, gt.left(key)),
            (ge, start, ge.right(key)),
        ]

    def _bytes(self) -> int:
        return self._equal.bytes_used() + sum(cluster.bytes_used() for cluster in self._clusters.values())

    def check(self) -> None:
        self._equal.check()
        for cluster in self._clusters.values():
            cluster.check()


def _cluster(pairs: list[tuple[Key, int]]) -> SortedIds:
    pairs.sort(key=lambda pair: pair[0])
    return SortedIds([key for key, _ in pairs], [id for _, id in pairs])
