"""Verifying candidates: do the remaining predicates of a row hold? Compiled where integers can say it.

A predicate whose region is one interval, or all but one, becomes an interval of codes (`labels.py`). Others — lists,
partial orders, `not contains`, presence, truths — are asked of a `Front` of its own once per event, and the kernel is
told the ids that hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tamis.kernels.matchers.verifying import (
    Bound,
    Candidates,
    Encoded,
    TestMode,
    Tests,
    verify_groups,
    verify_rows,
)
from tamis.matchers.parts.arrays import Ints, Scratches, grown
from tamis.matchers.parts.front import Front
from tamis.matchers.parts.labels import HIGHEST, LOWEST, LabelColumn
from tamis.matchers.parts.sorted_clusters import SortedClusters
from tamis.model import Event, Kind, Predicate, Schema
from tamis.model.predicates import is_about_event
from tamis.model.regions import Region, one_interval, span

if TYPE_CHECKING:
    from tamis.matchers.parts.associations import Associations

__all__ = ["Verified", "Verifier"]


class Verified(NamedTuple):
    """Rows that passed, and the work it took."""

    rows: Ints
    verified: int
    evaluated: int


class Verifier:
    """Tests by predicate id. Insert and delete O(log constants) mostly; a test O(values of the attribute)."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._front = Front(schema, SortedClusters)
        self._told = 0
        self._columns: defaultdict[str, dict[Kind, LabelColumn]] = defaultdict(dict)
        self._by_number: list[LabelColumn] = []
        self._tests: dict[int, Region] = {}
        self.tests = Tests(np.empty(0, np.int32), np.empty((0, 2), np.int64))
        self._scratches = Scratches(self._scratch)
        self._rows = 0

    def _scratch(self) -> tuple[Bound, Ints]:
        columns = len(self._by_number)
        bound = Bound(
            np.zeros(columns, np.int32), np.zeros(columns, np.int32), np.zeros(len(self.tests.modes), np.bool_)
        )
        return bound, np.empty(self._rows + 1, np.int32)

    # -- which tests there are ----------------------------------------------------------------------------------

    def insert(self, predicates: Iterable[tuple[int, Predicate]]) -> None:
        told: list[tuple[int, Predicate]] = []
        coded: defaultdict[LabelColumn, dict[int, Region]] = defaultdict(dict)
        for pid, predicate in predicates:
            found = self._region(predicate)
            if found is not None:
                coded[self._column(predicate.attribute, found.kind)][pid] = found
            else:
                told.append((pid, predicate))
        self._make_room([pid for pid, _ in told] + [pid for members in coded.values() for pid in members])
        self._front.insert(told)
        self._told += len(told)
        for pid, _ in told:
            self.tests.modes[pid] = TestMode.TOLD
        for column, members in coded.items():
            self._tests.update(members)
            column.pids.update(dict.fromkeys(members))
            anew = column.add([data for one in members.values() for data in one.inside[0].bounds])
            for pid in column.pids if anew else members:
                self._write(pid, column)

    def delete(self, predicates: Iterable[tuple[int, Predicate]]) -> None:
        for pid, predicate in predicates:
            found = self._tests.pop(pid, None)
            if found is not None:
                column = self._column(predicate.attribute, found.kind)
                column.remove(found.inside[0].bounds)
                del column.pids[pid]
            else:
                self._front.delete([(pid, predicate)])
                self._told -= 1

    def _make_room(self, pids: list[int]) -> None:
        stop = max(pids, default=-1) + 1
        if stop > len(self.tests.modes):
            self.tests = Tests(*(grown(array, stop) for array in self.tests))
            self._scratches.discard()

    def reserve(self, rows: int) -> None:
        """Writers say how many rows an answer may have."""
        if rows > self._rows:
            self._rows = 2 * rows
            self._scratches.discard()

    def _region(self, predicate: Predicate) -> Region | None:
        """The predicate's one interval, which it admits or (negated) does not; None if it must be told."""
        if is_about_event(predicate):
            return None
        domain = self._schema.domain(predicate.attribute)
        assert domain is not None
        return one_interval(domain, predicate)

    def _column(self, attribute: str, kind: Kind) -> LabelColumn:
        kinds = self._columns[attribute]
        if kind not in kinds:
            kinds[kind] = LabelColumn(len(self._by_number))
            self._by_number.append(kinds[kind])
            self._scratches.discard()
        return kinds[kind]

    def _write(self, pid: int, column: LabelColumn) -> None:
        """The interval of one predicate."""
        found = self._tests[pid]
        self.tests.modes[pid] = 4 * column.number + (TestMode.OUTSIDE if found.negated else TestMode.INSIDE)
        self.tests.spans[pid] = span(found.inside[0], column.code, LOWEST, HIGHEST)

    # -- asking ---------------------------------------------------------------------------------------------------

    def encode(self, event: Event) -> Encoded:
        columns: list[int] = []
        starts = [0]
        codes: list[int] = []
        for name, values in event.values.items():
            kinds = self._columns.get(name)
            if not kinds:
                continue
            for kind, column in kinds.items():
                before = len(codes)
                codes += [column.code(value.data) for value in values if value.kind is kind]
                if len(codes) > before:
                    columns.append(column.number)
                    starts.append(len(codes))
        told = self._front.search(event) if self._told else np.empty(0, np.int32)
        return Encoded(np.array(columns, np.int32), np.array(starts, np.int32), np.array(codes, np.int64), told)

    def borrow(self) -> tuple[Bound, Ints]:
        """Scratch for one event: nothing bound, room for as many rows as were reserved."""
        return self._scratches.borrow()

    def give_back(self, scratch: tuple[Bound, Ints]) -> None:
        self._scratches.give_back(scratch)

    def verify(self, chosen: Ints, lists: Associations, candidates: Candidates, event: Event) -> Verified:
        """The members of the chosen groups that pass; `candidates` says what each has to."""
        bound, out = self._scratches.borrow()
        found, verified, evaluated = verify_groups(
            chosen, lists.groups, candidates, self.tests, self.encode(event), bound, out
        )
        rows = out[:found].copy()
        self._scratches.give_back((bound, out))
        return Verified(rows, verified, evaluated)

    def verify_rows(self, rows: Ints, candidates: Candidates, event: Event) -> Verified:
        """Those of the rows that pass."""
        bound, out = self._scratches.borrow()
        found, evaluated = verify_rows(rows, candidates, self.tests, self.encode(event), bound, out)
        passed = out[:found].copy()
        self._scratches.give_back((bound, out))
        return Verified(passed, len(rows), evaluated)

    def bytes_used(self) -> int:
        return sum(array.nbytes for array in self.tests) + sum(100 * len(column) for column in self._by_number)

    def check(self) -> None:
        self._front.check()
        for column in self._by_number:
            column.check()
            for pid in column.pids:
                before = [array[pid].tolist() for array in self.tests]
                self._write(pid, column)
                after = [array[pid].tolist() for array in self.tests]
                assert before == after, f"the test of predicate {pid} is out of date"
