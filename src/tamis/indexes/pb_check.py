"""Every invariant of a PB+tree, read off one transaction. O(n) memory: for tests and for doubt, not for every day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tamis.indexes.pb_pages import Node
from tamis.indexes.pb_store import LISTS, Reader
from tamis.indexes.pb_writer import IN_LEAF, LIST_OF

__all__ = ["check"]

_Items = dict[bytes, list[int]]


def check(reader: Reader) -> None:
    uses: dict[bytes, int] = defaultdict(int)
    expected: dict[int, _Items] = {which: defaultdict(list) for which in (0, *LISTS)}
    for raw_id, record in reader.txn.cursor(reader.store.predicates):
        id = int.from_bytes(bytes(raw_id), "big")
        operator, key = reader.unpacked(id, bytes(record))
        uses[key] += 1
        if operator in IN_LEAF:
            expected[0][key].append(id)
        if operator in LIST_OF:
            expected[LIST_OF[operator]][key].append(id)
    lists = {which: list(_walk(reader, which)) for which in LISTS}
    for which, nodes in lists.items():
        _check_list(nodes, expected[which])
    _check_leaves(list(_leaves(reader)), lists, uses, expected[0])


def _walk(reader: Reader, head: int) -> Iterator[Node]:
    number, previous = head, 0
    while number:
        node = reader.node(number).take_apart()
        assert node.previous == previous, "a list is linked both ways"
        yield node
        number, previous = node.next, number


def _leaves(reader: Reader) -> Iterator[Node]:
    low = b""
    while True:
        leaf = reader.leaf(low).take_apart()
        assert leaf.low == low, "leaves follow one another without gaps"
        yield leaf
        low = leaf.high
        if not low:
            break
    assert reader.txn.stat(reader.store.leaves)["entries"] == len(set(_lows(reader))), "no leaf outside the order"


def _lows(reader: Reader) -> Iterator[bytes]:
    yield from (bytes(key) for key in reader.txn.cursor(reader.store.leaves).iternext(values=False))


def _check_list(nodes: list[Node], expected: _Items) -> None:
    assert nodes[0].low == b"", "the head starts at the least key"
    for node, following in pairwise(nodes):
        assert node.low < following.low, "nodes ascend"
        assert all(key < following.low for key in node.all_keys()), "a node's keys lie before the next node"
    for node in nodes:
        assert all(node.low <= key for key in node.all_keys()), "a node's keys are not below its low"
        assert len(node) or node is nodes[0], "no node but the head is empty"
    assert _items(nodes) == {key: sorted(ids) for key, ids in expected.items()}, "a list has its predicates"


def _check_leaves(leaves: list[Node], lists: dict[int, list[Node]], uses: dict[bytes, int], expected: _Items) -> None:
    keys = [key for leaf in leaves for key in leaf.all_keys()]
    assert keys == sorted(uses), "the leaves have each constant once, in order"
    assert all(len(leaf) for leaf in leaves) or len(leaves) == 1, "no leaf is empty but an only one"
    counts = [int(count) for leaf in leaves for count in leaf.extra[0]]
    assert counts == [uses[key] for key in keys], "each item counts its predicates"
    assert _items(leaves, empty=False) == {key: sorted(ids) for key, ids in expected.items()}, "SidSets are right"
    for which, nodes in lists.items():
        pointers = [int(number) for leaf in leaves for number in leaf.extra[which]]
        assert pointers == list(_covering(keys, nodes)), "each pointer names the node responsible for its key"


def _covering(keys: list[bytes], nodes: list[Node]) -> Iterator[int]:
    at = 0
    for key in keys:
        while at + 1 < len(nodes) and nodes[at + 1].low <= key:
            at += 1
        yield nodes[at].number


def _items(nodes: list[Node], *, empty: bool = True) -> _Items:
    found: _Items = {}
    for node in nodes:
        start = 0
        for key, count in zip(node.all_keys(), node.counts().tolist(), strict=True):
            assert key not in found, "a key is in one node"
            if count or empty:
                found[key] = sorted(node.items.ids[start : start + count].tolist())
            start += count
    return found
