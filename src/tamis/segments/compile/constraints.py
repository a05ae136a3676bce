"""Conjunctions as columns: for each attribute a union of intervals that its value must lie in.

A *slot* is a column of events in a role. Most constraints speak of the one bound value (`BOUND`); the k-th `contains`
of a conjunction has a slot of its own, since each may use another value; `LACKS` wants all values in its set. What no
region of values tells, `bid > @reserve` or `name ends with 'x'`, is a *truth*: a column that says which of its members,
predicates all of them, an event satisfies, found out once for all subscriptions.

A *piece* is one interval for many conjunctions at once. Several pieces for the same conjunction and slot are a union.
Bounds are values here; `segments.compile.codes` turns them into integers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Column
from tamis.model import Conjunction, Domain, Finite, Kind, Operator, Predicate, Schema
from tamis.model.regions import ALL, Cut, Interval, has_truth, meet_all, point, region
from tamis.segments.compile.finite_codes import FiniteCodes
from tamis.segments.compile.truths import FIRST_TRUTH, Role, Slot, TruthColumn, members_of, truth_slot

__all__ = ["Bound", "Piece", "PieceKind", "Pieces"]


class PieceKind(IntEnum):
    """What a piece's `kind` may be beside a value's kind."""

    ANY_VALUE = -1
    NO_VALUE = -2
    CODES = -3
    """Codes given directly."""


_O = Operator


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
        self._truths: dict[Slot, dict[Predicate, int]] = defaultdict(dict)
        self._lists: dict[_Key, tuple[list[int], list[Any], list[Any]]] = defaultdict(lambda: ([], [], []))

    def add(self, piece: Piece) -> None:
        if len(piece.conjunctions):
            self._pieces.append(piece)

    def add_conjunction(self, number: int, conjunction: Conjunction) -> None:
        """A conjunction in normal form. What it admits is never empty: the normal form has seen to that."""
        groups: dict[tuple[str, bool], list[Predicate]] = defaultdict(list)
        contained: Counter[str] = Counter()
        told: Counter[Slot] = Counter()
        for predicate in conjunction:
            if has_truth(predicate):
                column = self._truth(number, predicate, told)
                told[column] += 1
            elif predicate.operator is _O.CONTAINS:
                contained[predicate.attribute] += 1
                slot = Slot(predicate.attribute, contained[predicate.attribute])
                self._constraint(number, slot, [predicate])
            else:
                groups[predicate.attribute, predicate.operator is _O.LACKS].append(predicate)
        for (name, lacks), predicates in groups.items():
            if lacks:
                self._lacks(number, predicates)
            else:
                self._constraint(number, Slot(name), predicates)

    def _truth(self, number: int, predicate: Predicate, told: Counter[Slot]) -> Slot:
        """One of the members that the predicate comes to; the value is their column."""
        members = members_of(predicate)
        column = truth_slot(members[0])
        known = self._truths[column]
        for member in members:
            code = known.setdefault(member, FIRST_TRUTH + len(known))
            self._one(number, column._replace(nth=told[column]), PieceKind.CODES, point(code))
        return column

    def _constraint(self, number: int, slot: Slot, predicates: list[Predicate]) -> None:
        first = predicates[0].operator
        if first is _O.PRESENT or first is _O.MISSING:
            self._one(number, slot, PieceKind.ANY_VALUE if first is _O.PRESENT else PieceKind.NO_VALUE, ALL)
            return
        domain = self._domain(slot.attribute)
        if isinstance(domain, Finite):
            self._names(number, slot, domain, predicates)
            return
        regions = [found for one in predicates if (found := region(domain, one)) is not None]
        assert len(regions) == len(predicates), "what has no region is a truth, a presence or a set of names"
        for interval in meet_all([one.intervals() for one in regions]):
            self._one(number, slot, regions[0].kind, interval)

    def _names(self, number: int, slot: Slot, domain: Finite, predicates: list[Predicate]) -> None:
        for low, high in self.finite(slot.attribute, domain).runs(tuple(predicates)):
            self._one(number, slot, PieceKind.CODES, Interval(Cut(low, False), Cut(high, True)))

    def _lacks(self, number: int, predicates: list[Predicate]) -> None:
        """All values must differ from these: what is left of each kind, and every other kind whole."""
        slot = Slot(predicates[0].attribute, Role.LACKS)
        domain = self._domain(slot.attribute)
        if isinstance(domain, Finite):
            self._names(number, slot, domain, predicates)
            return
        regions = [region(domain, one) for one in predicates]
        for kind in Kind:
            for interval in meet_all([one.intervals() for one in regions if one is not None and one.kind is kind]):
                self._one(number, slot, kind, interval)

    def truths(self) -> dict[Slot, TruthColumn]:
        """The truth columns that conjunctions ask for."""
        return {slot: TruthColumn(slot, tuple(members)) for slot, members in self._truths.items()}

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
