"""Changing a PB+tree within one transaction: insertion (seed 002, figures 6 and 7) and deletion (its §4.5).

Insertion takes predicates in the order of their constants, so that each leaf and each list node is taken apart and
put together once, however many predicates it receives. A new leaf item inherits its neighbours' pointers (figure 6);
where those differ, or at the edge of a leaf, the right node is found by a step or two along the list. A list node that
grows too large is split, and the leaf items above its new half are pointed to it (figure 7, line 7).

Deletion is the reverse. A node that falls below a quarter joins its neighbour if both fit in three quarters of a node,
and the leaf items above it are pointed to the one that stays; an empty node always joins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from tamis.indexes.pb_pages import Node, Numbers
from tamis.indexes.pb_store import GREATER, INEQUALITY, LESS, LISTS, Reader, Store, Transaction, packed
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


class Writer(Reader):
    def __init__(self, store: Store, txn: Transaction) -> None:
        super().__init__(store, txn)
        self._links: dict[int, tuple[bytes, int, int]] = {}

    # -- insertion ----------------------------------------------------------------------------------------------------

    def insert(self, entries: Sequence[Entry]) -> None:
        """Entries in ascending order. KeyError if an id is in use; the transaction must then be given up."""
        records = [packed(entry.id, entry.operator, entry.key) for entry in sorted(entries, key=lambda entry: entry.id)]
        with self.txn.cursor(self.store.predicates) as cursor:
            if cursor.putmulti(records, overwrite=False)[1] != len(records):
                raise KeyError("an id is in use, or comes twice")
        keys = [entry.key for entry in entries]
        aims: dict[int, list[tuple[int, Entry]]] = {which: [] for which in LISTS}
        done = 0
        while done < len(entries):
            leaf = self.leaf(keys[done]).take_apart()
            end = bisect_left(keys, leaf.high, done) if leaf.high else len(keys)
            self._insert_into_leaf(leaf, entries[done:end], aims)
            done = end
        for which in LISTS:
            for number, run in groupby(aims[which], key=lambda aim: aim[0]):
                self._insert_into_list(which, number, [entry for _, entry in run])

    def _insert_into_leaf(self, leaf: Node, entries: Sequence[Entry], aims: dict[int, list[tuple[int, Entry]]]) -> None:
        groups = [(key, list(run)) for key, run in groupby(entries, key=lambda entry: entry.key)]
        before = leaf.extra
        new, places = leaf.merge([(key, [one.id for one in run if one.operator in IN_LEAF]) for key, run in groups])
        items = np.array([bisect_left(leaf.keys, key) for key, _ in groups], dtype=np.int64)
        leaf.extra[0, items] += np.array([len(run) for _, run in groups], dtype=np.uint32)
        for at, place in zip(new, places.tolist(), strict=True):
            leaf.extra[1:, items[at]] = self._inherited(before, place, groups[at][0])
        pointers = leaf.extra[:, items].T.tolist()
        for (_, run), row in zip(groups, pointers, strict=True):
            for entry in run:
                if entry.operator in LIST_OF:
                    which = LIST_OF[entry.operator]
                    aims[which].append((row[which], entry))
        self._put_leaves(leaf)

    def _inherited(self, extra: Numbers, place: int, key: bytes) -> list[int]:
        """The pointers of a new item, from those of the items left and right of its place."""
        if 0 < place < extra.shape[1]:
            left, right = extra[1:, place - 1].tolist(), extra[1:, place].tolist()
            return [a if a == b else self._cover(a, key) for a, b in zip(left, right, strict=True)]
        near = extra[1:, max(place - 1, 0)].tolist() if extra.shape[1] else LISTS
        return [self._cover(number, key) for number in near]

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

    def _insert_into_list(self, which: int, number: int, entries: Iterable[Entry]) -> None:
        node = self.node(number).take_apart()
        node.merge([(key, [one.id for one in run]) for key, run in groupby(entries, key=lambda entry: entry.key)])
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
            first = bisect_left(leaf.keys, node.low)
            last = bisect_left(leaf.keys, end) if end else len(leaf.keys)
            leaf.extra[which, first:last] = node.number
            self._put_leaves(leaf)
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
        item = leaf.find(key)
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
        item = node.find(key)
        if item < 0 or not node.remove(item, id):
            raise self.store.damaged(f"predicate {id} is missing from its list")
        if not node.counts[item]:
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

    def _put_node(self, node: Node) -> None:
        self._links[node.number] = (node.low, node.previous, node.next)
        self.store.put_node(self.txn, node)

    def _delete_node(self, number: int) -> None:
        del self._links[number]
        self.store.delete_node(self.txn, number)

    def _set_previous(self, number: int, previous: int) -> None:
        if number:
            node = self.node(number).take_apart()
            node.previous = previous
            self._put_node(node)


def _fit(left: Node, right: Node, limit: int) -> bool:
    return not left.keys or not right.keys or left.size() + right.size() <= limit * 3 // 4
