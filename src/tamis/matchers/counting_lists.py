"""Counting with lists (ToPSS §3.3): each predicate keeps the list of the subscriptions it belongs to.

An event's satisfied predicates walk their lists and bump a counter per subscription; one whose counter reaches its
number of predicates matches. This is also CountMatch, which RAPIDMatch §3 compares with.

We deviate in three ways. Counters run down to zero, so that a match is seen when it happens and the final pass over all
subscriptions falls away. Only counters that were touched are reset, unless most were. The lists are cut from one
pool and double when full, where the paper adds a constant amount.

Cost: match O(predicates satisfied + lengths of their lists), add and remove O(predicates of the subscription), memory
O(all predicates of all subscriptions), twice: the lists and the reverse association.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.matchers.counting import count_clusters, count_lists
from tamis.kernels.matchers.groups import Groups
from tamis.matchers.parts.algorithm import CountingAlgorithm
from tamis.matchers.parts.arrays import Ints, Scratches, grown
from tamis.matchers.parts.associations import Associations
from tamis.matchers.parts.changes import Change
from tamis.model import Schema

__all__ = ["Counters", "CountingLists"]


Flags = npt.NDArray[np.bool_]


class _Scratch(NamedTuple):
    left: npt.NDArray[np.unsignedinteger]
    out: Ints


class Counters:
    """Predicate → rows, and a counter per row. Rows count the predicates they were added with."""

    def __init__(self) -> None:
        self.lists = Associations()
        self.sizes: npt.NDArray[np.unsignedinteger] = np.empty(0, np.uint8)
        self._scratches = Scratches(self._scratch)

    def _scratch(self) -> _Scratch:
        return _Scratch(self.sizes.copy(), np.empty(len(self.sizes) + 1, np.int32))

    def add(self, change: Change) -> None:
        self.lists.add(change.pids, np.repeat(change.rows, change.sizes), change.slots)
        if len(change.rows):
            before = self.sizes
            if change.sizes.max() > np.iinfo(self.sizes.dtype).max:
                self.sizes = self.sizes.astype(np.uint32)
            self.sizes = grown(self.sizes, int(change.rows.max()) + 1)
            if self.sizes is not before:
                self._scratches.discard()
            self._set_sizes(change.rows, change.sizes)

    def remove(self, change: Change) -> None:
        self.lists.remove(change.pids, change.slots)
        self._set_sizes(change.rows, 0)

    def _set_sizes(self, rows: Ints, sizes: npt.NDArray[np.int64] | int) -> None:
        self.sizes[rows] = sizes
        for scratch in self._scratches.idle():
            scratch.left[rows] = sizes

    def count(self, satisfied: Ints) -> tuple[Ints, int]:
        """Rows whose counter runs out, and how many counters were bumped. All the predicates have a list."""
        scratch = self._scratches.borrow()
        found, bumped = count_lists(satisfied, self.lists.groups, self.sizes, scratch.left, scratch.out)
        rows = scratch.out[:found].copy()
        self._scratches.give_back(scratch)
        return rows, bumped

    def count_clusters(self, satisfied: Ints, partial: Ints, clusters: Groups, alone: Flags) -> tuple[Ints, int]:
        """Rows of the `partial` clusters, and of those that stand `alone`, whose counter runs out; counters bumped."""
        scratch = self._scratches.borrow()
        found, bumped = count_clusters(
            satisfied, self.lists.groups, self.sizes, scratch.left, partial, clusters, alone, scratch.out
        )
        rows = scratch.out[:found].copy()
        self._scratches.give_back(scratch)
        return rows, bumped

    def bytes_used(self) -> int:
        return self.lists.bytes_used() + self.sizes.nbytes

    def bytes_filled(self, rows: int) -> tuple[int, int]:
        """Without room to grow: lists and counts; and what lets a row find its places in them, for its removal."""
        groups = self.lists.groups
        members = int(groups.lengths.sum())
        one = groups.slots.itemsize + groups.places.itemsize + _PID_BYTES
        return members * groups.members.itemsize + rows * self.sizes.itemsize, members * one


_PID_BYTES = 4
"""Of the roster's predicates by row: the reverse association."""


class CountingLists(CountingAlgorithm):
    def __init__(self, schema: Schema, index: str | None = None) -> None:
        super().__init__(schema, index)
        self._counters = Counters()

    def _join(self, change: Change) -> None:
        self._counters.add(change)

    def _leave(self, change: Change) -> None:
        self._counters.remove(change)

    def _count(self, satisfied: Ints) -> Ints:
        rows, bumped = self._counters.count(satisfied)
        self._work.counters_bumped += bumped
        return rows

    def _details(self) -> Mapping[str, int | float | str]:
        lists, for_removal = self._counters.bytes_filled(self._roster.row_count)
        filled = {"association_bytes": lists, "removal_bytes": for_removal}
        return {**super()._details(), "relocated": self._counters.lists.relocated, **filled}

    def _bytes(self) -> int:
        return self._front.bytes_used() + self._counters.bytes_used()

    def _check(self) -> None:
        super()._check()
        self._counters.lists.check()
        roster = self._roster
        for rows in roster.subscriptions.values():
            for row in rows:
                assert self._counters.sizes[row] == roster.sizes[row], f"row {row} counts to the wrong number"
                for pid in roster.pids_of(row):
                    assert row in self._counters.lists.members(pid), f"row {row} is not in the list of {pid}"
