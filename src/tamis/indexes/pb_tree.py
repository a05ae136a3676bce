"""PB+tree — Wang, Zhang, Kitsuregawa, "Design of B+tree-Based Predicate Index for Efficient Event Matching" (seed 002).

One B+tree on disk over all constants of an attribute; each leaf item keeps the ids that a value equal to it satisfies
(`=`, `<=`, `>=`) and points into three lists of nodes in key order, Inequality, GreaterThan, LessThan. A search goes
down the tree once, follows the three pointers and walks each list to its satisfied end (§4, figures 1-9).

Deviations, argued in `docs/decisions/0006-pb-tree-on-lmdb.md`. The B+tree above the leaves, pages and transactions are
LMDB's; leaf items, SidSets, pointers and lists are ours. A pointer is a node number that LMDB resolves, as LMDB moves
pages. All three pointers name the node responsible for the item's key, where the paper turns LessThan's around:
at most one node more is read. A leaf item counts its predicates, so that deletion knows when a constant goes.
The lists' walks are strict (seeds/README): a value equal to a constant finds `<=` and `>=` in the leaf alone.

Costs, n constants, L satisfied: search O(log n) pages down the tree, three nodes, and the pages that L ids fill; insert
and delete O(log n) and the leaf items to be pointed anew, at most all of them; disk O(n). Memory: what one transaction
changes; everything else is the system's page cache, which it may drop at any time.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tamis.indexes.base import Ints
from tamis.indexes.pb_check import check
from tamis.indexes.pb_keys import encode, encode_many
from tamis.indexes.pb_store import GREATER, INEQUALITY, LESS, PAGE_BYTES, Reader, Store
from tamis.indexes.pb_writer import Entry, Writer
from tamis.model import Domain, Operator, Value

__all__ = ["PbTree"]


class PbTree:
    """In the directory `path`, made if need be and kept; without one in a directory of its own, gone when closed.

    An insertion, an `insert_many` or a deletion is one transaction; `with index.transaction():` makes one of several.
    With a `path` a transaction that returned is on disk. One process writes at a time; others may read.

    `read` counts the pages that changes looked at, `written` those of the leaves and nodes that they stored, `pointed`
    the leaves that were only pointed anew to a list node: the paper's Number_update.
    """

    def __init__(self, domain: Domain, path: str | Path | None = None) -> None:
        self.visited = self.read = self.written = self.pointed = 0
        home = str(path) if path is not None else tempfile.mkdtemp(prefix="tamis-pb-tree-")
        self._store = Store(home, durable=path is not None)
        self._writer: Writer | None = None
        self._finalizer = weakref.finalize(self, _close, self._store, home if path is None else None)

    def close(self) -> None:
        self._finalizer()

    # -- changes ------------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes inside, or none if an exception leaves it; inside another transaction too."""
        outer = self._writer
        with self._store.guarded():
            try:
                parent = outer.txn if outer else None
                with self._store.env.begin(write=True, buffers=True, parent=parent) as txn:
                    self._writer = writer = Writer(self._store, txn)
                    yield
                    self.read += writer.pages
                    self.written += writer.written
                    self.pointed += writer.pointed
            finally:
                self._writer = outer
            if outer is None:
                self._store.depths()

    def insert(self, predicate_id: int, operator: Operator, constant: Value) -> None:
        self.insert_many([(predicate_id, operator, constant)])

    def insert_many(self, predicates: Sequence[tuple[int, Operator, Value]]) -> None:
        keys = encode_many([constant for _, _, constant in predicates])
        entries = sorted(Entry(key, id, operator) for key, (id, operator, _) in zip(keys, predicates, strict=True))
        with self.transaction():
            assert self._writer is not None
            self._writer.insert(entries)

    def delete(self, predicate_id: int) -> None:
        with self.transaction():
            assert self._writer is not None
            self._writer.delete(predicate_id)

    # -- search -------------------------------------------------------------------------------------------------------

    def search(self, value: Value) -> Ints:
        key = encode(value)
        with self._reading() as reader:
            leaf = reader.leaf(key)
            item, found = leaf.place(key)
            parts = [leaf.run(item, item + found)]
            if leaf.items:
                near = leaf.pointers(item if found else max(item - 1, 0))
                parts += _collect(reader, near[GREATER], key, below=True, above=False)
                parts += _collect(reader, near[LESS], key, below=False, above=True)
                parts += _collect(reader, near[INEQUALITY], key, below=True, above=True)
            self.visited += reader.pages
            return np.concatenate(parts)

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        if self._writer is not None:
            yield Reader(self._store, self._writer.txn)
            return
        with self._store.guarded(), self._store.env.begin(buffers=True) as txn:
            yield Reader(self._store, txn)

    def bytes_used(self) -> int:
        """Pages in use; the file may have free ones besides."""
        with self._reading() as reader:
            stats = [reader.txn.stat(db) for db in (self._store.leaves, self._store.nodes, self._store.predicates)]
        return PAGE_BYTES * sum(one["branch_pages"] + one["leaf_pages"] + one["overflow_pages"] for one in stats)

    def structure_bytes(self) -> int:
        return self.bytes_used()

    def check(self) -> None:
        with self._reading() as reader:
            check(reader)


def _collect(reader: Reader, number: int, key: bytes, *, below: bool, above: bool) -> list[Ints]:
    """CollectGT (figure 9) and its siblings: a list's items strictly below the key, above it, or both.

    From the node of the key's neighbour to the head, to the tail, or to both.
    """
    node = reader.node(number)
    item, found = node.place(key)
    parts = []
    if below:
        parts += [node.run(0, item), *reader.walk(number, node.previous, forward=False)]
    if above:
        parts += [node.run(item + found, node.items), *reader.walk(number, node.next, forward=True)]
    return parts


def _close(store: Store, temporary: str | None) -> None:
    store.env.close()
    if temporary is not None:
        shutil.rmtree(temporary, ignore_errors=True)
