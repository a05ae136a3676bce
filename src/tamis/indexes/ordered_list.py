"""Ordered linked lists — ToPSS, §3.1.

All predicates with one operator stand in one linked list, ordered by constant; a search goes through each operator's
list. It is the paper's general scheme, the one its table is measured against.

Deviations. One item per constant, with a bucket of ids, where the paper has one item per predicate (its predicates are
unique). The paper's hash table from attribute names to lists is the business of whoever holds one index per attribute.
Beside each number stands the greatest double not above it: a kernel walks along those as far as they differ from the
value's, and the last steps, or all where constants are strings, compare the constants themselves.

Costs, n constants, six operators: search, insert and delete O(6 n), walking item by item; memory O(n).
"""

from __future__ import annotations

from array import array

import numpy as np

from tamis.indexes.base import SIX, Ints, Key, MemoryIndex, double
from tamis.indexes.buckets import Buckets
from tamis.kernels.gather import chain, skip
from tamis.model import Domain, Operator, Value

__all__ = ["OrderedList"]

_END = -1


class OrderedList(MemoryIndex):
    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self._build({})

    def _build(self, predicates: dict[int, tuple[Operator, Key]]) -> None:
        # Items 0 to 5 are the heads of the six lists: they have no constant, and nothing looks at their key.
        self._head = {operator: at for at, operator in enumerate(SIX)}
        self._keys: list[Key] = [0] * len(SIX)
        self._next = array("i", [_END] * len(SIX))
        self._doubles = array("d", [0.0] * len(SIX))
        item: dict[tuple[Operator, Key], int] = {}
        for operator in SIX:
            before = self._head[operator]
            for key in sorted({key for other, key in predicates.values() if other is operator}):
                item[operator, key] = before = self._link(before, key)
        numbers = np.array([item[held] for held in predicates.values()], dtype=np.int64)
        ids = np.fromiter(predicates, dtype=np.int64, count=len(predicates))
        self._buckets = Buckets.of(len(self._keys), numbers, ids)
        self._free: list[int] = []

    def _link(self, before: int, key: Key) -> int:
        self._keys.append(key)
        self._doubles.append(double(key))
        self._next.append(self._next[before])
        self._next[before] = len(self._keys) - 1
        return len(self._keys) - 1

    def _before(self, operator: Operator, key: Key) -> tuple[int, int]:
        """The last item with a smaller constant, or the head; and how many items were looked at."""
        keys, following = self._keys, self._next
        links, doubles = np.frombuffer(following, np.int32), np.frombuffer(self._doubles, np.float64)
        before, passed = skip(links, doubles, self._head[operator], double(key))
        item, steps = following[before], passed + 1
        while item != _END and keys[item] < key:
            before, item, steps = item, following[item], steps + 1
        return before, steps

    def _put(self, id: int, operator: Operator, key: Key) -> None:
        before, _ = self._before(operator, key)
        item = self._next[before]
        if item == _END or self._keys[item] != key:
            item = self._new(before, key)
        self._buckets.add(item, id)

    def _new(self, before: int, key: Key) -> int:
        if not self._free:
            self._buckets.extend()
            return self._link(before, key)
        item = self._free.pop()
        self._keys[item], self._doubles[item] = key, double(key)
        self._next[item] = self._next[before]
        self._next[before] = item
        return item

    def _take(self, id: int, operator: Operator, key: Key) -> None:
        before, _ = self._before(operator, key)
        item = self._next[before]
        self._buckets.remove(item, id)
        if not self._buckets.count[item]:
            self._next[before] = self._next[item]
            self._free.append(item)

    def search(self, value: Value) -> Ints:
        chosen = []
        for operator in SIX:
            before, steps = self._before(operator, value.data)
            here = self._next[before]
            after = self._next[here] if here != _END and self._keys[here] == value.data else here
            runs = self._runs(operator, here, after)
            chosen += [chain(np.frombuffer(self._next, dtype=np.int32), *run) for run in runs]
            self.visited += steps
        self.visited += sum(len(run) for run in chosen)
        return self._buckets.gather(np.concatenate(chosen))

    def _runs(self, operator: Operator, here: int, after: int) -> list[tuple[int, int]]:
        """Satisfied items, from one up to another; `here` is the first not below the value, `after` the first above."""
        first = self._next[self._head[operator]]
        return {
            Operator.EQ: [(here, after)],
            Operator.NE: [(first, here), (after, _END)],
            Operator.LT: [(after, _END)],
            Operator.LE: [(here, _END)],
            Operator.GT: [(first, here)],
            Operator.GE: [(first, after)],
        }[operator]

    def _bytes(self) -> int:
        return 20 * len(self._keys) + self._buckets.bytes_used()

    def check(self) -> None:
        self._buckets.check()
        held = {operator: sorted({k for o, k in self._held.values() if o is operator}) for operator in SIX}
        links = np.frombuffer(self._next, dtype=np.int32)
        for operator, keys in held.items():
            items = chain(links, self._next[self._head[operator]], _END).tolist()
            assert [self._keys[item] for item in items] == keys, "each list has its constants in order"
            assert all(self._buckets.count[item] for item in items), "no item without ids"
            doubles = [self._doubles[item] for item in items]
            assert np.array_equal(doubles, [double(key) for key in keys], equal_nan=True), "each has its double"
        assert int(self._buckets.count.sum()) == len(self._held), "as many ids as predicates"
