"""Buckets: many small sets of ids packed in one array, so that a kernel copies any choice of them in one go.

A bucket is a run of the arena with some room to spare; a full one moves to the arena's end with twice the room. The
arena is packed again when it is full and less than half alive, so memory stays within a constant of the ids held.

    buckets.add(7, id)     O(1) amortised
    buckets.remove(7, id)  O(size of bucket 7); O(1) where the position is known
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.indexes.base import Ints
from tamis.kernels.gather import gather

__all__ = ["Buckets"]


class Buckets:
    """Bucket numbers run from 0 to `len(self) - 1`; `extend` makes more."""

    def __init__(self, size: int = 0) -> None:
        self.arena: Ints = np.empty(16, dtype=np.int32)
        self.start: npt.NDArray[np.int64] = np.zeros(max(size, 16), dtype=np.int64)
        self.count: Ints = np.zeros(max(size, 16), dtype=np.int32)
        self._room: Ints = np.zeros(max(size, 16), dtype=np.int32)
        self._size = size
        self._used = 0

    @classmethod
    def of(cls, size: int, numbers: npt.NDArray[np.int64], ids: npt.NDArray[np.integer]) -> Buckets:
        """`size` buckets where ids[i] lies in bucket numbers[i], packed in the order of bucket numbers."""
        made = cls(size)
        made.count[:size] = np.bincount(numbers, minlength=size)
        made._room[:size] = made.count[:size]
        made.start[:size] = np.cumsum(made.count[:size], dtype=np.int64) - made.count[:size]
        made.arena = np.ascontiguousarray(ids[np.argsort(numbers, kind="stable")], dtype=np.int32)
        made._used = len(ids)
        return made

    def __len__(self) -> int:
        return self._size

    def extend(self, more: int = 1) -> int:
        """Make more empty buckets; the number of the first of them."""
        first = self._size
        self._size += more
        if self._size > len(self.start):
            room = 2 * self._size
            self.start, self.count, self._room = (
                np.concatenate([old, np.zeros(room - len(old), dtype=old.dtype)])
                for old in (self.start, self.count, self._room)
            )
        return first

    def ids(self, bucket: int) -> Ints:
        """A view, good until the next change."""
        first = self.start[bucket]
        return self.arena[first : first + self.count[bucket]]

    def gather(self, chosen: npt.NDArray[np.int64]) -> Ints:
        return gather(self.arena, self.start, self.count, chosen)

    def add(self, bucket: int, id: int) -> int:
        """The position of the id within its bucket."""
        position = int(self.count[bucket])
        if position == self._room[bucket]:
            self._move(bucket, max(4, 2 * position))
        self.arena[self.start[bucket] + position] = id
        self.count[bucket] = position + 1
        return position

    def remove(self, bucket: int, id: int) -> None:
        self.remove_at(bucket, int(np.flatnonzero(self.ids(bucket) == id)[0]))

    def remove_at(self, bucket: int, position: int) -> int:
        """Remove by position. The bucket's last id moves there and is returned."""
        last = int(self.count[bucket]) - 1
        first = self.start[bucket]
        moved = int(self.arena[first + last])
        self.arena[first + position] = moved
        self.count[bucket] = last
        return moved

    def replace(self, bucket: int, ids: npt.NDArray[np.integer]) -> None:
        if len(ids) > self._room[bucket]:
            self.count[bucket] = 0
            self._move(bucket, len(ids))
        first = self.start[bucket]
        self.arena[first : first + len(ids)] = ids
        self.count[bucket] = len(ids)

    def _move(self, bucket: int, room: int) -> None:
        if self._used + room > len(self.arena):
            self._make_room(room)
        ids = self.ids(bucket)
        self.arena[self._used : self._used + len(ids)] = ids
        self.start[bucket] = self._used
        self._room[bucket] = room
        self._used += room

    def _make_room(self, room: int) -> None:
        alive = int(self.count[: self._size].sum())
        everything = gather(self.arena, self.start, self.count, np.arange(self._size))
        self.arena = np.empty(2 * (alive + room) + 16, dtype=np.int32)
        self.arena[:alive] = everything
        self._room[: self._size] = self.count[: self._size]
        self.start[: self._size] = np.cumsum(self.count[: self._size], dtype=np.int64) - self.count[: self._size]
        self._used = alive

    def bytes_used(self) -> int:
        return self.arena.nbytes + self.start.nbytes + self.count.nbytes + self._room.nbytes

    def check(self) -> None:
        order = np.argsort(self.start[: self._size], kind="stable")
        order = order[self._room[order] > 0]
        ends = self.start[order] + self._room[order]
        assert np.all(ends[:-1] <= self.start[order][1:]), "buckets do not overlap"
        assert np.all(self.count <= self._room), "no bucket is fuller than its room"
        assert self._used <= len(self.arena), "the arena holds all buckets"
