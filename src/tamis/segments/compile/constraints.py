"""Conjunctions as columns: for each attribute a union of intervals that its value must lie in.

A *slot* is an attribute in a role. Most constraints speak of the one bound value (`BOUND`); the k-th `contains` of a
conjunction has a slot of its own, since each may use another value; `LACKS` wants all values in its set; a `LINK` is
the truth of one attribute-against-attribute comparison, which an event settles once for all subscriptions.

A *piece* is one interval for many conjunctions at once. Several pieces for the same conjunction and slot are a union.
Bounds are values here; `segments.codes` turns them into integers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Column
from tamis.language.intervals import Cut, Interval
from tamis.model import Conjunction, Domain, Finite, Kind, Operator, Predicate, Reference, Schema, Value
from tamis.segments.compile.finite_codes import FiniteCodes, point, value_intervals

__all__ = ["ANY", "BOUND", "CODES", "LACKS", "LINK", "MISSING", "Bound", "Piece", "Pieces", "Slot"]

BOUND, LACKS, LINK = 0, -1, -2
"""Roles; a positive role k is the k-th `contains`."""

ANY, MISSING, CODES = -1, -2, -3
"""What a piece's `kind` may be beside a value's kind: any value at all, no value, or codes given directly."""

_O = Operator
_ALL = Interval(None, None)


class Slot(NamedTuple):
    """An attribute in a role; for a link also the operator and the other attribute."""

    attribute: str
    role: int = BOUND
    operator: str = ""
    other: str = ""


class Bound(NamedTuple):
    """One end of an interval, per conjunction."""

    values: Column
    open: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """For each conjunction listed: the slot's value may lie between `low` and `high` (None is unbounded)."""

    slot: Slot
    kind: int
    conjunctions: npt.NDArray[np.int64]
    low: Bound | None = None
    high: Bound | None = None


class _Key(NamedTuple):
    slot: Slot
    kind: int
    low: bool | None  # None: unbounded, else whether open
    high: bool | None


class Pieces:
    """Collects pieces: whole columns from the fast reader, single conjunctions from the parser."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._pieces: list[Piece] = []
        self._finite: dict[str, FiniteCodes] = {}
        self._lists: dict[_Key, tuple[list[int], list[Any], list[Any]]] = defaultdict(lambda: ([], [], []))

    def add(self, piece: Piece) -> None:
        if len(piece.conjunctions):
            self._pieces.append(piece)

    def add_conjunction(self, number: int, conjunction: Conjunction) -> None:
        """A conjunction in normal form. What it admits is never empty: the normal form has seen to that."""
        groups: dict[tuple[str, bool], list[Predicate]] = defaultdict(list)
        contained: Counter[str] = Counter()
        for predicate in conjunction:
            operator, operand = predicate.operator, predicate.operand
            if isinstance(operand, Reference):
                slot = Slot(predicate.attribute, LINK, operator.value, operand.attribute)
                self._one(number, slot, CODES, point(2))
            elif operator is _O.CONTAINS:
                contained[predicate.attribute] += 1
                slot = Slot(predicate.attribute, contained[predicate.attribute])
                self._constraint(number, slot, [Predicate(predicate.attribute, _O.EQ, operand)])
            else:
                groups[predicate.attribute, operator is _O.LACKS].append(predicate)
        for (name, lacks), predicates in groups.items():
            if lacks:
                self._lacks(number, predicates)
            else:
                self._constraint(number, Slot(name), predicates)

    def _constraint(self, number: int, slot: Slot, predicates: list[Predicate]) -> None:
        first = predicates[0].operator
        if first in (_O.PRESENT, _O.MISSING):
            self._one(number, slot, ANY if first is _O.PRESENT else MISSING, _ALL)
            return
        domain = self._domain(slot.attribute)
        if isinstance(domain, Finite):
            for low, high in self.finite(slot.attribute, domain).runs(tuple(predicates)):
                self._one(number, slot, CODES, Interval(Cut(low, False), Cut(high, True)))
            return
        kind, intervals = value_intervals(predicates)
        for interval in intervals:
            self._one(number, slot, kind, interval)

    def _lacks(self, number: int, predicates: list[Predicate]) -> None:
        """All values must differ from these: what is left of each kind, and every other kind whole."""
        slot = Slot(predicates[0].attribute, LACKS)
        domain = self._domain(slot.attribute)
        absent = [Predicate(p.attribute, _O.NE, p.operand) for p in predicates]
        if isinstance(domain, Finite):
            for low, high in self.finite(slot.attribute, domain).runs(tuple(absent)):
                self._one(number, slot, CODES, Interval(Cut(low, False), Cut(high, True)))
            return
        for kind in Kind:
            of_kind = [p for p in absent if isinstance(p.operand, Value) and p.operand.kind is kind]
            for interval in value_intervals(of_kind)[1] if of_kind else [_ALL]:
                self._one(number, slot, kind, interval)

    def finite(self, attribute: str, domain: Finite) -> FiniteCodes:
        """The codes of an attribute's names, made once."""
        if attribute not in self._finite:
            self._finite[attribute] = FiniteCodes(domain)
        return self._finite[attribute]

    def _domain(self, attribute: str) -> Domain:
        domain = self._schema.domain(attribute)
        assert domain is not None, "the parser lets only known attributes through"
        return domain

    def _one(self, number: int, slot: Slot, kind: int, interval: Interval) -> None:
        start, end = interval
        key = _Key(slot, kind, start.after if start is not None else None, not end.after if end is not None else None)
        numbers, lows, highs = self._lists[key]
        numbers.append(number)
        lows.append(start.data if start is not None else None)
        highs.append(end.data if end is not None else None)

    def all(self) -> Iterator[Piece]:
        yield from self._pieces
        for key, (numbers, lows, highs) in self._lists.items():
            low = None if key.low is None else Bound(_column(lows, key.kind), key.low)
            high = None if key.high is None else Bound(_column(highs, key.kind), key.high)
            yield Piece(key.slot, key.kind, np.array(numbers, np.int64), low, high)


def _column(values: list[Any], kind: int) -> Column:
    if kind == Kind.STRING:
        return pa.array(values, pa.string())
    if all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values):
        return np.array(values, np.int64)
    if all(isinstance(value, float) for value in values):
        return np.array(values, np.float64)
    return np.array(values, object)
