"""Aguilera (Le Subscribe, figure 7; Aguilera et al. 1999): a tree of tests with *-edges for those who do not ask.

A node gets the value of an attribute and has an edge per constant, or makes one non-equality test and has an edge for
"yes"; the *-edge leads to the subscriptions that do not ask. An event follows the edge of its result and the *-edge.

We deviate in three ways. The paper adds and removes in place; we build the tree at once and anew now and then
(`rebuilding.py`), which lets it be plain arrays. Levels nobody asks about take no node, and a node with up to four
subscriptions is a bucket. The attributes asked most often come first, equality before other tests.

Cost: match O(nodes on all paths that the event's results and the *-edges open), at worst all; add and remove
amortised O(predicates of the subscription × log subscriptions); memory O(all predicates of all subscriptions).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.matchers.trees import Asks, EdgePoints, Tree, build_tree, walk_tests
from tamis.kernels.matchers.verifying import bind, unbind
from tamis.matchers.parts.arrays import Ints, Scratches, bytes_of
from tamis.matchers.parts.rebuilding import Rebuilding
from tamis.model import Event, Operator, Schema, Value

__all__ = ["Aguilera"]


class _Built(NamedTuple):
    asks: Asks
    tree: Tree
    op_pids: Ints
    value_ops: dict[str, int]
    """The op that gets an attribute's value."""
    constants: dict[tuple[str, Value], int]
    """The id of the equality with this constant, as an edge knows it."""


class Aguilera(Rebuilding):
    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._structure: _Built | None = None
        self._scratches = Scratches(self._scratch)

    def _scratch(self) -> tuple[Ints, Ints]:
        assert self._structure is not None
        ops = len(self._structure.op_pids)
        return np.zeros(ops, np.int32), np.zeros(ops, np.int32)

    def _build(self, rows: Ints) -> None:
        roster = self._roster
        sizes = roster.sizes[rows].astype(np.int64)
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        pids = roster.slot_pids[np.repeat(roster.row_starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])]
        self._structure = self._plant(starts, pids)
        self._scratches.discard()

    def _plant(self, starts: npt.NDArray[np.int64], pids: Ints) -> _Built:
        used, uses = np.unique(pids, return_counts=True)
        op_of, op_pids, value_ops, constants = self._order(used.tolist(), uses.tolist())
        ops = op_of[pids]
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        order = np.lexsort((ops, row))
        results = np.where(op_pids[ops] >= 0, 1, pids)
        asks = Asks(starts, ops[order], results[order].astype(np.int32))
        tree = build_tree(asks, np.arange(len(starts) - 1, dtype=np.int32))
        return _Built(asks, tree, op_pids, value_ops, constants)

    def _order(
        self, pids: list[int], uses: list[int]
    ) -> tuple[Ints, Ints, dict[str, int], dict[tuple[str, Value], int]]:
        """Number the ops: attributes by how often they are asked, the value of each before its other tests."""
        predicates = {pid: self._roster.predicate(pid) for pid in pids}
        asked: dict[str, int] = {}
        for pid, times in zip(pids, uses, strict=True):
            asked[predicates[pid].attribute] = asked.get(predicates[pid].attribute, 0) + times
        op_of = np.zeros(self._roster.predicate_count, np.int32)
        op_pids: list[int] = []
        value_ops: dict[str, int] = {}
        constants: dict[tuple[str, Value], int] = {}
        place = {name: at for at, name in enumerate(sorted(asked, key=lambda name: -asked[name]))}
        ordered = sorted(
            pids, key=lambda p: (place[predicates[p].attribute], predicates[p].operator is not Operator.EQ)
        )
        for pid in ordered:
            predicate = predicates[pid]
            if predicate.operator is Operator.EQ and isinstance(predicate.operand, Value):
                if predicate.attribute not in value_ops:
                    value_ops[predicate.attribute] = len(op_pids)
                    op_pids.append(-1)
                constants[predicate.attribute, predicate.operand] = pid
                op_of[pid] = value_ops[predicate.attribute]
            else:
                op_of[pid] = len(op_pids)
                op_pids.append(pid)
        return op_of, np.array(op_pids, np.int32), value_ops, constants

    def _search(self, event: Event) -> Ints:
        built = self._structure
        assert built is not None
        firsts, lasts = self._scratches.borrow()
        values: list[int] = []
        touched: list[int] = []
        for name, given in event.values.items():
            op = built.value_ops.get(name)
            if op is not None:
                firsts[op] = len(values)
                values += [pid for value in given if (pid := built.constants.get((name, value))) is not None]
                lasts[op] = len(values)
                touched.append(op)
        points = EdgePoints(built.op_pids, firsts, lasts, np.array(values, np.int32))
        places = self._walk(built, points, event)
        firsts[touched] = lasts[touched] = 0
        self._scratches.give_back((firsts, lasts))
        return self._at(places)

    def _walk(self, built: _Built, points: EdgePoints, event: Event) -> Ints:
        encoded = self._verifier.encode(event)
        bound, out = self._verifier.borrow()
        bind(encoded, bound)
        found, visited, evaluated = walk_tests(
            built.tree, built.asks, points, self._verifier.tests, encoded.codes, bound, out
        )
        unbind(encoded, bound)
        places = out[:found].copy()
        self._verifier.give_back((bound, out))
        self._work.nodes_visited += visited
        self._work.predicates_evaluated += evaluated
        return places

    def _details(self) -> Mapping[str, int | float | str]:
        return {"nodes": 0 if self._structure is None else len(self._structure.tree.ops)}

    def _bytes(self) -> int:
        built = self._structure
        return super()._bytes() + (bytes_of(built.tree) + bytes_of(built.asks) if built else 0)
