"""The subscriptions of a matcher as small numbers: predicates, conjunctions and their keys.

Each distinct predicate has one *predicate id* and a count of the conjunctions that use it; each conjunction has a
*row*. Both are recycled before new ones are made, so that arrays indexed by them have no holes (ToPSS §3). Row r
uses the predicates `slot_pids[start : start + size]`: the reverse association that makes removal local.

What counting alone cannot see is marked here, once for all algorithms: a conjunction is *tangled* when two of its
comparisons share an attribute. Each may then hold for a different value of a multi-valued event where the meaning
asks for one, so `answer` puts those to the oracle, and only for such events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tamis.kernels.matchers.groups import find_tangled
from tamis.kernels.matchers.verifying import HEAD_BITS
from tamis.matchers.base import Entry, Work
from tamis.matchers.naive import conjunction_holds
from tamis.matchers.parts.arrays import Ints, grown
from tamis.matchers.parts.changes import Change
from tamis.model import COMPARISONS, Conjunction, Event, Predicate, Reference, Schema

__all__ = ["Roster"]


class Roster:
    """Keys, rows and predicate ids. Adding costs O(predicates added), removing O(predicates removed)."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.predicates: list[Predicate | None] = []
        self.conjunctions: list[Conjunction | None] = []
        self.keys = np.empty(0, np.int64)
        self.sizes = np.empty(0, np.int32)
        self.tangled = np.empty(0, np.bool_)
        self.row_starts = np.empty(0, np.int64)
        self.slot_pids = np.empty(0, np.int32)
        self.subscriptions: dict[int, tuple[int, ...]] = {}
        self._ids: dict[Predicate, int] = {}
        self._uses = np.empty(0, np.int64)
        self.attributes: dict[str, int] = {}
        self._compared = np.empty((0, 2), np.int32)
        self._together = np.empty(0, np.bool_)
        self._shared_keys = 0
        self._free_pids: list[int] = []
        self._free_rows: list[int] = []
        self._free_slots: defaultdict[int, list[int]] = defaultdict(list)
        self._slots_used = 0

    @property
    def row_count(self) -> int:
        """Rows in use are below this; so are the recycled ones that wait."""
        return len(self.conjunctions)

    @property
    def predicate_count(self) -> int:
        return len(self.predicates)

    @property
    def conjunction_count(self) -> int:
        return len(self.conjunctions) - len(self._free_rows)

    def attribute_number(self, name: str) -> int:
        return self.attributes.setdefault(name, len(self.attributes))

    # -- adding -----------------------------------------------------------------------------------------------

    def add(self, entries: Sequence[Entry]) -> Change:
        rows: list[int] = []
        pids: list[int] = []
        sizes: list[int] = []
        fresh: dict[Predicate, int] = {}
        ids = self._ids
        for key, conjunctions in entries:
            first = len(rows)
            for conjunction in conjunctions:
                for predicate in conjunction:
                    pid = ids.get(predicate)
                    pids.append(fresh.setdefault(predicate, ~len(fresh)) if pid is None else pid)
                sizes.append(len(conjunction))
                rows.append(self._new_row(conjunction))
            self.subscriptions[key] = tuple(rows[first:])
        numbered = np.array(pids, np.int32)
        changed = self._number(fresh, numbered)
        return self._settle([key for key, _ in entries], self._place(rows, sizes, numbered, changed))

    def _number(self, fresh: dict[Predicate, int], pids: Ints) -> list[tuple[int, Predicate]]:
        """Give new predicates their ids, neighbours next to each other, and write them over the stand-ins in `pids`.

        Predicates that hold together are mostly neighbours by constant: so their lists are read from front to end.
        """
        final = np.empty(len(fresh), np.int32)
        changed = []
        for predicate in sorted(fresh, key=_neighbourhood):
            pid = self._free_pids.pop() if self._free_pids else self.predicate_count
            if pid == self.predicate_count:
                self.predicates.append(None)
            self.predicates[pid] = predicate
            self._ids[predicate] = final[~fresh[predicate]] = pid
            changed.append((pid, predicate))
        self._uses = grown(self._uses, self.predicate_count)
        self._compared = grown(self._compared, self.predicate_count)
        for pid, predicate in changed:
            self._compared[pid] = self._compared_attributes(predicate)
        stand_ins = pids < 0
        pids[stand_ins] = final[~pids[stand_ins]]
        return changed

    def _compared_attributes(self, predicate: Predicate) -> tuple[int, int]:
        """The attributes whose one bound value the predicate speaks of; -1 for none."""
        if predicate.operator not in COMPARISONS:
            return -1, -1
        operand = predicate.operand
        other = self.attribute_number(operand.attribute) if isinstance(operand, Reference) else -1
        return self.attribute_number(predicate.attribute), other

    def _new_row(self, conjunction: Conjunction) -> int:
        if self._free_rows:
            row = self._free_rows.pop()
            self.conjunctions[row] = conjunction
            return row
        self.conjunctions.append(conjunction)
        return len(self.conjunctions) - 1

    def _place(self, rows: list[int], sizes: list[int], pids: Ints, changed: list[tuple[int, Predicate]]) -> Change:
        """Give each row its run of slots."""
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        firsts = np.array([self._new_slots(size) for size in sizes], np.int64)
        slots = np.repeat(firsts - starts[:-1], sizes) + np.arange(len(pids))
        change = Change(np.array(rows, np.int32), starts, slots, pids, changed)
        self.slot_pids = grown(self.slot_pids, self._slots_used)
        self.slot_pids[slots] = change.pids
        for name in ("keys", "sizes", "tangled", "row_starts", "_together"):
            setattr(self, name, grown(getattr(self, name), self.row_count))
        self.row_starts[change.rows] = firsts
        return change

    def _new_slots(self, size: int) -> int:
        free = self._free_slots.get(size)
        if free:
            return free.pop()
        self._slots_used += size
        return self._slots_used - size

    def _settle(self, keys: list[int], change: Change) -> Change:
        counts = [len(self.subscriptions[key]) for key in keys]
        self.keys[change.rows] = np.repeat(np.array(keys, np.int64), counts)
        self.sizes[change.rows] = change.sizes
        self.tangled[change.rows] = find_tangled(change.starts, change.pids, self._compared)
        together = np.repeat(np.array(counts, np.int64) > 1, counts)
        self._together[change.rows] = together
        self._shared_keys += int(together.sum())
        used, times = np.unique(change.pids, return_counts=True)
        self._uses[used] += times
        return change

    # -- removing ---------------------------------------------------------------------------------------------

    def leaving(self, keys: Sequence[int]) -> Change:
        """The rows of these keys, still in place, and the predicates that nobody else uses."""
        rows = np.array([row for key in keys for row in self.subscriptions[key]], np.int32)
        sizes = self.sizes[rows]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        slots = np.repeat(self.row_starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])
        pids = self.slot_pids[slots]
        used, times = np.unique(pids, return_counts=True)
        last = used[self._uses[used] == times]
        return Change(rows, starts, slots, pids, [(int(pid), self.predicate(int(pid))) for pid in last])

    def predicate(self, pid: int) -> Predicate:
        predicate = self.predicates[pid]
        assert predicate is not None
        return predicate

    def release(self, keys: Sequence[int], change: Change) -> None:
        """Forget what `leaving` found. Whoever holds rows or predicate ids has dropped them before."""
        for key in keys:
            del self.subscriptions[key]
        self._shared_keys -= int(self._together[change.rows].sum())
        for row in change.rows.tolist():
            self.conjunctions[row] = None
            self._free_rows.append(row)
            self._free_slots[int(self.sizes[row])].append(int(self.row_starts[row]))
        np.subtract.at(self._uses, change.pids, 1)
        for pid, predicate in change.changed:
            del self._ids[predicate]
            self.predicates[pid] = None
            self._free_pids.append(pid)

    def put_first(self, change: Change, chosen: npt.NDArray[np.bool_]) -> Change:
        """Reorder each row's predicates so that the chosen ones lead; the change in the new order."""
        of = np.repeat(np.arange(len(change.rows)), change.sizes)
        order = np.lexsort((~chosen, of))
        self.slot_pids[change.slots] = change.pids[order]
        return change._replace(pids=change.pids[order])

    def heads(self, change: Change) -> npt.NDArray[np.int64]:
        """Where the predicates of each row start and how many there are, as `Candidates` has it."""
        return (self.row_starts[change.rows] << HEAD_BITS) | change.sizes

    # -- answering --------------------------------------------------------------------------------------------

    def pids_of(self, row: int) -> Ints:
        start = self.row_starts[row]
        return self.slot_pids[start : start + self.sizes[row]]

    def answer(self, rows: Ints, event: Event, work: Work) -> npt.NDArray[np.int64]:
        """Rows whose predicates each hold → keys of the subscriptions that match."""
        if any(len(values) > 1 for values in event.values.values()):
            rows = self.verified(rows, self.tangled[rows], event, work)
        keys = self.keys[rows]
        if self._shared_keys:
            together = self._together[rows]
            if together.any():
                keys = np.concatenate([keys[~together], np.unique(keys[together])])
        return keys

    def verified(self, rows: Ints, doubtful: npt.NDArray[np.bool_], event: Event, work: Work) -> Ints:
        """The rows without the doubtful ones that do not hold."""
        if not doubtful.any():
            return rows
        checked = [row for row in rows[doubtful].tolist() if self.holds(row, event, work)]
        return np.concatenate([rows[~doubtful], np.array(checked, np.int32)])

    def holds(self, row: int, event: Event, work: Work) -> bool:
        """Whether a row holds, by the oracle's own meaning."""
        conjunction = self.conjunctions[row]
        assert conjunction is not None
        work.candidates_verified += 1
        return conjunction_holds(self.schema, conjunction, event)

    # -- keeping ----------------------------------------------------------------------------------------------

    def bytes_used(self) -> int:
        arrays = (self.keys, self.sizes, self.tangled, self.row_starts, self.slot_pids, self._uses, self._compared)
        return sum(array.nbytes for array in arrays)

    def check(self) -> None:
        uses = np.zeros(self.predicate_count, np.int64)
        for key, rows in self.subscriptions.items():
            for row in rows:
                assert self.keys[row] == key, f"row {row} has the key {self.keys[row]}, not {key}"
                found = {self.predicates[pid] for pid in self.pids_of(row)}
                assert found == set(self.conjunctions[row] or ()), f"row {row} has not its conjunction's predicates"
                np.add.at(uses, self.pids_of(row), 1)
        assert (uses == self._uses[: len(uses)]).all(), "a predicate's count of uses is wrong"
        live = {pid for pid, predicate in enumerate(self.predicates) if predicate is not None}
        assert live == set(self._ids.values()), "predicates and ids disagree"
        assert live.isdisjoint(self._free_pids), "a predicate in use is marked free"
        rows_used = sum(map(len, self.subscriptions.values()))
        assert rows_used == self.conjunction_count, "rows are lost or counted twice"


def _neighbourhood(predicate: Predicate) -> tuple[str, str, int, int | float | str]:
    """By attribute, operator and constant; lists by their first, which is near enough."""
    constants = predicate.constants
    kind, data = constants[0] if constants else (-1, "")
    return predicate.attribute, predicate.operator.value, kind, data
