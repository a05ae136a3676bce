"""Sorted clusters of predicates: one per operator, constants in order, searched by bisection (Le Subscribe §3.1).

All predicates past the place where a value falls are implied by the one at that place, so that a search costs
O(log n) comparisons and hands out a slice. The interface is that of `tamis.indexes.base`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from tamis.matchers.parts.arrays import Ints
from tamis.model import Domain, Operator, Value

__all__ = ["SortedClusters"]

_O = Operator


class _Cluster:
    """Constants of one operator in ascending order and, parallel to them, predicate ids."""

    __slots__ = ("constants", "ids")

    def __init__(self) -> None:
        self.constants: list[int | float | str] = []
        self.ids = array("i")

    def cut(self, start: int, stop: int) -> Ints:
        return np.frombuffer(self.ids[start:stop], np.int32)


class SortedClusters:
    """The six operators' clusters of one attribute. Insert and delete move O(n) machine words, search O(log n)."""

    def __init__(self, domain: Domain) -> None:
        self.visited = 0
        self._clusters: dict[Operator, _Cluster] = {}
        self._held: dict[int, tuple[Operator, Value]] = {}

    def insert(self, predicate_id: int, operator: Operator, constant: Value) -> None:
        self._held[predicate_id] = (operator, constant)
        cluster = self._clusters.setdefault(operator, _Cluster())
        at = bisect_left(cluster.constants, constant.data)
        cluster.constants.insert(at, constant.data)
        cluster.ids.insert(at, predicate_id)

    def insert_many(self, predicates: Sequence[tuple[int, Operator, Value]]) -> None:
        if len(predicates) < 16:
            for one in predicates:
                self.insert(*one)
            return
        self._held.update((pid, (operator, constant)) for pid, operator, constant in predicates)
        for operator in {operator for _, operator, _ in predicates}:
            cluster = self._clusters.setdefault(operator, _Cluster())
            pairs = list(zip(cluster.constants, cluster.ids, strict=True))
            pairs += [(constant.data, pid) for pid, one, constant in predicates if one is operator]
            pairs.sort(key=lambda pair: pair[0])
            cluster.constants = [data for data, _ in pairs]
            cluster.ids = array("i", [pid for _, pid in pairs])

    def delete(self, predicate_id: int) -> None:
        operator, constant = self._held.pop(predicate_id)
        cluster = self._clusters[operator]
        at = cluster.ids.index(predicate_id, bisect_left(cluster.constants, constant.data))
        del cluster.constants[at], cluster.ids[at]
        if not cluster.ids:
            del self._clusters[operator]

    def search(self, value: Value) -> Ints:
        data = value.data
        found: list[Ints] = []
        for operator, cluster in self._clusters.items():
            constants, end = cluster.constants, len(cluster.constants)
            self.visited += end.bit_length()
            left = bisect_left(constants, data)
            right = left + (left < end and constants[left] == data)
            if right > left:
                right = bisect_right(constants, data, left)
            if operator is _O.EQ:
                found.append(cluster.cut(left, right))
            elif operator is _O.NE:
                found += [cluster.cut(0, left), cluster.cut(right, end)]
            elif operator in (_O.LT, _O.LE):
                found.append(cluster.cut(right if operator is _O.LT else left, end))
            else:
                found.append(cluster.cut(0, left if operator is _O.GT else right))
        return np.concatenate(found) if found else np.empty(0, np.int32)

    def close(self) -> None:
        return

    def bytes_used(self) -> int:
        return sum(12 * len(cluster.ids) for cluster in self._clusters.values())

    def structure_bytes(self) -> int:
        return self.bytes_used()

    def check(self) -> None:
        for operator, cluster in self._clusters.items():
            pairs = list(zip(cluster.constants, cluster.constants[1:], strict=False))
            assert all(low <= high for low, high in pairs), f"{operator}: constants out of order"  # type: ignore[operator]
            for data, pid in zip(cluster.constants, cluster.ids, strict=True):
                held = self._held[pid]
                assert (held[0], held[1].data) == (operator, data), f"predicate {pid} stands in the wrong place"
        assert sum(len(cluster.ids) for cluster in self._clusters.values()) == len(self._held), "predicates are lost"
