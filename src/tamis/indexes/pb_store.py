"""The PB+tree's nodes in LMDB: where each kind of node lies, and how it is read and checked.

    leaves      "k" + low key (its first 500 bytes) → leaf node      LMDB's B+tree over these is the paper's B+tree
    nodes       number, "i" → a list node's front with its ids; number, "k" → its rest with the keys;
                1, 2, 3 are the heads of the Inequality, GreaterThan and LessThan lists,
                0 says what this file is, and the next free number
    predicates  id → operator, constant, checksum                     so that an id alone can be deleted

`docs/decisions/0006-pb-tree-on-lmdb.md` says why. Whatever LMDB or a checksum complains of becomes `SegmentError`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import lmdb
from xxhash import xxh32_intdigest

from tamis.errors import LimitError, SegmentError
from tamis.indexes.base import Ints
from tamis.indexes.pb_pages import LEAF_ROWS, LIST_ROWS, SHORT, Node, Stored, parts, read_ids
from tamis.model import Operator

__all__ = [
    "GREATER",
    "INEQUALITY",
    "LESS",
    "LISTS",
    "PAGE_BYTES",
    "Reader",
    "Store",
    "Transaction",
    "packed",
]

INEQUALITY, GREATER, LESS = LISTS = (1, 2, 3)
"""Each list's head, and its pointer's row in a leaf item (row 0 counts the constant's predicates)."""

PAGE_BYTES = 4096
MAP_BYTES = 2**38
"""Address space, not memory or disk: how large the file may ever become."""

_WHAT = b"tamis PB+tree 1\n"
_NUMBER = struct.Struct(">I")
_SUM = struct.Struct(">I")
_OPERATORS = list(Operator)
_MARKS = {operator: bytes([at]) for at, operator in enumerate(_OPERATORS)}

Transaction = lmdb.Transaction


class Store:
    """The open file. `durable` waits for the disk at each commit."""

    def __init__(self, path: str, *, durable: bool) -> None:
        self.path = path
        with self.guarded():
            self.env = lmdb.open(
                path, map_size=MAP_BYTES, max_dbs=3, max_readers=1024, readahead=False, sync=durable, metasync=durable
            )
            with self.env.begin(write=True) as txn:
                new = txn.stat()["entries"] == 0
                self.leaves, self.nodes, self.predicates = (
                    self.env.open_db(name, txn=txn, create=new) for name in (b"leaves", b"nodes", b"predicates")
                )
                if new:
                    self._lay_out(txn)
            self.depths()

    def _lay_out(self, txn: Transaction) -> None:
        self.set_next_number(txn, len(LISTS) + 1)
        for number in LISTS:
            self.put_node(txn, Node.empty(number, LIST_ROWS))
        self.put_leaf(txn, Node.empty(0, LEAF_ROWS))

    def put_leaf(self, txn: Transaction, leaf: Node) -> None:
        txn.put(b"k" + leaf.low, b"".join(leaf.to_bytes()), db=self.leaves)

    def put_node(self, txn: Transaction, node: Node) -> None:
        for part, stored in zip((b"i", b"k"), node.to_bytes(), strict=True):
            txn.put(_NUMBER.pack(node.number) + part, stored, db=self.nodes)

    def delete_node(self, txn: Transaction, number: int) -> None:
        for part in (b"i", b"k"):
            txn.delete(_NUMBER.pack(number) + part, db=self.nodes)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        try:
            yield
        except lmdb.MapFullError:
            raise LimitError(f"a PB+tree has at most {MAP_BYTES:,} bytes", MAP_BYTES, MAP_BYTES) from None
        except lmdb.Error as error:
            raise SegmentError(f"LMDB says: {error}", self.path) from error

    def depths(self) -> None:
        """How deep LMDB's trees are now; for the counters."""
        with self.env.begin() as txn:
            self.leaf_depth = txn.stat(self.leaves)["depth"]
            self.node_depth = txn.stat(self.nodes)["depth"]

    def next_number(self, txn: Transaction) -> int:
        record = bytes(txn.get(_NUMBER.pack(0), db=self.nodes) or b"")
        if not record.startswith(_WHAT) or len(record) != len(_WHAT) + 8:
            raise SegmentError("this is not a PB+tree of this version", self.path)
        if _SUM.pack(xxh32_intdigest(record[:-4])) != record[-4:]:
            raise SegmentError("the first record does not match its checksum", self.path)
        return int(_NUMBER.unpack_from(record, len(_WHAT))[0])

    def set_next_number(self, txn: Transaction, number: int) -> None:
        record = _WHAT + _NUMBER.pack(number)
        txn.put(_NUMBER.pack(0), record + _SUM.pack(xxh32_intdigest(record)), db=self.nodes)

    def damaged(self, what: str) -> SegmentError:
        return SegmentError(f"{what}; restore the index from a copy or build it anew", self.path)


class Reader:
    """Nodes as one transaction sees them; counts the pages it looks at."""

    def __init__(self, store: Store, txn: Transaction) -> None:
        self.store, self.txn, self.pages = store, txn, 0

    def leaf(self, key: bytes) -> Stored:
        """The leaf responsible for the key."""
        with self.txn.cursor(self.store.leaves) as cursor:
            sought = b"k" + key[:SHORT]
            found = cursor.set_range(sought) and bytes(cursor.key()) == sought
            if not found and not (cursor.prev() if cursor.key() else cursor.last()):
                raise self.store.damaged("the first leaf is missing")
            leaf = Stored(*parts(memoryview(cursor.value())), 0, self.store.path)
            low, high = leaf.low, leaf.high
            if bytes(cursor.key()) != b"k" + low or key < low or (high and high <= key):
                raise self.store.damaged("the tree leads to a wrong leaf")
        self.pages += self.store.leaf_depth + -(-leaf.size // PAGE_BYTES)
        return leaf

    def node(self, number: int) -> Stored:
        """A list's node."""
        node = Stored(self._part(number, b"i"), self._part(number, b"k"), number, self.store.path)
        self.pages += self.store.node_depth + 1 + -(-node.size // PAGE_BYTES)
        return node

    def walk(self, came: int, number: int, *, forward: bool) -> list[Ints]:
        """The ids of each node of a list, from this one to the end or to the head; `came` is the node before it."""
        found, path = [], self.store.path
        while number:
            ids, previous, following = read_ids(self._part(number, b"i"), number, path)
            if came != (previous if forward else following):
                raise self.store.damaged(f"node {number} does not know its neighbour")
            found.append(ids)
            self.pages += self.store.node_depth + -(-ids.nbytes // PAGE_BYTES)
            came, number = number, following if forward else previous
        return found

    def _part(self, number: int, part: bytes) -> memoryview:
        data = self.txn.get(_NUMBER.pack(number) + part, None, self.store.nodes)
        if data is None:
            raise self.store.damaged(f"node {number} is missing")
        return memoryview(data)

    def predicate(self, id: int) -> tuple[Operator, bytes]:
        """The operator and the key; KeyError if the id is not there."""
        record = self.txn.get(_NUMBER.pack(id), db=self.store.predicates)
        if record is None:
            raise KeyError(f"the id {id} is not in use")
        return self.unpacked(id, bytes(record))

    def unpacked(self, id: int, record: bytes) -> tuple[Operator, bytes]:
        if len(record) < 5 or _SUM.pack(xxh32_intdigest(record[:-4], id)) != record[-4:]:
            raise self.store.damaged(f"the record of predicate {id} does not match its checksum")
        return _OPERATORS[record[0]], record[1:-4]


def packed(id: int, operator: Operator, key: bytes) -> tuple[bytes, bytes]:
    """A predicate's record, under its id."""
    record = _MARKS[operator] + key
    return _NUMBER.pack(id), record + _SUM.pack(xxh32_intdigest(record, id))
