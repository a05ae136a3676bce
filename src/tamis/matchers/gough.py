"""Gough (Le Subscribe, figure 3; Gough and Smith 1995): a tree in which an event follows a single path.

Each level looks at one attribute; a node has an edge for each run of values that the subscriptions still in the
race cannot tell apart, "missing" among them. A subscription goes down every edge it admits, so the leaf where an
event ends has all that match and the event never turns back. The price is that a subscription stands in many leaves.

The explosion is bounded: past `most_nodes` nodes, or the effort that goes with them, adding raises LimitError, which
says how far it got. The tree is built from scratch, as the paper has it; `rebuilding.py` says when. Levels that nobody
left asks about are passed over. Sets and references cannot be put on a path and are verified at the leaf; several
values for an attribute mean a path per choice, and past 64 choices every subscription is verified.

Cost: match O(attributes × log edges), add and remove a rebuilding now and then, memory exponential in attributes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tamis.errors import LimitError
from tamis.matchers.parts.arrays import Ints
from tamis.matchers.parts.levels import Level, on_path
from tamis.matchers.parts.partition import bindings
from tamis.matchers.parts.rebuilding import Rebuilding
from tamis.model import Event, Predicate, Schema, Value

__all__ = ["Gough"]

_EFFORT = 300
"""Rows placed under edges, per node of the budget: the other way in which the tree explodes."""


MOST_LEVELS = 400
MOST_NODES = 100_000
"""Attributes; the tree is built by recursion."""


class _Node(NamedTuple):
    """Edge i leads from the places `starts[i]` .. `starts[i + 1]` of a level to `ends[i]`, a node or a leaf."""

    level: int
    starts: list[int]
    ends: list[_Node | Ints]


class Gough(Rebuilding):
    def __init__(self, schema: Schema, most_nodes: int = MOST_NODES) -> None:
        super().__init__(schema)
        self._most_nodes = most_nodes
        self._levels: list[Level] = []
        self._exact = np.empty(0, np.bool_)
        self._root: _Node | Ints = np.empty(0, np.int32)
        self._nodes = 0

    def _build(self, rows: Ints) -> None:
        growing = _Growing(self._roster.schema, self._most_nodes, [self._conjunction(row) for row in rows.tolist()])
        root = growing.grow(np.arange(len(rows), dtype=np.int32), 0)
        self._levels, self._exact, self._root, self._nodes = growing.levels, growing.exact, root, growing.nodes

    def _conjunction(self, row: int) -> tuple[Predicate, ...]:
        conjunction = self._roster.conjunctions[row]
        assert conjunction is not None
        return conjunction

    def _search(self, event: Event) -> Ints:
        choices = bindings(event, {level.attribute: None for level in self._levels})
        if choices is None:
            return self._passing(self._built[self._alive], event)
        leaves = [self._leaf(binding) for binding in choices]
        places = leaves[0] if len(leaves) == 1 else np.unique(np.concatenate(leaves))
        places = places[self._alive[places]]
        sure = self._exact[places]
        if sure.all():
            return self._built[places]
        return np.concatenate([self._built[places[sure]], self._passing(self._built[places[~sure]], event)])

    def _leaf(self, binding: Mapping[str, Value]) -> Ints:
        at = self._root
        while isinstance(at, _Node):
            self._work.nodes_visited += 1
            level = self._levels[at.level]
            at = at.ends[bisect_right(at.starts, level.place(binding.get(level.attribute))) - 1]
        return at

    def _details(self) -> Mapping[str, int | float | str]:
        return {"nodes": self._nodes, "levels": len(self._levels)}

    def _bytes(self) -> int:
        return super()._bytes() + 200 * self._nodes

    def _check(self) -> None:
        super()._check()
        assert self._nodes <= self._most_nodes, "the tree is larger than its budget"


class _Growing:
    """A tree under construction and what it has cost so far."""

    def __init__(self, schema: Schema, most_nodes: int, conjunctions: list[tuple[Predicate, ...]]) -> None:
        self._most_nodes = most_nodes
        self.nodes = 0
        self._effort = 0
        self._deepest = 0
        asked: dict[str, dict[int, list[Predicate]]] = {}
        self.exact = np.ones(len(conjunctions), np.bool_)
        for row, conjunction in enumerate(conjunctions):
            for predicate in conjunction:
                if on_path(predicate):
                    asked.setdefault(predicate.attribute, {}).setdefault(row, []).append(predicate)
                else:
                    self.exact[row] = False
        if len(asked) > MOST_LEVELS:
            raise LimitError(
                f"expected at most {MOST_LEVELS} attributes, the levels of the tree, found {len(asked):,}",
                MOST_LEVELS,
                len(asked),
            )
        self.levels: list[Level] = []
        for name, rows in sorted(asked.items(), key=lambda one: (-len(one[1]), one[0])):
            tests = {row: tuple(found) for row, found in rows.items()}
            self.levels.append(Level(schema, name, tests, len(conjunctions), _EFFORT * most_nodes))

    def grow(self, rows: Ints, depth: int) -> _Node | Ints:
        """The subtree for these rows from this level on."""
        while depth < len(self.levels) and not self.levels[depth].signatures[rows].any():
            depth += 1
        if depth == len(self.levels):
            return rows
        runs = self.levels[depth].split(rows)
        self._count(depth, sum(len(left) for _, left in runs))
        starts: list[int] = []
        ends: list[_Node | Ints] = []
        for start, left in runs:
            starts.append(start)
            ends.append(self.grow(left, depth + 1))
        return _Node(depth, starts, ends)

    def _count(self, depth: int, placed: int) -> None:
        self.nodes += 1
        self._deepest = max(self._deepest, depth + 1)
        self._effort += placed
        if self.nodes > self._most_nodes or self._effort > _EFFORT * self._most_nodes:
            raise LimitError(
                f"expected a tree of at most {self._most_nodes:,} nodes, found more: it had {self.nodes:,} and was at "
                f"level {self._deepest} of {len(self.levels)}, for {len(self.exact):,} conjunctions, when given up",
                self._most_nodes,
                self.nodes,
            )
