"""One level of Gough's tree: an attribute, the places its value may fall into, and who admits which place.

Places are numbered over all kinds: 0 is "missing", 1 is "a value of a kind nobody compares with", then come the points
and gaps of each kind, or the names of a finite domain. Rows that put the attribute to the same tests share a
*signature*; signature 0 asks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tamis.errors import LimitError
from tamis.matchers.parts.arrays import Ints
from tamis.matchers.parts.labels import Data
from tamis.matchers.parts.partition import Axis, as_interval
from tamis.model import COMPARISONS, Domain, Finite, Kind, Operator, Predicate, Reference, Schema, Value, compare

__all__ = ["Level", "on_path"]

_O = Operator
_MISSING, _OTHER, _FIRST = 0, 1, 2


def on_path(predicate: Predicate) -> bool:
    """Whether the attribute's value alone decides the predicate."""
    if predicate.operator in (_O.PRESENT, _O.MISSING):
        return True
    return predicate.operator in COMPARISONS and not isinstance(predicate.operand, Reference)


class Level:
    """`signatures[row]` and `table[signature, place]`: does the row admit the place?"""

    def __init__(
        self, schema: Schema, attribute: str, tests: Mapping[int, tuple[Predicate, ...]], rows: int, most: int
    ) -> None:
        domain = schema.domain(attribute)
        assert domain is not None
        self.attribute = attribute
        self._schema = schema
        distinct = {predicate for one in tests.values() for predicate in one}
        self._axes: dict[Kind, tuple[int, Axis]] = {}
        self._names: dict[str, int] = {}
        self.places = self._lay_out(domain, distinct)
        self.possible = self._possible()
        self._fit(max(len(distinct), len(set(tests.values())) + 1), most)
        admitted = {predicate: self._admitted(domain, predicate) for predicate in distinct}
        known: dict[tuple[Predicate, ...], int] = {(): 0}
        self.signatures = np.zeros(rows, np.int32)
        for row, one in tests.items():
            self.signatures[row] = known.setdefault(one, len(known))
        self.table = np.ones((len(known), self.places), np.bool_)
        for one, signature in known.items():
            for predicate in one:
                self.table[signature] &= admitted[predicate]

    def _fit(self, signatures: int, most: int) -> None:
        if signatures * self.places > most:
            raise LimitError(
                f"attribute {self.attribute!r}: expected a table of at most {most:,} cells, found {signatures:,} tests "
                f"at {self.places:,} places, before any node was made",
                most,
                signatures * self.places,
            )

    def _lay_out(self, domain: Domain, predicates: set[Predicate]) -> int:
        """Number the places; how many there are."""
        stop = _FIRST
        if isinstance(domain, Finite):
            self._names = {name: _FIRST + at for at, name in enumerate(domain.names)}
            return _FIRST + len(self._names)
        constants: dict[Kind, set[Data]] = {}
        for predicate in predicates:
            for kind, data in self._cuts(predicate):
                constants.setdefault(kind, set()).add(data)
        for kind, found in constants.items():
            self._axes[kind] = (stop, Axis(domain, kind, found))
            stop += self._axes[kind][1].places
        return stop

    def _cuts(self, predicate: Predicate) -> list[tuple[Kind, Data]]:
        operand = predicate.operand
        if isinstance(operand, Value):
            interval = as_interval(self._schema, predicate)
            return [(operand.kind, data) for data in (interval[1] if interval else [operand.data])]
        return [(value.kind, value.data) for value in operand or () if isinstance(value, Value)]

    def _possible(self) -> npt.NDArray[np.bool_]:
        possible = np.ones(self.places, np.bool_)
        for start, axis in self._axes.values():
            possible[start : start + axis.places] = axis.possible
        return possible

    def _admitted(self, domain: Domain, predicate: Predicate) -> npt.NDArray[np.bool_]:
        """The places where the predicate holds."""
        admitted = np.zeros(self.places, np.bool_)
        if predicate.operator is _O.MISSING or predicate.operator is _O.PRESENT:
            admitted[_MISSING if predicate.operator is _O.MISSING else slice(_OTHER, None)] = True
            return admitted
        operand = predicate.operand
        assert operand is not None
        assert not isinstance(operand, Reference)
        if self._names:
            for name, place in self._names.items():
                admitted[place] = compare(domain, predicate.operator, Value(Kind.STRING, name), operand)
            return admitted
        self._admit_on_axis(predicate, admitted)
        return admitted

    def _admit_on_axis(self, predicate: Predicate, admitted: npt.NDArray[np.bool_]) -> None:
        kind = self._cuts(predicate)[0][0]
        start, axis = self._axes[kind]
        interval = as_interval(self._schema, predicate)
        if interval is not None:
            low, high = axis.interval(*interval)
            inside: slice | list[int] = slice(start + low, start + high + 1)
            negated = predicate.operator in (_O.NE, _O.NOT_STARTS)
        elif predicate.operator in (_O.IN, _O.NOT_IN):
            inside = [start + axis.place(data) for _, data in self._cuts(predicate)]
            negated = predicate.operator is _O.NOT_IN
        else:
            return  # an order asked of booleans, which have none
        if negated:
            admitted[start : start + axis.places] = True
        admitted[inside] = not negated

    def place(self, value: Value | None) -> int:
        """Where a value falls; None where the attribute is missing."""
        if value is None:
            return _MISSING
        if self._names:
            return self._names[str(value.data)]
        if value.kind not in self._axes:
            return _OTHER
        start, axis = self._axes[value.kind]
        return start + axis.place(value.data)

    def split(self, rows: Ints) -> list[tuple[int, Ints]]:
        """Runs of places at which the same rows are left, as (first place, rows); impossible ones join a neighbour."""
        kinds, at = np.unique(self.signatures[rows], return_inverse=True)
        columns = self.table[kinds][:, self.possible]
        places = np.flatnonzero(self.possible)
        changes = np.flatnonzero((columns[:, 1:] != columns[:, :-1]).any(axis=0)) + 1
        return [(int(places[place]), rows[columns[at, place]]) for place in [0, *changes.tolist()]]
