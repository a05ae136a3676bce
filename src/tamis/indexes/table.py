"""Table over a finite domain — ToPSS, §3.2 and figure 1.

An array indexed by operator and value holds each predicate where its constant is, so a predicate is found by its
constant in one step. Implication is by traversal: the value v cuts each operator's row, and all that lies on the
satisfied side of the cut is true (`> 7` true makes every `> v` with v <= 7 true).

Deviations. The paper's cell holds one predicate id; ours holds a set of them, since two users may give one predicate
two ids. The paper has four operators in its figure; `<=` and `>=` are two more rows, cut one value further. Named
values (enumerated, hierarchical, boolean) are numbered in the order listed. Cells are kept in stripes of 64 whose ids
lie side by side: the paper's "cache sensitive" traversal then copies a stripe at a time, not a cell.

Costs over a domain of d values: insert and delete O(1), one stripe shifted; search d / 64 stripes of each row plus L
copies, whatever n is; memory O(d + n). A domain without both bounds, or with more than 2**20 values, is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamis.errors import LimitError
from tamis.indexes.base import SIX, Ints, Key, MemoryIndex
from tamis.indexes.cells import STRIPE, Cells
from tamis.model import Boolean, Domain, Finite, Integer, Operator, Value

__all__ = ["MOST_VALUES", "Table"]

MOST_VALUES = 2**20
"""Six rows of a million cells are 24 MB before the first predicate; the paper speaks of several thousand values."""


class Table(MemoryIndex):
    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self._size, self._place = _places(domain)
        stride = -(-self._size // STRIPE) * STRIPE
        self._row = {operator: row * stride for row, operator in enumerate(SIX)}
        self._build({})

    def _build(self, predicates: dict[int, tuple[Operator, Key]]) -> None:
        cells = [self._row[operator] + self._place(key) for operator, key in predicates.values()]
        ids = np.fromiter(predicates, dtype=np.int64, count=len(predicates))
        size = len(SIX) * (-(-self._size // STRIPE) * STRIPE)
        self._cells = Cells(size, np.array(cells, dtype=np.int64), ids)

    def _put(self, id: int, operator: Operator, key: Key) -> None:
        self._cells.add(self._row[operator] + self._place(key), id)

    def _take(self, id: int, operator: Operator, key: Key) -> None:
        self._cells.remove(self._row[operator] + self._place(key), id)

    def search(self, value: Value) -> Ints:
        v, d = self._place(value.data), self._size
        eq, ne, lt, le, gt, ge = (self._row[operator] for operator in SIX)
        ranges = [(eq + v, eq + v + 1), (ne, ne + v), (ne + v + 1, ne + d)]
        ranges += [(lt + v + 1, lt + d), (le + v, le + d), (gt, gt + v), (ge, ge + v + 1)]
        self.visited += sum(-(-last // STRIPE) - first // STRIPE for first, last in ranges)
        return self._cells.gather(ranges)

    def _bytes(self) -> int:
        return self._cells.bytes_used()

    def check(self) -> None:
        self._cells.check()
        assert len(self._cells) == len(self._held), "as many ids in cells as predicates"
        for id, (operator, key) in self._held.items():
            assert id in self._cells.at(self._row[operator] + self._place(key)), "each id stands in its constant's cell"


def _places(domain: Domain) -> tuple[int, Callable[[Key], int]]:
    """The number of values, and the place of each."""
    match domain:
        case Integer(min=int(low), max=int(high)):
            size, place = high - low + 1, lambda key: int(key) - low
        case Finite():
            size, place = len(domain.names), {name: at for at, name in enumerate(domain.names)}.__getitem__
        case Boolean():
            size, place = 2, int
        case _:
            raise LimitError(f"a table needs a finite domain, found {domain.describe()}", MOST_VALUES, -1)
    if size > MOST_VALUES:
        raise LimitError(f"a table holds at most {MOST_VALUES:,} values, found {size:,}", MOST_VALUES, size)
    return size, place
