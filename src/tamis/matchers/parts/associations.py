"""Which rows belong to a predicate, or to a cluster: growable lists in one pool of memory (ToPSS §3.3).

A list that is full moves to the end of the pool with twice the room; what it leaves behind is waste, and when half
of the pool is waste the pool is packed. Joining a list costs O(1) amortised, leaving it O(1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.matchers.groups import Groups, attach, detach, move_groups
from tamis.matchers.parts.arrays import Ints, grown

__all__ = ["Associations"]


class Associations:
    """Group → members. `groups` are the arrays that kernels read; its docstring says what each means.

    `relocated` counts the members that had to be copied because their list, or the pool, was full.
    """

    def __init__(self) -> None:
        empty = np.empty(0, np.int64)
        self.groups = Groups(empty, np.empty(0, np.int32), np.empty(0, np.int32), empty, np.empty(0, np.int32))
        self._rooms = np.empty(0, np.int64)
        self._used = 0
        self._waste = 0
        self.relocated = 0

    def add(self, of: Ints, members: Ints, slots: npt.NDArray[np.int64]) -> None:
        """`members[i]` joins group `of[i]`; `slots[i]` is the name of this membership."""
        if not len(of):
            return
        self._make_room(of, int(slots.max()) + 1)
        attach(self.groups, of, members, slots)

    def remove(self, of: Ints, slots: npt.NDArray[np.int64]) -> None:
        detach(self.groups, of, slots)

    def members(self, group: int) -> Ints:
        start = self.groups.starts[group]
        return self.groups.members[start : start + self.groups.lengths[group]]

    def length(self, group: int) -> int:
        return int(self.groups.lengths[group]) if group < len(self.groups.lengths) else 0

    def _make_room(self, of: Ints, slot_stop: int) -> None:
        groups = self.groups
        stop = int(of.max()) + 1
        starts, lengths = grown(groups.starts, stop), grown(groups.lengths, stop)
        self._rooms = grown(self._rooms, stop)
        touched, more = np.unique(of, return_counts=True)
        needed = lengths[touched] + more
        short = needed > self._rooms[touched]
        moved, rooms = touched[short].astype(np.int64), needed[short] + needed[short] // 2
        targets = self._used + np.cumsum(rooms) - rooms
        members = grown(groups.members, self._used + int(rooms.sum()))
        slots = grown(groups.slots, len(members))
        self.groups = Groups(starts, lengths, members, slots, grown(groups.places, slot_stop))
        self._used += int(rooms.sum())
        self._waste += int(self._rooms[moved].sum())
        self.relocated += int(lengths[moved].sum())
        move_groups(self.groups, moved, targets)
        self._rooms[moved] = rooms
        if self._waste > max(1024, self._used // 2):
            self._pack()

    def _pack(self) -> None:
        """Lay the lists end to end again, in an order that lets none overwrite another."""
        old = self.groups
        starts = np.cumsum(self._rooms) - self._rooms
        fresh = Groups(old.starts.copy(), old.lengths, np.empty_like(old.members), np.empty_like(old.slots), old.places)
        for group in np.flatnonzero(old.lengths):
            source = slice(old.starts[group], old.starts[group] + old.lengths[group])
            target = slice(starts[group], starts[group] + old.lengths[group])
            fresh.members[target], fresh.slots[target] = old.members[source], old.slots[source]
        self.groups = fresh._replace(starts=starts)
        self.relocated += int(old.lengths.sum())
        self._used, self._waste = int(self._rooms.sum()), 0

    def bytes_used(self) -> int:
        return sum(array.nbytes for array in self.groups)

    def check(self) -> None:
        groups = self.groups
        taken = np.zeros(len(groups.members), np.bool_)
        for group in np.flatnonzero(self._rooms):
            start, length, room = groups.starts[group], groups.lengths[group], self._rooms[group]
            assert length <= room, f"group {group} is longer than its room"
            assert not taken[start : start + room].any(), f"group {group} overlaps another"
            taken[start : start + room] = True
            places = groups.places[groups.slots[start : start + length]]
            assert (places == np.arange(length)).all(), f"a member of group {group} does not know its place"
