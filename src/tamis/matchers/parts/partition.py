"""The content space cut into cells, each a binary property (RAPIDMatch §4, second paragraph after definition 3).

A column is an attribute's values of one kind. Its constants cut it into points and the gaps between them; those that
can hold a value are its cells, and neighbours share a cell where there would be more than 32. An event has a 1 in
the cell its value falls into. A conjunction asks a 1 of the only cell it admits, or a 0 of each that it does not admit.
A column of two cells is one property: `p = 1` asks a 1 and `p = 0` a 0, which is the paper's own model.

    x < 3 and y = 'b', constants x: 3, y: a, b      cells of x: below 3, 3, above      asks x3 = 0, x> = 0, yb = 1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, product
from math import prod

import numpy as np
import numpy.typing as npt

from tamis.kernels.matchers.properties import MOST_CELLS, Cells
from tamis.model import COMPARISONS, Domain, Event, Integer, Kind, Predicate, Schema, Value
from tamis.model.regions import Data, Interval, Region, one_interval, place, span

__all__ = ["Axis", "Partition", "as_interval", "bindings"]

_MOST_BINDINGS = 64


class Axis:
    """Points and gaps are numbered together as *places*: the gap before constant i is 2i, the constant is 2i + 1."""

    def __init__(self, domain: Domain, kind: Kind, constants: set[Data]) -> None:
        self.constants = sorted(constants)
        self.places = 2 * len(self.constants) + 1
        self.possible = [self._possible(domain, kind, place) for place in range(self.places)]

    def _possible(self, domain: Domain, kind: Kind, place: int) -> bool:
        """Whether a value can fall there. Between 4 and 5 there is no integer."""
        at, is_point = divmod(place, 2)
        if is_point or not (isinstance(domain, Integer) or kind is Kind.BOOLEAN):
            return True
        least, most = (domain.min, domain.max) if isinstance(domain, Integer) else (0, 1)
        low = least if at == 0 else int(self.constants[at - 1]) + 1
        high = most if at == len(self.constants) else int(self.constants[at]) - 1
        return low is None or high is None or low <= high

    def place(self, data: Data) -> int:
        return place(self.constants, data)

    def span(self, interval: Interval) -> tuple[int, int]:
        """The first and last place inside the interval."""
        return span(interval, self.place, 0, self.places - 1)


class _Column(Axis):
    """Possible places as cells, or where there are too many, runs of places."""

    def __init__(self, domain: Domain, kind: Kind, constants: set[Data]) -> None:
        super().__init__(domain, kind, constants)
        self.exact = sum(self.possible) <= MOST_CELLS
        if self.exact:
            before = [0, *accumulate(map(int, self.possible))]
            self.firsts = before[:-1]  # the first cell at or after a place
            self.lasts = [count - 1 for count in before[1:]]  # the last cell at or before it
            self.count = before[-1]
        else:
            self.firsts = self.lasts = [place * MOST_CELLS // self.places for place in range(self.places)]
            self.count = MOST_CELLS

    def admitted(self, one: Region) -> int:
        """The cells where the comparison may hold, as bits."""
        low, high = self.span(one.inside[0])
        if not one.negated:
            return _bits(self.firsts[low], self.lasts[high]) if low <= high else 0
        every = _bits(0, self.count - 1)
        within = (0, 0) if self.exact else (1, -1)  # a shared cell at either end has others in it
        return every & ~_bits(self.firsts[low] + within[0], self.lasts[high] + within[1]) if low <= high else every

    def cell(self, data: Data) -> int:
        return self.lasts[self.place(data)]


def _bits(first: int, last: int) -> int:
    return (1 << (last + 1)) - (1 << first) if last >= first else 0


class Partition:
    """The properties that a set of predicates cuts out. Building costs O(predicates × log)."""

    def __init__(self, schema: Schema, predicates: Mapping[int, Predicate], ids: int) -> None:
        self._columns: dict[str, dict[Kind, tuple[int, _Column]]] = {}
        columns, masks = np.full(ids, -1, np.int32), np.zeros(ids, np.uint64)
        found: dict[tuple[str, Kind], dict[int, Region]] = {}
        for pid, predicate in predicates.items():
            one = as_interval(schema, predicate)
            if one is not None:
                found.setdefault((predicate.attribute, one.kind), {})[pid] = one
        made: list[_Column] = []
        for (name, kind), members in found.items():
            domain = schema.domain(name)
            assert domain is not None
            column = _Column(domain, kind, {data for one in members.values() for data in one.inside[0].bounds})
            self._columns.setdefault(name, {})[kind] = (len(made), column)
            for pid, one in members.items():
                columns[pid], masks[pid] = len(made), column.admitted(one)
            made.append(column)
        counts = np.array([column.count for column in made], np.int32)
        widths = np.where(counts == 2, 1, counts)
        bases = (np.cumsum(widths) - widths).astype(np.int32)
        exact = np.array([column.exact for column in made], np.bool_)
        self.cells = Cells(columns, masks, counts, bases, exact)
        self.properties = int(widths.sum())

    def bits(self, binding: Mapping[str, Value]) -> tuple[npt.NDArray[np.uint8], bool]:
        """The event's string of zeros and ones, and whether it has a value in every column."""
        bits = np.zeros(self.properties, np.uint8)
        filled = 0
        for name, value in binding.items():
            kinds = self._columns.get(name)
            if kinds is None or value.kind not in kinds:
                continue
            number, column = kinds[value.kind]
            cell = column.cell(value.data)
            filled += 1
            if self.cells.counts[number] != 2:
                bits[self.cells.bases[number] + cell] = 1
            else:
                bits[self.cells.bases[number]] = cell
        return bits, filled == len(self.cells.counts)

    def bindings(self, event: Event) -> Iterator[dict[str, Value]] | None:
        return bindings(event, self._columns)


def bindings(event: Event, names: Mapping[str, object]) -> Iterator[dict[str, Value]] | None:
    """Every choice of one value for those of the attributes that the event has; None if there are too many."""
    chosen = [name for name in event.values if name in names]
    choices = [event.values[name] for name in chosen]
    if prod(map(len, choices)) > _MOST_BINDINGS:
        return None
    return (dict(zip(chosen, values, strict=True)) for values in product(*choices))


def as_interval(schema: Schema, predicate: Predicate) -> Region | None:
    """What the predicate asks of the one bound value, as an interval of a column or all but one; else None."""
    if predicate.operator not in COMPARISONS:
        return None
    domain = schema.domain(predicate.attribute)
    assert domain is not None
    return one_interval(domain, predicate)
