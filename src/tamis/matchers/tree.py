"""TreeMatch (RAPIDMatch §3 and definition 4): a restricted search tree over binary properties.

Subscriptions are strings over {0, 1, *}, one place per property; all nodes of a depth test the same property and have
an edge for 0, for 1 and for *. An event follows the edge of its own value and the *-edge, and matches what it reaches.

We deviate as `aguilera` does in the tree itself: depths at which a subtree has only *-edges take no node, and up to
four subscriptions left make a bucket. General subscriptions become strings by `partition.py`; what a string cannot say
(lists, partial orders, sets, references, cells that several constants share) is verified. An event that offers several
values is matched once per choice or, if there are more than 64 choices, by verifying every subscription.

Cost: match O(nodes reached), at worst min(2^properties, subscriptions); add and remove amortised O(properties asked ×
log subscriptions); memory O(properties asked by all subscriptions).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tamis.kernels.matchers.properties import ask_cells
from tamis.kernels.matchers.trees import Asks, Tree, build_tree, walk_bits
from tamis.matchers.parts.arrays import Ints, bytes_of
from tamis.matchers.parts.partition import Partition
from tamis.matchers.parts.rebuilding import Rebuilding
from tamis.model import Event, Schema

__all__ = ["TreeMatch"]

Bits = npt.NDArray[np.uint8]


class TreeMatch(Rebuilding):
    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._partition = Partition(schema, {}, 0)
        self._asks = Asks(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
        self._exact = np.empty(0, np.bool_)
        self._tree: Tree | None = None

    def _build(self, rows: Ints) -> None:
        roster = self._roster
        predicates = {pid: one for pid, one in enumerate(roster.predicates) if one is not None}
        self._partition = Partition(roster.schema, predicates, roster.predicate_count)
        self._asks, self._exact = ask_cells(rows, self._candidates(), self._partition.cells)
        self._plant()

    def _plant(self) -> None:
        self._tree = build_tree(self._asks, np.arange(len(self._asks.starts) - 1, dtype=np.int32))

    def _search(self, event: Event) -> Ints:
        choices = self._partition.bindings(event)
        if choices is None:
            return self._passing(self._built[self._alive], event)
        found: list[Ints] = []
        complete = True
        for binding in choices:
            bits, filled = self._partition.bits(binding)
            complete &= filled
            found.append(self._reached(bits))
        places = found[0] if len(found) == 1 else np.unique(np.concatenate(found))
        places = places[self._alive[places]]
        sure = self._exact[places] if complete and len(found) == 1 else np.zeros(len(places), np.bool_)
        doubtful = self._built[places[~sure]]
        if not len(doubtful):
            return self._built[places]
        return np.concatenate([self._built[places[sure]], self._passing(doubtful, event)])

    def _reached(self, bits: Bits) -> Ints:
        """Places whose asks the string satisfies."""
        assert self._tree is not None
        return self._walk(self._tree, self._asks, bits)

    def _walk(self, tree: Tree, asks: Asks, bits: Bits) -> Ints:
        scratch = self._verifier.borrow()
        found, visited, in_buckets = walk_bits(tree, asks, bits, scratch[1], 0)
        places = scratch[1][:found].copy()
        self._verifier.give_back(scratch)
        self._work.nodes_visited += visited
        self._work.bucket_rows += in_buckets
        return places

    def _details(self) -> Mapping[str, int | float | str]:
        nodes = 0 if self._tree is None else len(self._tree.ops)
        return {"properties": self._partition.properties, "nodes": nodes}

    def _bytes(self) -> int:
        return super()._bytes() + bytes_of(self._asks) + (bytes_of(self._tree) if self._tree else 0)
