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
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from tamis.errors import SegmentError
from tamis.indexes.base import Ints
from tamis.kernels.indexes.packed_keys import Items, merge, place

__all__ = ["LEAF_ROWS", "LIST_ROWS", "SHORT", "Node", "Stored", "damaged", "items_of", "parts", "read_ids"]

LEAF_ROWS, LIST_ROWS = 4, 0
SHORT = 500
"""LMDB's own keys have at most 511 bytes: a leaf is known by this much of its low key."""

_SUM, _HEAD, _FRONT = struct.Struct("<Q"), struct.Struct("<4s9I"), struct.Struct("<Q4s9I")
_MARK = b"PB+1"
_IDS = _FRONT.size

Numbers = npt.NDArray[np.uint32]

_NOTHING = np.frombuffer(b"", np.uint8)
"""Read-only as the others are that a key or a page is seen through: for each mix `place` would be compiled anew."""


def damaged(path: str, number: int, what: str) -> SegmentError:
    return SegmentError(f"node {number} {what}; restore the index from a copy or build it anew", path)


def parts(leaf: memoryview) -> tuple[memoryview, memoryview]:
    """The front and the rest of a leaf, which are stored together."""
    end = _IDS + 4 * _FRONT.unpack_from(leaf)[6] if len(leaf) >= _IDS else 0
    return leaf[:end], leaf[end:]


def read_ids(front: memoryview, number: int, path: str) -> tuple[Ints, int, int]:
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

    def run(self, first: int, last: int) -> Ints:
        """The ids of some items."""
        ends = self._numbers(0)
        return self.ids[int(ends[first - 1]) if first else 0 : int(ends[last - 1]) if last else 0]

    def take_apart(self) -> Node:
        extra = np.frombuffer(self._rest, np.uint32, self.rows * self.items, _SUM.size + 8 * self.items)
        return Node(
            self.number,
            self.previous,
            self.next,
            self.low,
            self.high,
            Items(
                np.frombuffer(self._rest, np.uint8, -1, self._keys).copy() if self.items else _NOTHING.copy(),
                self._numbers(1).copy(),
                self.ids.copy(),
                self._numbers(0).copy(),
                extra.reshape(self.rows, self.items).copy(),
            ),
        )


@dataclass(slots=True)
class Node:
    """A node taken apart, in arrays of its own. An item's `extra` are the numbers that a leaf keeps of it."""

    number: int
    previous: int
    next: int
    low: bytes
    high: bytes
    items: Items

    @classmethod
    def empty(cls, number: int, rows: int) -> Node:
        return cls(number, 0, 0, b"", b"", items_of([], np.empty(0, np.int64), np.empty(0, np.int32), rows))

    def __len__(self) -> int:
        return len(self.items.key_ends)

    @property
    def extra(self) -> Numbers:
        return self.items.extra

    def key(self, item: int) -> bytes:
        ends = self.items.key_ends
        return self.items.keys[int(ends[item - 1]) if item else 0 : int(ends[item])].tobytes()

    def all_keys(self) -> list[bytes]:
        return [self.key(item) for item in range(len(self))]

    def counts(self) -> npt.NDArray[np.int64]:
        """How many ids each item has."""
        ends = self.items.id_ends.astype(np.int64)
        ends[1:] -= ends[:-1].copy()
        return ends

    def place(self, key: bytes) -> tuple[int, bool]:
        """The first item whose key is not below this one, and whether it has it."""
        return place(self.items.keys, self.items.key_ends, np.frombuffer(key, np.uint8) if key else _NOTHING)

    def merge(self, new: Items, first: int, last: int) -> tuple[npt.NDArray[np.int64], int]:
        """Take in some of the items: where they are now, and how many of their pointers are open, that is zero."""
        self.items, places, opened = merge(self.items, new, first, last)
        return places, opened

    def remove(self, item: int, id: int) -> bool:
        """Take an id out of an item; whether it was there."""
        ends = self.items.id_ends
        start = int(ends[item - 1]) if item else 0
        found = np.flatnonzero(self.items.ids[start : int(ends[item])] == id)
        if len(found) != 1:
            return False
        ends[item:] -= 1
        self.items = self.items._replace(ids=np.delete(self.items.ids, start + found[0]))
        return True

    def drop(self, item: int) -> None:
        """Forget an item without ids."""
        self.items = _joined(self._cut_out(0, item), self._cut_out(item + 1, len(self)))

    def absorb(self, right: Node) -> None:
        """Take over all of the node after this one."""
        self.items = _joined(self.items, right.items)
        self.next, self.high = right.next, right.high

    def size(self) -> int:
        """Bytes when stored, but for a few."""
        return _IDS + 4 * len(self.items.ids) + 4 * (2 + len(self.extra)) * len(self) + len(self.items.keys)

    def split(self, limit: int) -> list[Node]:
        """The nodes to the right of this one that hold what is too much for it, unnumbered. An item stays whole."""
        upto = self.items.key_ends.astype(np.int64) + 4 * self.items.id_ends.astype(np.int64)
        upto += 4 * (2 + len(self.extra)) * np.arange(1, len(self) + 1)
        parts = max(2, int(upto[-1] // (0.7 * limit)) + 1)
        cuts = {self._cut(int(np.searchsorted(upto, upto[-1] * part // parts))) for part in range(1, parts)}
        edges = [*sorted(cuts - {0, len(self)}), len(self)]
        made = [Node(0, 0, 0, self.key(a)[:SHORT], b"", self._cut_out(a, b)) for a, b in pairwise(edges)]
        for left, right in pairwise(made):
            left.high = right.low
        if made:
            made[-1].high = self.high
            self.items = self._cut_out(0, edges[0])
            self.high = made[0].low
        return made

    def _cut(self, at: int) -> int:
        """The next place where the short keys left and right differ, as LMDB must tell leaves apart."""
        while 0 < at < len(self) and self.key(at)[:SHORT] == self.key(at - 1)[:SHORT]:
            at += 1
        return at

    def _cut_out(self, first: int, last: int) -> Items:
        """The items first to last."""
        keys, key_ends, ids, id_ends, extra = self.items
        key = int(key_ends[first - 1]) if first else 0
        id = int(id_ends[first - 1]) if first else 0
        return Items(
            keys[key : int(key_ends[last - 1]) if last else 0],
            key_ends[first:last] - np.uint32(key),
            ids[id : int(id_ends[last - 1]) if last else 0],
            id_ends[first:last] - np.uint32(id),
            np.ascontiguousarray(extra[:, first:last]),
        )

    def to_bytes(self) -> tuple[bytes, bytes]:
        """The front and the rest."""
        keys, key_ends, ids, id_ends, extra = self.items
        head = (self.number, self.previous, self.next, len(key_ends), len(ids), len(extra))
        front = _HEAD.pack(_MARK, *head, len(self.low), len(self.high), len(keys)) + ids.tobytes()
        rest = b"".join([id_ends.tobytes(), key_ends.tobytes(), extra.tobytes(), self.low, self.high, keys.tobytes()])
        sums = xxh3_64_intdigest(front), xxh3_64_intdigest(rest, self.number)
        return _SUM.pack(sums[0]) + front, _SUM.pack(sums[1]) + rest


def items_of(keys: list[bytes], of: npt.NDArray[np.int64], ids: Ints, rows: int) -> Items:
    """Items with these keys, ascending; id i belongs to key `of[i]`, ascending too. Their further numbers are zero."""
    lengths = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
    return Items(
        np.frombuffer(b"".join(keys), np.uint8).copy(),
        np.cumsum(lengths).astype(np.uint32),
        ids,
        np.cumsum(np.bincount(of, minlength=len(keys))).astype(np.uint32),
        np.zeros((rows, len(keys)), np.uint32),
    )


def _joined(left: Items, right: Items) -> Items:
    return Items(
        np.concatenate([left.keys, right.keys]),
        np.concatenate([left.key_ends, right.key_ends + np.uint32(len(left.keys))]),
        np.concatenate([left.ids, right.ids]),
        np.concatenate([left.id_ends, right.id_ends + np.uint32(len(left.ids))]),
        np.concatenate([left.extra, right.extra], axis=1),
    )
