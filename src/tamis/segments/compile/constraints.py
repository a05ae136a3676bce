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

__all__ = ["Bound", "Piece", "PieceKind", "Pieces", "column_of", "same_for_all", "take"]


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

    def only(self, kept: npt.NDArray[np.bool_]) -> Piece:
        """The piece for some of its conjunctions."""
        if kept.all():
            return self
        sides = [None if side is None else Bound(take(side.values, kept), side.open) for side in (self.low, self.high)]
        return Piece(self.slot, self.kind, self.conjunctions[kept], *sides)


def take(values: Column, chosen: npt.NDArray[Any]) -> Column:
    """Some of the values, by their places or by a mask."""
    if not isinstance(values, pa.Array):
        return values[chosen]
    return values.filter(pa.array(chosen)) if chosen.dtype == np.bool_ else values.take(pa.array(chosen))


def same_for_all(slot: Slot, kind: int, interval: Interval, conjunctions: npt.NDArray[np.int64]) -> Piece:
    """One interval for many conjunctions."""
    start, end = interval
    places = np.zeros(len(conjunctions), np.int64)
    low = None if start is None else Bound(take(column_of([start.data], kind), places), start.after)
    high = None if end is None else Bound(take(column_of([end.data], kind), places), not end.after)
    return Piece(slot, kind, conjunctions, low, high)


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
        for part in self.parts(conjunction):
            self._one(number, *part)

    def parts(self, conjunction: Conjunction) -> Iterator[tuple[Slot, int, Interval]]:
        """The slots of a conjunction in normal form, and the intervals that each admits."""
        groups: dict[tuple[str, bool], list[Predicate]] = defaultdict(list)
        contained: Counter[str] = Counter()
        told: Counter[Slot] = Counter()
        for predicate in conjunction:
            if has_truth(predicate):
                for member in members_of(predicate):
                    column, code = self.truth(member)
                    yield column._replace(nth=told[column]), PieceKind.CODES, point(code)
                told[column] += 1
            elif predicate.operator is _O.CONTAINS:
                contained[predicate.attribute] += 1
                slot = Slot(predicate.attribute, contained[predicate.attribute])
                yield from self._constraint(slot, [predicate])
            else:
                groups[predicate.attribute, predicate.operator is _O.LACKS].append(predicate)
        for (name, lacks), predicates in groups.items():
            yield from self._lacks(predicates) if lacks else self._constraint(Slot(name), predicates)

    def _constraint(self, slot: Slot, predicates: list[Predicate]) -> Iterator[tuple[Slot, int, Interval]]:
        first = predicates[0].operator
        if first is _O.PRESENT or first is _O.MISSING:
            yield slot, PieceKind.ANY_VALUE if first is _O.PRESENT else PieceKind.NO_VALUE, ALL
            return
        domain = self._domain(slot.attribute)
        if isinstance(domain, Finite):
            yield from self._names(slot, domain, predicates)
            return
        regions = [found for one in predicates if (found := region(domain, one)) is not None]
        assert len(regions) == len(predicates), "what has no region is a truth, a presence or a set of names"
        for interval in meet_all([one.intervals() for one in regions]):
            yield slot, regions[0].kind, interval

    def _names(self, slot: Slot, domain: Finite, predicates: list[Predicate]) -> Iterator[tuple[Slot, int, Interval]]:
        for low, high in self.finite(slot.attribute, domain).runs(tuple(predicates)):
            yield slot, PieceKind.CODES, Interval(Cut(low, False), Cut(high, True))

    def _lacks(self, predicates: list[Predicate]) -> Iterator[tuple[Slot, int, Interval]]:
        """All values must differ from these: what is left of each kind, and every other kind whole."""
        slot = Slot(predicates[0].attribute, Role.LACKS)
        domain = self._domain(slot.attribute)
        if isinstance(domain, Finite):
            yield from self._names(slot, domain, predicates)
            return
        regions = [region(domain, one) for one in predicates]
        for kind in Kind:
            for interval in meet_all([one.intervals() for one in regions if one is not None and one.kind is kind]):
                yield slot, kind, interval

    def truth(self, predicate: Predicate) -> tuple[Slot, int]:
        """The column of a truth, and its code there."""
        column = truth_slot(predicate)
        return column, self.member(column, predicate)

    def member(self, column: Slot, predicate: Predicate) -> int:
        """The code of a truth whose column is known."""
        members = self._truths[column]
        return members.setdefault(predicate, FIRST_TRUTH + len(members))

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
        """The pieces; those that chunks of texts have in common are one."""
        return self._all(self._groups())

    def drain(self) -> Iterator[Piece]:
        """The same, of which nothing is kept here: the last to ask need not hold them twice."""
        groups = self._groups()
        self._pieces = []
        return self._all(groups)

    def _groups(self) -> dict[_Key, list[Piece]]:
        groups: dict[_Key, list[Piece]] = defaultdict(list)
        for piece in self._pieces:
            open_low, open_high = (None if side is None else side.open for side in (piece.low, piece.high))
            groups[_Key(piece.slot, piece.kind, open_low, open_high)].append(piece)
        return groups

    def _all(self, groups: dict[_Key, list[Piece]]) -> Iterator[Piece]:
        while groups:
            yield from _joined(groups.pop(next(iter(groups))))
        for key, (numbers, lows, highs) in self._lists.items():
            low = None if key.low is None else Bound(column_of(lows, key.kind), key.low)
            high = None if key.high is None else Bound(column_of(highs, key.kind), key.high)
            yield Piece(key.slot, key.kind, np.array(numbers, np.int64), low, high)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """One piece of those of one key, if their columns are of one type."""
    first = pieces[0]
    sides = [[side for piece in pieces if (side := getattr(piece, name)) is not None] for name in ("low", "high")]
    if len(pieces) == 1 or any(len({_type(side.values) for side in one}) > 1 for one in sides):
        return pieces
    equal = first.low is not None and all(piece.low is piece.high for piece in pieces)
    low, high = (Bound(_concatenated([side.values for side in one]), one[0].open) if one else None for one in sides)
    numbers = np.concatenate([piece.conjunctions for piece in pieces])
    return [Piece(first.slot, first.kind, numbers, low, low if equal else high)]


def _type(values: Column) -> object:
    return values.type if isinstance(values, pa.Array) else values.dtype


def _concatenated(columns: list[Column]) -> Column:
    return pa.concat_arrays(columns) if isinstance(columns[0], pa.Array) else np.concatenate(columns)


def column_of(values: list[Any], kind: int) -> Column:
    """Values of one kind."""
    if kind == Kind.STRING:
        return pa.array(values, pa.string())
    if all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values):
        return np.array(values, np.int64)
    if all(isinstance(value, float) for value in values):
        return np.array(values, np.float64)
    return np.array(values, object)
