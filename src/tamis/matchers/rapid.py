"""RAPIDMatch (its §4): subscriptions set apart by how many ones they can match, trees that skip a block of zeros.

An event with t ones matches only subscriptions with at most t ones and at least t ones and *: the set S_t. Cut the
properties into t + 1 blocks; one block of the event is all zeros, so the subscriptions it matches have no 1 there. For
each block, S_t has a tree of those without a 1 in it, which tests the other properties, in cyclic order from the
block's end. Events with more than `c` ones use a plain tree over S_{c+1}.

We deviate in that the trees of S_0 ... S_c are built when an event first asks for them: many loads never do. S_{c+1}
has those with at least c + 1 ones and *, as the text says and the formula does not. The tree itself, and how general
subscriptions become strings of zeros and ones, is `tree.py`'s.

Cost: match O(nodes reached in one tree), which avoids k / (t + 1) of the k properties; add and remove amortised as
for `tree`, times the trees in use; memory at most c² times that of `tree`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tamis.errors import OptionError
from tamis.kernels.matchers.properties import rotate
from tamis.kernels.matchers.trees import Asks, Tree, build_tree
from tamis.matchers.parts.arrays import Ints, bytes_of
from tamis.matchers.tree import Bits, TreeMatch
from tamis.model import Schema

__all__ = ["RapidMatch"]


class _Planted(NamedTuple):
    members: Ints
    asks: Asks
    tree: Tree


class RapidMatch(TreeMatch):
    def __init__(self, schema: Schema, c: int = 4) -> None:
        super().__init__(schema)
        if c < 0:
            raise OptionError(f"expected c >= 0, the number of ones up to which an event is light, found {c}")
        self._c = c
        self._planted: dict[tuple[int, int], _Planted] = {}
        self._ones = self._zeros = np.empty(0, np.int64)

    def _plant(self) -> None:
        rows = np.repeat(np.arange(len(self._asks.starts) - 1), np.diff(self._asks.starts))
        self._ones = np.bincount(rows[self._asks.results == 1], minlength=len(self._asks.starts) - 1)
        self._zeros = np.bincount(rows[self._asks.results == 0], minlength=len(self._asks.starts) - 1)
        self._planted = {(self._c + 1, 0): self._plant_heavy()}

    def _plant_heavy(self) -> _Planted:
        """S_{c+1} under one tree over all properties."""
        members = np.flatnonzero(self._partition.properties - self._zeros > self._c).astype(np.int32)
        asks = rotate(self._asks, members, 0, 0, self._partition.properties)
        return _Planted(members, asks, build_tree(asks, np.arange(len(members), dtype=np.int32)))

    def _plant_light(self, ones: int, low: int, high: int) -> _Planted:
        """Those of S_ones that ask no 1 of the properties low..high, under a tree over the others."""
        count = self._partition.properties
        rows = np.repeat(np.arange(len(self._asks.starts) - 1), np.diff(self._asks.starts))
        inside = (self._asks.results == 1) & (self._asks.ops >= low) & (self._asks.ops < high)
        clear = np.bincount(rows[inside], minlength=len(self._asks.starts) - 1) == 0
        members = np.flatnonzero(clear & (self._ones <= ones) & (count - self._zeros >= ones)).astype(np.int32)
        asks = rotate(self._asks, members, low, high, count)
        return _Planted(members, asks, build_tree(asks, np.arange(len(members), dtype=np.int32)))

    def _reached(self, bits: Bits) -> Ints:
        ones = int(bits.sum())
        if ones > self._c:
            return self._members_of(self._planted[self._c + 1, 0], bits)
        edges = [at * len(bits) // (ones + 1) for at in range(ones + 2)]  # no block is much shorter than another
        block = next(at for at in range(ones + 1) if not bits[edges[at] : edges[at + 1]].any())
        low, high = edges[block], edges[block + 1]
        planted = self._planted.get((ones, block))
        if planted is None:  # two readers may both plant it, and either tree will do
            planted = self._planted[ones, block] = self._plant_light(ones, low, high)
        return self._members_of(planted, np.roll(bits, -high))

    def _members_of(self, planted: _Planted, bits: Bits) -> Ints:
        return (
            planted.members[self._walk(planted.tree, planted.asks, bits)] if len(planted.members) else planted.members
        )

    def _details(self) -> Mapping[str, int | float | str]:
        nodes = sum(len(one.tree.ops) for one in self._planted.values())
        return {"properties": self._partition.properties, "nodes": nodes, "trees": len(self._planted)}

    def _bytes(self) -> int:
        return super()._bytes() + sum(bytes_of([*one.asks, *one.tree]) for one in self._planted.values())
