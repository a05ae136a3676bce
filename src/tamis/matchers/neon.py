"""NEON (Le Subscribe, figure 8; NEONRules): tables of operations and predicates per event type, nothing factorised.

The `operations` table says which pairs of attribute and comparison occur for an event type; `predicates` has every
predicate of every subscription, under its operation; `n_predicates` how many each subscription has. An event takes the
operations of its types, evaluates all predicates under them, and counts.

A subscription's type is what it says with `event_type = x` or `event_type contains x`; without such a predicate it
stands in a table for events of any type, which the paper, where every subscription has a type, does not need.
Attribute against attribute is an operation like the others. We deviate in that lists, partial orders and references
are evaluated once per event for all who use them, and that a match is seen when its counter runs out.

Cost: match O(all predicates of the event's types on its attributes), add and remove O(predicates of the subscription),
memory O(all predicates of all subscriptions), each as often as it occurs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tamis.kernels.matchers.scanning import scan_operations
from tamis.matchers.parts.algorithm import Algorithm
from tamis.matchers.parts.arrays import Ints, Scratches, grown
from tamis.matchers.parts.associations import Associations
from tamis.matchers.parts.changes import Change, Uses
from tamis.matchers.parts.verifier import Verifier
from tamis.model import EVENT_TYPE, Conjunction, Event, Operator, Predicate, Schema, Value

__all__ = ["Neon"]

_Operation = tuple[str, Operator]


class Neon(Algorithm):
    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._verifier = Verifier(schema)
        self._verified = Uses(self._roster)
        self._predicates = Associations()
        self._operations: dict[Value | None, dict[_Operation, int]] = {}
        self._made = 0
        self._slot_operations = np.empty(0, np.int32)
        self._n_predicates = np.empty(0, np.int32)
        self._scratches = Scratches(lambda: self._n_predicates.copy())

    def _insert(self, change: Change) -> None:
        typed = np.zeros(len(change.pids), np.bool_)
        types: list[Value | None] = []
        for row, start in zip(change.rows.tolist(), change.starts.tolist(), strict=False):
            conjunction = self._roster.conjunctions[row]
            assert conjunction is not None
            at = _type_place(conjunction)
            if at is not None:
                typed[start + at] = True
            operand = None if at is None else conjunction[at].operand
            types.append(operand if isinstance(operand, Value) else None)
        change = self._roster.put_first(change, ~typed)
        rest = change.leading(change.only(~typed).sizes)
        self._verifier.insert(self._verified.add(rest.pids))
        self._verifier.reserve(self._roster.row_count)
        self._file(rest, types)
        self._set_counts(rest.rows, rest.sizes.astype(np.int32))

    def _file(self, rest: Change, types: list[Value | None]) -> None:
        """Put each predicate under its operation."""
        of = np.empty(len(rest.pids), np.int32)
        predicates = self._roster.predicates
        spread = [type for type, size in zip(types, rest.sizes.tolist(), strict=True) for _ in range(size)]
        for at, (type, pid) in enumerate(zip(spread, rest.pids.tolist(), strict=True)):
            predicate = predicates[pid]
            assert predicate is not None
            of[at] = self._operation(type, predicate)
        self._slot_operations = grown(self._slot_operations, int(rest.slots.max(initial=-1)) + 1)
        self._slot_operations[rest.slots] = of
        self._predicates.add(of, rest.members, rest.slots)

    def _operation(self, type: Value | None, predicate: Predicate) -> int:
        table = self._operations.setdefault(type, {})
        operation = table.setdefault((predicate.attribute, predicate.operator), self._made)
        self._made += operation == self._made
        return operation

    def _set_counts(self, rows: Ints, counts: Ints | int) -> None:
        before = self._n_predicates
        self._n_predicates = grown(before, self._roster.row_count)
        if self._n_predicates is not before:
            self._scratches.discard()
        self._n_predicates[rows] = counts
        for left in self._scratches.idle():
            left[rows] = counts

    def _delete(self, change: Change) -> None:
        rest = change.leading(self._n_predicates[change.rows].astype(np.int64))
        self._predicates.remove(self._slot_operations[rest.slots], rest.slots)
        self._verifier.delete(self._verified.remove(rest.pids))
        self._set_counts(change.rows, 0)

    def _find(self, event: Event) -> Ints:
        operations = np.array(list(self._applicable(event)), np.int32)
        encoded = self._verifier.encode(event)
        (bound, out), left = self._verifier.borrow(), self._scratches.borrow()
        found, evaluated, bumped = scan_operations(
            operations,
            self._predicates.groups,
            self._roster.slot_pids,
            self._verifier.tests,
            encoded,
            bound,
            self._n_predicates,
            left,
            out,
        )
        rows = out[:found].copy()
        self._verifier.give_back((bound, out))
        self._scratches.give_back(left)
        self._work.predicates_evaluated += evaluated
        self._work.counters_bumped += bumped
        return rows

    def _applicable(self, event: Event) -> list[int]:
        """The operations of the event's types on the attributes it has, or for `is missing` has not."""
        return [
            operation
            for type in (None, *event.values.get(EVENT_TYPE, ()))
            for (attribute, operator), operation in self._operations.get(type, {}).items()
            if operator is Operator.AT_LEAST or (attribute in event.values) is (operator is not Operator.MISSING)
        ]

    def _details(self) -> Mapping[str, int | float | str]:
        return {"operations": self._made, "event_types": len(self._operations.keys() - {None})}

    def _bytes(self) -> int:
        return self._predicates.bytes_used() + self._verifier.bytes_used() + self._n_predicates.nbytes

    def _check(self) -> None:
        self._predicates.check()
        self._verifier.check()
        assert int(self._predicates.groups.lengths.sum()) == int(self._n_predicates.sum()), "predicates are lost"


def _type_place(conjunction: Conjunction) -> int | None:
    """The predicate that gives the conjunction's event type, unless it has no other."""
    if len(conjunction) == 1:
        return None
    for at, predicate in enumerate(conjunction):
        if predicate.attribute == EVENT_TYPE and predicate.operator in (Operator.EQ, Operator.CONTAINS):
            return at if isinstance(predicate.operand, Value) else None
    return None
