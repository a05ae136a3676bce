"""Changing a PB+tree within one transaction: insertion (seed 002, figures 6 and 7) and deletion (its §4.5).

Insertion takes predicates in the order of their constants, so that each leaf and each list node is read, merged with
what it receives by a kernel, and stored once, however many predicates that are. A new leaf item inherits its
neighbours' pointers (figure 6); where those differ, or at the edge of a leaf, the right node is found by a step or two
along the list. A list node that grows too large is split, and the leaf items above its new half are pointed to it
(figure 7, line 7).

Deletion is the reverse. A node that falls below a quarter joins its neighbour if both fit in three quarters of a node,
and the leaf items above it are pointed to the one that stays; an empty node always joins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.indexes.pb_pages import LEAF_ROWS, LIST_ROWS, Node, Numbers, items_of
from tamis.indexes.pb_store import GREATER, INEQUALITY, LESS, LISTS, PAGE_BYTES, Reader, Store, Transaction, packed
from tamis.kernels.indexes.packed_keys import Items
from tamis.model import Operator

__all__ = ["Entry", "Writer"]

LEAF_BYTES = 4 * 4096 - 16
LIST_BYTES = 24 * 4096
"""Full nodes; LMDB stores them in whole pages and keeps 16 bytes. List nodes are walked whole, leaves one by one."""

LIST_OF = {
    Operator.NE: INEQUALITY,
    Operator.GT: GREATER,
    Operator.GE: GREATER,
    Operator.LT: LESS,
    Operator.LE: LESS,
}
IN_LEAF = frozenset({Operator.EQ, Operator.LE, Operator.GE})
"""Operators whose ids also stand in their leaf item's SidSet: a value equal to the constant satisfies them."""


class Entry(NamedTuple):
    key: bytes
    id: int
    operator: Operator


class _Batch:
    """Entries of one transaction as arrays: their distinct keys, and which of them goes where."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.keys: list[bytes] = []
        of = []
        for key, _, _ in entries:
            if not self.keys or self.keys[-1] != key:
                self.keys.append(key)
            of.append(len(self.keys) - 1)
        self._of = np.array(of, np.int64)
        self._ids = np.array([entry.id for entry in entries], np.int32)
        self._lists = np.array([LIST_OF.get(entry.operator, 0) for entry in entries], np.int8)
        self._in_leaf = np.array([entry.operator in IN_LEAF for entry in entries], np.bool_)

    def in_leaves(self) -> Items:
        """What the leaves get: all keys, how many predicates have each, and the ids that belong there."""
        items = items_of(self.keys, self._of[self._in_leaf], self._ids[self._in_leaf], LEAF_ROWS)
        items.extra[0] = np.bincount(self._of, minlength=len(self.keys))
        return items

    def listed(self, which: int) -> tuple[Items, npt.NDArray[np.int64]]:
        """What a list gets, and which of the keys those are."""
        here = self._lists == which
        numbers, of = np.unique(self._of[here], return_inverse=True)
        return items_of([self.keys[at] for at in numbers.tolist()], of, self._ids[here], LIST_ROWS), numbers


class Writer(Reader):
    def __init__(self, store: Store, txn: Transaction) -> None:
        super().__init__(store, txn)
        self._links: dict[int, tuple[bytes, int, int]] = {}
        self.written = self.pointed = 0

    # -- insertion ----------------------------------------------------------------------------------------------------

    def insert(self, entries: Sequence[Entry]) -> None:
        """Entries in ascending order. KeyError if an id is in use; the transaction must then be given up."""
        records = [packed(entry.id, entry.operator, entry.key) for entry in sorted(entries, key=lambda entry: entry.id)]
        with self.txn.cursor(self.store.predicates) as cursor:
            if cursor.putmulti(records, overwrite=False)[1] != len(records):
                raise KeyError("an id is in use, or comes twice")
        batch = _Batch(entries)
        aims = self._insert_into_leaves(batch)
        for which in LISTS:
            new, of = batch.listed(which)
            numbers = aims[which - 1, of]
            edges = np.flatnonzero(np.diff(numbers)) + 1
            for first, last in pairwise([0, *edges.tolist(), len(numbers)] if len(numbers) else []):
                self._insert_into_list(which, int(numbers[first]), new, first, last)

    def _insert_into_leaves(self, batch: _Batch) -> Numbers:
        """For each key, its leaf item's pointers."""
        keys, new = batch.keys, batch.in_leaves()
        aims = np.empty((len(LISTS), len(keys)), np.uint32)
        done = 0
        while done < len(keys):
            leaf = self.leaf(keys[done]).take_apart()
            end = bisect_left(keys, leaf.high, done) if leaf.high else len(keys)
            places, opened = leaf.merge(new, done, end)
            if opened:
                self._point_open(leaf)
            aims[:, done:end] = leaf.extra[1:, places]
            self._put_leaves(leaf)
            done = end
        return aims

    def _point_open(self, leaf: Node) -> None:
        """The pointers that new items could not inherit: from the item before, or the first there is, or the head."""
        for which in LISTS:
            pointers = leaf.extra[which]
            opened, known = np.flatnonzero(pointers == 0).tolist(), np.flatnonzero(pointers)
            first = int(pointers[known[0]]) if len(known) else which
            for item in opened:
                pointers[item] = self._cover(int(pointers[item - 1]) if item else first, leaf.key(item))

    def _cover(self, number: int, key: bytes) -> int:
        """The node responsible for the key, from one near it: the last whose low is not above the key."""
        low, previous, following = self._link(number)
        while key < low:
            number = previous
            low, previous, following = self._link(number)
        while following and self._link(following)[0] <= key:
            number, following = following, self._link(following)[2]
        return number

    def _link(self, number: int) -> tuple[bytes, int, int]:
        if number not in self._links:
            node = self.node(number)
            self._links[number] = (node.low, node.previous, node.next)
        return self._links[number]

    def _insert_into_list(self, which: int, number: int, new: Items, first: int, last: int) -> None:
        node = self.node(number).take_apart()
        node.merge(new, first, last)
        if node.size() <= LIST_BYTES:
            self._put_node(node)
            return
        chain = [node, *node.split(LIST_BYTES)]
        first = self.store.next_number(self.txn)
        self.store.set_next_number(self.txn, first + len(chain) - 1)
        for shift, (left, right) in enumerate(pairwise(chain)):
            right.number, right.previous, right.next = first + shift, left.number, left.next
            left.next = right.number
        self._set_previous(chain[-1].next, chain[-1].number)
        for part in chain:
            self._put_node(part)
        for part in chain[1:]:
            self._point(which, part)

    def _point(self, which: int, node: Node) -> None:
        """Let all leaf items that the node is responsible for point to it."""
        end = self._link(node.next)[0] if node.next else b""
        key = node.low
        while True:
            leaf = self.leaf(key).take_apart()
            first = leaf.place(node.low)[0]
            last = leaf.place(end)[0] if end else len(leaf)
            leaf.extra[which, first:last] = node.number
            self._put_leaves(leaf)
            self.pointed += 1
            key = leaf.high
            if not key or (end and end <= key):
                return

    # -- deletion -----------------------------------------------------------------------------------------------------

    def delete(self, id: int) -> None:
        """KeyError if the id is not there."""
        operator, key = self.predicate(id)
        self.txn.delete(packed(id, operator, key)[0], db=self.store.predicates)
        leaf = self.leaf(key)
        item, found = leaf.place(key)
        if not found:
            raise self.store.damaged(f"the constant of predicate {id} is missing")
        if operator in LIST_OF:
            which = LIST_OF[operator]
            self._delete_from_list(which, leaf.pointers(item)[which], key, id)
        self._delete_from_leaf(key, id, in_leaf=operator in IN_LEAF)

    def _delete_from_leaf(self, key: bytes, id: int, *, in_leaf: bool) -> None:
        leaf = self.leaf(key).take_apart()
        item, _ = leaf.place(key)
        if in_leaf and not leaf.remove(item, id):
            raise self.store.damaged(f"predicate {id} is missing from its leaf")
        leaf.extra[0, item] -= 1
        if not leaf.extra[0, item]:
            leaf.drop(item)
        self._put_leaves(leaf)
        if leaf.size() < LEAF_BYTES // 4:
            self._join_leaf(leaf)

    def _join_leaf(self, leaf: Node) -> None:
        if leaf.high:
            left, right = leaf, self.leaf(leaf.high).take_apart()
        elif leaf.low:
            left, right = self._leaf_before(leaf), leaf
        else:
            return
        if _fit(left, right, LEAF_BYTES):
            self.txn.delete(b"k" + right.low, db=self.store.leaves)
            left.absorb(right)
            self._put_leaves(left)

    def _leaf_before(self, leaf: Node) -> Node:
        with self.txn.cursor(self.store.leaves) as cursor:
            if not cursor.set_key(b"k" + leaf.low) or not cursor.prev():
                raise self.store.damaged("a leaf's neighbour is missing")
            low = bytes(cursor.key())[1:]
        return self.leaf(low).take_apart()

    def _delete_from_list(self, which: int, number: int, key: bytes, id: int) -> None:
        node = self.node(number).take_apart()
        item, found = node.place(key)
        if not found or not node.remove(item, id):
            raise self.store.damaged(f"predicate {id} is missing from its list")
        if not node.counts()[item]:
            node.drop(item)
        self._put_node(node)
        if node.size() < LIST_BYTES // 4:
            self._join_node(which, node)

    def _join_node(self, which: int, node: Node) -> None:
        if node.next:
            left, right = node, self.node(node.next).take_apart()
        elif node.previous:
            left, right = self.node(node.previous).take_apart(), node
        else:
            return
        if _fit(left, right, LIST_BYTES):
            self._delete_node(right.number)
            left.absorb(right)
            self._put_node(left)
            self._set_previous(left.next, left.number)
            self._point(which, left)

    # -- storing ------------------------------------------------------------------------------------------------------

    def _put_leaves(self, leaf: Node) -> None:
        """Store a leaf, and what is too much for it as further leaves."""
        made = leaf.split(LEAF_BYTES) if leaf.size() > LEAF_BYTES else []
        for part in (leaf, *made):
            self.store.put_leaf(self.txn, part)
            self.written += -(-part.size() // PAGE_BYTES)

    def _put_node(self, node: Node) -> None:
        self._links[node.number] = (node.low, node.previous, node.next)
        self.store.put_node(self.txn, node)
        self.written += 1 + -(-node.size() // PAGE_BYTES)  # in two parts

    def _delete_node(self, number: int) -> None:
        del self._links[number]
        self.store.delete_node(self.txn, number)

    def _set_previous(self, number: int, previous: int) -> None:
        if number:
            node = self.node(number).take_apart()
            node.previous = previous
            self._put_node(node)


def _fit(left: Node, right: Node, limit: int) -> bool:
    return not len(left) or not len(right) or left.size() + right.size() <= limit * 3 // 4
