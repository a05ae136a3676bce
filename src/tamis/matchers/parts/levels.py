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
from tamis.matchers.parts.partition import Axis
from tamis.model import COMPARISONS, OPERATORS, Domain, Finite, Kind, Predicate, Schema, Value
from tamis.model.operators import Shape
from tamis.model.regions import Data, Region, has_truth, names_of, region

__all__ = ["Level", "on_path"]

_MISSING, _OTHER, _FIRST = 0, 1, 2


def on_path(predicate: Predicate) -> bool:
    """Whether the attribute's value alone decides the predicate."""
    if OPERATORS[predicate.operator].shape is Shape.PRESENCE:
        return True
    return predicate.operator in COMPARISONS and not has_truth(predicate)


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
            for kind, data in self._cuts(domain, predicate):
                constants.setdefault(kind, set()).add(data)
        for kind, found in constants.items():
            self._axes[kind] = (stop, Axis(domain, kind, found))
            stop += self._axes[kind][1].places
        return stop

    def _cuts(self, domain: Domain, predicate: Predicate) -> list[tuple[Kind, Data]]:
        found = region(domain, predicate)
        return [] if found is None else [(found.kind, data) for one in found.inside for data in one.bounds]

    def _possible(self) -> npt.NDArray[np.bool_]:
        possible = np.ones(self.places, np.bool_)
        for start, axis in self._axes.values():
            possible[start : start + axis.places] = axis.possible
        return possible

    def _admitted(self, domain: Domain, predicate: Predicate) -> npt.NDArray[np.bool_]:
        """The places where the predicate holds."""
        admitted = np.zeros(self.places, np.bool_)
        row = OPERATORS[predicate.operator]
        if row.shape is Shape.PRESENCE:
            admitted[_MISSING if row.negated else slice(_OTHER, None)] = True
        elif isinstance(domain, Finite):
            passing = names_of(domain, predicate)
            for name, place in self._names.items():
                admitted[place] = passing.has(name)
        else:
            self._admit_on_axis(region(domain, predicate), admitted)
        return admitted

    def _admit_on_axis(self, one: Region | None, admitted: npt.NDArray[np.bool_]) -> None:
        assert one is not None, "what has no region is not on the path"
        if not one.inside:
            return  # an order asked of booleans, which have none
        start, axis = self._axes[one.kind]
        admitted[start : start + axis.places] = one.negated
        for interval in one.inside:
            low, high = axis.span(interval)
            admitted[start + low : start + high + 1] = not one.negated

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
