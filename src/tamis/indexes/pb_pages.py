"""Nodes of the PB+tree as bytes: leaf nodes (seed 002, figure 4) and list nodes (figures 2 and 3) share one layout.

    front   checksum, mark, number, previous, next, items, ids, rows, bytes of low, high and keys;
            the SidSets of all items, one after another
    rest    checksum; where each item's ids end, where its key ends, `rows` numbers per item, low, high, keys

A walk along a list reads fronts alone, so a list node's two parts are stored apart. `rows` is 4 in a leaf
(how many predicates have the constant; the Inequality, GreaterThan and LessThan pointers) and 0 in a list. A node is
responsible for constants from `low` up to `high`; an empty `high` in a leaf, or any in a list, says nothing.

`Stored` reads a node where it lies; `Node` is a node taken apart, to be changed.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from tamis.errors import SegmentError
from tamis.indexes.base import Ids
from tamis.kernels.packed_keys import place

__all__ = ["LEAF_ROWS", "LIST_ROWS", "SHORT", "Node", "Stored", "damaged", "parts", "read_ids"]

LEAF_ROWS, LIST_ROWS = 4, 0
SHORT = 500
"""LMDB's own keys have at most 511 bytes: a leaf is known by this much of its low key."""

_SUM, _HEAD, _FRONT = struct.Struct("<Q"), struct.Struct("<4s9I"), struct.Struct("<Q4s9I")
_MARK = b"PB+1"
_IDS = _FRONT.size

Numbers = npt.NDArray[np.uint32]

_NOTHING = np.empty(0, dtype=np.uint8)


def damaged(path: str, number: int, what: str) -> SegmentError:
    return SegmentError(f"node {number} {what}; restore the index from a copy or build it anew", path)


def parts(leaf: memoryview) -> tuple[memoryview, memoryview]:
    """The front and the rest of a leaf, which are stored together."""
    end = _IDS + 4 * _FRONT.unpack_from(leaf)[6] if len(leaf) >= _IDS else 0
    return leaf[:end], leaf[end:]


def read_ids(front: memoryview, number: int, path: str) -> tuple[Ids, int, int]:
    """A node's ids, the node before it and the one after it: all that a walk along a list needs."""
    if len(front) < _IDS:
        raise damaged(path, number, "is cut short")
    checksum, mark, found, previous, following, _, ids, *_ = _FRONT.unpack_from(front)
    if mark != _MARK or found != number or len(front) != _IDS + 4 * ids:
        raise damaged(path, number, "is not what it should be")
    if xxh3_64_intdigest(front[_SUM.size :]) != checksum:
        raise damaged(path, number, "does not match its checksum")
    return np.frombuffer(front, np.int32, ids, _IDS), previous, following


class Stored:
    """A node read in place, good as long as its buffer is."""

    __slots__ = (
        "_high",
        "_keys",
        "_low",
        "_rest",
        "ids",
        "items",
        "next",
        "number",
        "path",
        "previous",
        "rows",
        "size",
    )

    def __init__(self, front: memoryview, rest: memoryview, number: int, path: str) -> None:
        self.ids, self.previous, self.next = read_ids(front, number, path)
        self._rest, self.number, self.path, self.size = rest, number, path, len(front) + len(rest)
        _, _, _, _, _, self.items, _, self.rows, low, high, keys = _FRONT.unpack_from(front)
        self._low = _SUM.size + 4 * (2 + self.rows) * self.items
        self._high = self._low + low
        self._keys = self._high + high
        if len(rest) != self._keys + keys:
            raise damaged(path, number, "is not as long as it says")
        if xxh3_64_intdigest(rest[_SUM.size :], number) != _SUM.unpack_from(rest)[0]:
            raise damaged(path, number, "does not match its checksum")

    def _numbers(self, row: int) -> Numbers:
        return np.frombuffer(self._rest, np.uint32, self.items, _SUM.size + 4 * row * self.items)

    def pointers(self, item: int) -> tuple[int, ...]:
        """The numbers of a leaf's item: its predicates, then the three pointers."""
        return tuple([int(self._numbers(2 + row)[item]) for row in range(self.rows)])

    @property
    def low(self) -> bytes:
        return bytes(self._rest[self._low : self._high])

    @property
    def high(self) -> bytes:
        return bytes(self._rest[self._high : self._keys])

    def place(self, key: bytes) -> tuple[int, bool]:
        """The first item whose key is not below this one, and whether it has it."""
        packed = np.frombuffer(self._rest, np.uint8, -1, self._keys) if self.items else _NOTHING
        return place(packed, self._numbers(1), np.frombuffer(key, np.uint8) if key else _NOTHING)

    def run(self, first: int, last: int) -> Ids:
        """The ids of some items."""
        ends = self._numbers(0)
        return self.ids[int(ends[first - 1]) if first else 0 : int(ends[last - 1]) if last else 0]

    def take_apart(self) -> Node:
        packed = bytes(self._rest[self._keys :])
        return Node(
            self.number,
            self.previous,
            self.next,
            self.low,
            self.high,
            [packed[first:last] for first, last in pairwise([0, *self._numbers(1).tolist()])],
            np.diff(self._numbers(0), prepend=np.uint32(0)).astype(np.int64),
            self.ids.copy(),
            np.array([self._numbers(2 + row) for row in range(self.rows)], np.uint32).reshape(self.rows, self.items),
        )


@dataclass(slots=True)
class Node:
    """A node taken apart: item i has `keys[i]`, `counts[i]` of the ids, and `extra[:, i]`."""

    number: int
    previous: int
    next: int
    low: bytes
    high: bytes
    keys: list[bytes]
    counts: npt.NDArray[np.int64]
    ids: Ids
    extra: Numbers

    @classmethod
    def empty(cls, number: int, rows: int) -> Node:
        none = np.empty(0, dtype=np.int64)
        return cls(number, 0, 0, b"", b"", [], none, none.astype(np.int32), np.empty((rows, 0), dtype=np.uint32))

    def find(self, key: bytes) -> int:
        """The item's place, or -1."""
        at = bisect_left(self.keys, key)
        return at if at < len(self.keys) and self.keys[at] == key else -1

    def merge(self, groups: list[tuple[bytes, list[int]]]) -> tuple[list[int], npt.NDArray[np.int64]]:
        """Add keys in ascending order with their new ids. Returns which were new, and their places among the old."""
        places = [bisect_left(self.keys, key) for key, _ in groups]
        old = len(self.keys)
        new = [at for at, (key, _) in enumerate(groups) if places[at] == old or self.keys[places[at]] != key]
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        known = np.ones(len(groups), dtype=np.int64)
        known[new] = 0
        sizes = np.array([len(ids) for _, ids in groups], dtype=np.int64)
        ids = [id for _, some in groups for id in some]
        where = np.array(places, dtype=np.int64)
        self.ids = np.insert(self.ids, np.repeat(starts[where + known], sizes), ids).astype(np.int32, copy=False)
        np.add.at(self.counts, where[known == 1], sizes[known == 1])
        fresh = where[new]
        self.counts = np.insert(self.counts, fresh, sizes[new])
        self.extra = np.insert(self.extra, fresh, 0, axis=1)
        for shift, at in enumerate(new):
            self.keys.insert(places[at] + shift, groups[at][0])
        return new, fresh

    def remove(self, item: int, id: int) -> bool:
        """Take an id out of an item; whether it was there."""
        start = int(self.counts[:item].sum())
        found = np.flatnonzero(self.ids[start : start + self.counts[item]] == id)
        if len(found) != 1:
            return False
        self.ids = np.delete(self.ids, start + found[0])
        self.counts[item] -= 1
        return True

    def drop(self, item: int) -> None:
        """Forget an item without ids."""
        del self.keys[item]
        self.counts = np.delete(self.counts, item)
        self.extra = np.delete(self.extra, item, axis=1)

    def absorb(self, right: Node) -> None:
        """Take over all of the node after this one."""
        self.keys += right.keys
        self.counts = np.concatenate([self.counts, right.counts])
        self.ids = np.concatenate([self.ids, right.ids])
        self.extra = np.concatenate([self.extra, right.extra], axis=1)
        self.next, self.high = right.next, right.high

    def size(self) -> int:
        """Bytes when stored, but for a few."""
        return _IDS + 4 * len(self.ids) + 4 * (2 + len(self.extra)) * len(self.keys) + sum(map(len, self.keys))

    def split(self, limit: int) -> list[Node]:
        """The nodes to the right of this one that hold what is too much for it, unnumbered. An item stays whole."""
        lengths = np.fromiter(map(len, self.keys), dtype=np.int64, count=len(self.keys))
        upto = np.cumsum(lengths + 4 * self.counts + 4 * (2 + len(self.extra)))
        parts = max(2, int(upto[-1] // (0.7 * limit)) + 1)
        cuts = {self._cut(int(np.searchsorted(upto, upto[-1] * part // parts))) for part in range(1, parts)}
        edges = [*sorted(cuts - {0, len(self.keys)}), len(self.keys)]
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        made = [self._part(a, b, starts) for a, b in pairwise(edges)]
        for left, right in pairwise(made):
            left.high = right.low
        if made:
            made[-1].high = self.high
            first = self._part(0, edges[0], starts)
            self.keys, self.counts, self.ids, self.extra = first.keys, first.counts, first.ids, first.extra
            self.high = made[0].low
        return made

    def _cut(self, at: int) -> int:
        """The next place where the short keys left and right differ, as LMDB must tell leaves apart."""
        while 0 < at < len(self.keys) and self.keys[at][:SHORT] == self.keys[at - 1][:SHORT]:
            at += 1
        return at

    def _part(self, a: int, b: int, starts: npt.NDArray[np.int64]) -> Node:
        ids, extra = self.ids[starts[a] : starts[b]], self.extra[:, a:b]
        return Node(0, 0, 0, self.keys[a][:SHORT], b"", self.keys[a:b], self.counts[a:b], ids, extra)

    def to_bytes(self) -> tuple[bytes, bytes]:
        """The front and the rest."""
        keys = b"".join(self.keys)
        head = (self.number, self.previous, self.next, len(self.keys), len(self.ids), len(self.extra))
        front = _HEAD.pack(_MARK, *head, len(self.low), len(self.high), len(keys)) + self.ids.tobytes()
        lengths = np.fromiter(map(len, self.keys), dtype=np.uint32, count=len(self.keys))
        ends = [np.cumsum(part, dtype=np.uint32).tobytes() for part in (self.counts, lengths)]
        rest = b"".join([*ends, self.extra.tobytes(), self.low, self.high, keys])
        sums = xxh3_64_intdigest(front), xxh3_64_intdigest(rest, self.number)
        return _SUM.pack(sums[0]) + front, _SUM.pack(sums[1]) + rest
