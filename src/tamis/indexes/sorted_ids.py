"""SortedIds: ids in the order of their keys, cut into blocks, so that "all ids below this key" is a few plain copies.

    keys    [[1, 3, 3] [5, 8]]        below 5 → 20 11 14        from 5 on → 12 19
    ids     [[20 11 14] [12 19]]

Blocks split when full and go away when empty, as in *sortedcontainers*. Finding a place is two binary searches;
adding and removing shift part of one block; a range of L ids is copied in about L / 1,000 pieces.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from tamis.indexes.base import Ints, Key
from tamis.kernels.gather import copy_blocks

__all__ = ["Place", "SortedIds"]

BLOCK = 2048
"""Ids in a full block: 8 kB, which shifts in less than a microsecond."""

Place = tuple[int, int]
"""Block number and offset in it."""


class SortedIds:
    def __init__(self, keys: Sequence[Key] = (), ids: Sequence[int] = ()) -> None:
        """From keys in ascending order, with the id of each."""
        half = BLOCK // 2
        self._keys = [list(keys[at : at + half]) for at in range(0, len(keys), half)]
        self._firsts = [block[0] for block in self._keys]
        self._arena: Ints = np.empty((max(len(self._keys), 1), BLOCK), dtype=np.int32)
        for row, at in enumerate(range(0, len(keys), half)):
            self._arena[row, : len(self._keys[row])] = ids[at : at + half]
        self._rows = list(range(len(self._keys)))
        self._free = list(range(len(self._keys), len(self._arena)))
        self._refresh()

    def _refresh(self) -> None:
        """Blocks came or went. `_before[b]` counts the ids before block b."""
        self._row_array = np.array(self._rows, dtype=np.int64)
        self._lengths = np.array([len(block) for block in self._keys], dtype=np.int64)
        self._before = np.concatenate([[0], np.cumsum(self._lengths)])

    def __len__(self) -> int:
        return int(self._before[-1])

    def left(self, key: Key) -> Place:
        """The place before the first key that is not below this one."""
        block = bisect_left(self._firsts, key) - 1
        return (block, bisect_left(self._keys[block], key)) if block >= 0 else (0, 0)

    def right(self, key: Key) -> Place:
        """The place after the last key that is not above this one."""
        block = bisect_right(self._firsts, key) - 1
        return (block, bisect_right(self._keys[block], key)) if block >= 0 else (0, 0)

    def end(self) -> Place:
        return len(self._keys), 0

    def count(self, place: Place) -> int:
        """How many ids lie before the place."""
        return int(self._before[place[0]]) + place[1]

    def copy(self, first: Place, last: Place, out: Ints, at: int) -> int:
        """Write the ids between two places to `out[at:]`; returns where it is filled to."""
        span = np.array([*first, *last], dtype=np.int64)
        return copy_blocks(self._arena, self._row_array, self._lengths, span, out, at)

    def add(self, key: Key, id: int) -> None:
        if not self._keys:
            self._open(0, [key], np.array([id], dtype=np.int32))
            return
        block, offset = self.right(key)
        keys, row = self._keys[block], self._arena[self._rows[block]]
        row[offset + 1 : len(keys) + 1] = row[offset : len(keys)].copy()
        row[offset] = id
        keys.insert(offset, key)
        self._firsts[block] = keys[0]
        self._resized(block, 1)
        if len(keys) == BLOCK:
            self._open(block + 1, keys[BLOCK // 2 :], row[BLOCK // 2 :])
            del keys[BLOCK // 2 :]
            self._refresh()

    def _open(self, block: int, keys: list[Key], ids: Ints) -> None:
        if not self._free:
            more = len(self._arena)
            self._free = list(range(more, 2 * more))
            self._arena = np.concatenate([self._arena, np.empty((more, BLOCK), dtype=np.int32)])
        row = self._free.pop()
        self._arena[row, : len(keys)] = ids
        self._rows.insert(block, row)
        self._keys.insert(block, keys)
        self._firsts.insert(block, keys[0])
        self._refresh()

    def remove(self, key: Key, id: int) -> None:
        block, offset = self._find(key, id)
        keys, row = self._keys[block], self._arena[self._rows[block]]
        row[offset : len(keys) - 1] = row[offset + 1 : len(keys)].copy()
        del keys[offset]
        if keys:
            self._firsts[block] = keys[0]
            self._resized(block, -1)
        else:
            self._free.append(self._rows.pop(block))
            del self._keys[block], self._firsts[block]
            self._refresh()

    def _find(self, key: Key, id: int) -> Place:
        block, offset = self.left(key)
        while True:  # several ids may share the key, over several blocks
            found = np.flatnonzero(self._arena[self._rows[block], offset : len(self._keys[block])] == id)
            if len(found):
                return block, offset + int(found[0])
            block, offset = block + 1, 0

    def _resized(self, block: int, by: int) -> None:
        self._lengths[block] += by
        self._before[block + 1 :] += by

    def bytes_used(self) -> int:
        return self._arena.nbytes + sum(8 * len(block) for block in self._keys)

    def check(self) -> None:
        assert all(self._keys), "no block is empty"
        assert all(len(block) < BLOCK for block in self._keys), "no block is full"
        flat: list[Key] = [key for block in self._keys for key in block]
        assert all(not flat[at + 1] < flat[at] for at in range(len(flat) - 1)), "keys ascend"
        assert self._firsts == [block[0] for block in self._keys], "first keys are right"
        assert sorted(self._rows + self._free) == list(range(len(self._arena))), "each row of the arena has one use"
        assert self._lengths.tolist() == [len(block) for block in self._keys], "lengths are right"
        assert self._before[1:].tolist() == np.cumsum(self._lengths).tolist(), "counts before blocks are right"
