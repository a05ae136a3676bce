"""What conjunctions say, as claims that can be compared: the seam between segments' columns and covering.

A claim is a dimension and a set of cells. Along each column of a segment's reading there are three dimensions:

    ANY      some value lies in the set: comparisons, `contains`, and all that truths say; *missing* is a cell too
    BOUND    the same value does of which truths are told as well: `name > 'b' and name ends with 'x'`
    ALL      every value does: `not contains`

Each claim of a conjunction can be met without the others, so that one conjunction covers another exactly when each of
its claims holds one of the other's. That is so where a conjunction is made of sets of values alone; what truths say
(`like`, `@name`, `at least` …) is compared by its words, which is sound and finds less.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.covering import Claims
from tamis.kernels.segments.conjunctions import Intervals, merge_unions
from tamis.lint.cells import Cells
from tamis.lint.claim_table import ClaimTable, distinct
from tamis.model import COMPARISONS, EVENT_TYPE, Reference, Schema
from tamis.segments.compile.coding import Coded
from tamis.segments.compile.truths import Role, Slot

__all__ = ["Claimed", "Dimension", "claims_of"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
Runs = list[tuple[int, int]]

ANY, BOUND, ALL = range(3)
Dimension = 3
"""How many dimensions each column has."""


class Claimed(NamedTuple):
    """Distinct conjunctions as claims, and which of them each text has."""

    claims: Claims
    texts: Longs
    """Text `texts[i]` has the conjunction `conjunctions[i]`, in the order of the texts."""
    conjunctions: Ints
    exact: Mask
    """Per conjunction: whether it is made of sets of values alone."""


class _Groups(NamedTuple):
    """The intervals of one conjunction and slot, group by group."""

    conjunction: Longs
    slot: Ints
    first: Longs
    low: Ints
    high: Ints

    def runs(self, group: int) -> Runs:
        low, high = (side[self.first[group] : self.first[group + 1]].tolist() for side in (self.low, self.high))
        return list(zip(low, high, strict=True))


def claims_of(coded: Coded, schema: Schema) -> Claimed:
    """The claims of all conjunctions that can hold; those that are equal are one."""
    count = len(coded.intervals.start) - 1
    cells = Cells(coded.columns, schema)
    groups, never = _in_cells(coded, cells)
    mixed = _mixed(groups, coded, count)
    reader = _Reader(coded, schema)
    ends = np.searchsorted(groups.conjunction, np.arange(count + 1))
    one_by_one: list[tuple[int, list[_Claim]]] = []
    for number in np.nonzero(mixed & ~never)[0].tolist():
        read = reader.read({int(groups.slot[at]): groups.runs(at) for at in range(ends[number], ends[number + 1])})
        if read is None:
            never[number] = True
        else:
            one_by_one.append((number, read))
    table = ClaimTable.joined([_by_column(groups, coded, mixed | never), _listed(one_by_one)])
    claims, numbers = distinct(table, count, Dimension, cells.counts)
    return _owned(claims, numbers, coded, never)


def _by_column(groups: _Groups, coded: Coded, others: Mask) -> ClaimTable:
    """The claims of conjunctions that say one thing about each attribute."""
    kept = ~others[groups.conjunction]
    sizes = np.diff(groups.first)
    inside = np.repeat(kept, sizes)
    dims = Dimension * coded.columns.slot_column[groups.slot[kept]].astype(np.int64)
    asks, nth = np.ones(len(dims), np.bool_), np.zeros(len(dims), np.int64)
    return ClaimTable(groups.conjunction[kept], dims, asks, nth, sizes[kept], groups.low[inside], groups.high[inside])


def _listed(read: list[tuple[int, list[_Claim]]]) -> ClaimTable:
    """The claims of the others, which come in order."""
    rows: list[tuple[int, int, bool, int, int]] = []
    runs: Runs = []
    for conjunction, claims in read:
        nth: dict[tuple[int, bool], int] = defaultdict(int)
        for dim, asks, some in claims:
            rows.append((conjunction, dim, asks, nth[dim, asks], len(some)))
            nth[dim, asks] += 1
            runs += some
    conjunctions, dims, asked, nths, sizes = np.array(rows, np.int64).reshape(-1, 5).T
    ends = np.array(runs, np.int32).reshape(-1, 2).T
    return ClaimTable(conjunctions, dims, asked.astype(np.bool_), nths, sizes, *ends)


def _owned(claims: Claims, numbers: Longs, coded: Coded, never: Mask) -> Claimed:
    """Which texts have which of the distinct conjunctions."""
    which = np.repeat(np.arange(len(numbers)), np.diff(coded.owner_start))
    alive = ~never[which]
    distinct_ones = len(claims.start) - 1
    pairs = np.unique(coded.owners[alive] * distinct_ones + numbers[which[alive]])
    told = claims.dim >= Dimension * len(coded.columns.attributes)
    exact = np.ones(distinct_ones, np.bool_)
    exact[np.searchsorted(claims.start, np.nonzero(told)[0], "right") - 1] = False
    return Claimed(claims, *_divided(pairs, distinct_ones), exact)


def _divided(pairs: Longs, count: int) -> tuple[Longs, Ints]:
    return pairs // max(count, 1), (pairs % max(count, 1)).astype(np.int32)


def _in_cells(coded: Coded, cells: Cells) -> tuple[_Groups, Mask]:
    """The intervals in cells, and the conjunctions of which a part admits nothing."""
    start, slot, low, high = coded.intervals
    conjunction = np.repeat(np.arange(len(start) - 1), np.diff(start))
    lows, highs = cells.intervals(coded.columns.slot_column[slot].astype(np.int64), low, high)
    keep = lows <= highs
    begins = np.ones(len(slot), np.bool_)
    begins[1:] = (slot[1:] != slot[:-1]) | (conjunction[1:] != conjunction[:-1])
    group = np.cumsum(begins) - 1
    never = np.zeros(len(start) - 1, np.bool_)
    left = np.bincount(group[keep], minlength=int(begins.sum()))
    never[conjunction[begins][left == 0]] = True
    starts = np.searchsorted(conjunction[keep], np.arange(len(start)))
    found = Intervals(starts, slot[keep], lows[keep].astype(np.int32), highs[keep].astype(np.int32))
    kept = np.empty(len(found.slot), np.bool_)
    merge_unions(found, kept)
    group, conjunction = group[keep][kept], conjunction[keep][kept]
    first = np.nonzero(np.r_[True, group[1:] != group[:-1]])[0] if len(group) else np.zeros(0, np.int64)
    slots = found.slot[kept]
    ends = np.r_[first, len(group)]
    return _Groups(conjunction[first], slots[first], ends, found.low[kept], found.high[kept]), never


def _attributes_of(slot: Slot) -> list[str]:
    return [slot.attribute, slot.operand.attribute] if isinstance(slot.operand, Reference) else [slot.attribute]


def _mixed(groups: _Groups, coded: Coded, count: int) -> Mask:
    """Conjunctions that say several things about one attribute, or something about all values of one."""
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    first = np.array([numbers[_attributes_of(slot)[0]] for slot in coded.slots], np.int64)
    second = np.array([numbers[_attributes_of(slot)[-1]] for slot in coded.slots], np.int64)
    linked = first != second
    several = linked[groups.slot]
    keys = np.r_[first[groups.slot], second[groups.slot][several]]
    keys += np.r_[groups.conjunction, groups.conjunction[several]] * len(numbers)
    keys, times = np.unique(keys, return_counts=True)
    found = np.zeros(count, np.bool_)
    found[keys[times > 1] // max(len(numbers), 1)] = True
    about_all = np.array([slot.role == Role.LACKS for slot in coded.slots], np.bool_)
    found[groups.conjunction[about_all[groups.slot]]] = True
    return found


def is_single(schema: Schema, attribute: str) -> bool:
    """Whether no event can give the attribute several values."""
    if schema.open or not schema.event_types or attribute == EVENT_TYPE:
        return False
    return not any(attribute in uses and uses[attribute].multiple for uses in schema.event_types.values())


class _Claim(NamedTuple):
    dim: int
    asks: bool
    runs: Runs


class _Reader:
    """Conjunctions that say several things about one attribute, one by one."""

    def __init__(self, coded: Coded, schema: Schema) -> None:
        self._slots = coded.slots
        self._columns = coded.columns.slot_column
        self._places = coded.columns.places
        self._single = {name for name in self._places if is_single(schema, name)}

    def read(self, said: dict[int, Runs]) -> list[_Claim] | None:
        """What a conjunction claims, of what its slots say; None if it never holds."""
        found: list[_Claim] = []
        laden: set[str] = set()
        parts: dict[str, list[tuple[int, Runs]]] = defaultdict(list)
        for number, runs in said.items():
            slot = self._slots[number]
            if slot.role == Role.TRUTH:
                found.append(_Claim(Dimension * int(self._columns[number]) + ANY, True, runs))
                laden |= set(_attributes_of(slot)) if slot.operator in COMPARISONS else set()
            else:
                parts[slot.attribute].append((slot.role, runs))
        for attribute, some in parts.items():
            claims = self._about(attribute, some, attribute in laden)
            if claims is None:
                return None
            found += claims
        return sorted(found, key=lambda one: (one.dim, not one.asks, one.runs))

    def _about(self, attribute: str, parts: list[tuple[int, Runs]], laden: bool) -> list[_Claim] | None:
        every = next((runs for role, runs in parts if role == Role.LACKS), None)
        bound = next((runs for role, runs in parts if role == Role.BOUND), None)
        contained = [runs for role, runs in parts if role > 0]
        if every is not None:
            contained = [_meet(one, every) for one in contained]
            bound = _meet(bound, every) if bound is not None else every if not contained else None
        if attribute in self._single:
            for one in contained:
                bound = one if bound is None else _meet(bound, one)
            contained, every = [], None
        if bound == [] or [] in contained:
            return None
        return self._claims(Dimension * self._places[attribute], bound, contained, every, laden)

    def _claims(
        self, dim: int, bound: Runs | None, contained: list[Runs], every: Runs | None, laden: bool
    ) -> list[_Claim]:
        found = [_Claim(dim + ANY, True, one) for one in contained]
        if bound is not None and laden:
            found += [_Claim(dim + BOUND, True, bound), _Claim(dim + ANY, False, bound)]
        elif bound is not None and not any(_meet(one, bound) == one for one in contained):
            found.append(_Claim(dim + ANY, True, bound))
        return found + ([_Claim(dim + ALL, True, every)] if every is not None else [])


def _meet(left: Runs, right: Runs) -> Runs:
    """What two unions have in common; each is in order."""
    found: Runs = []
    at = other = 0
    while at < len(left) and other < len(right):
        low, high = max(left[at][0], right[other][0]), min(left[at][1], right[other][1])
        if low <= high:
            found.append((low, high))
        if left[at][1] < right[other][1]:
            at += 1
        else:
            other += 1
    return found
