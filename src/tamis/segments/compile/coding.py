"""Constraints → conjunctions of integer intervals: slots numbered, constants coded, equal conjunctions found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.batches.batch import Column
from tamis.kernels.numbering import grouped, new_table
from tamis.kernels.segments.blocks import SlotMode
from tamis.kernels.segments.conjunctions import (
    Intervals,
    count_intervals,
    merge_unions,
    number_conjunctions,
    place_intervals,
    take_intervals,
)
from tamis.model import Finite, Integer, Kind, Operator, Reference, Schema
from tamis.model.caching import cached_property
from tamis.model.predicates import is_about_event
from tamis.segments.compile.codes import AttributeCodes, Dictionary, code_range, dictionary_of
from tamis.segments.compile.constraints import Piece
from tamis.segments.compile.reading import Reading
from tamis.segments.compile.truths import Role, Slot, Teller, TruthColumn, is_keyed

__all__ = ["AskedOfRecords", "Coded", "Columns", "Counted", "code_reading", "columns_of"]

Longs = npt.NDArray[np.int64]


class Counted(NamedTuple):
    """A column of counts, and what is made of its members when they are first asked for."""

    column: int
    truth: TruthColumn
    kept: list[object]


class AskedOfRecords(NamedTuple):
    """The columns of `any(list: …)` and `not any(list: …)` over one list, and what is made of them when they are first
    asked for."""

    attribute: str
    columns: tuple[tuple[int, TruthColumn], ...]
    kept: list[object]


@dataclass(frozen=True)
class Columns:
    """The columns of encoded events: attributes first, then truths, those with many members before the others."""

    attributes: dict[str, AttributeCodes]
    truths: tuple[TruthColumn, ...]
    slot_column: npt.NDArray[np.int32]
    slot_mode: npt.NDArray[np.uint8]

    @property
    def count(self) -> int:
        return len(self.attributes) + len(self.truths)

    @cached_property
    def keyed(self) -> int:
        """How many columns, the first ones, may be part of a key: attributes, and truths of many members."""
        return len(self.attributes) + sum(is_keyed(truth.slot) for truth in self.truths)

    @cached_property
    def lasts(self) -> npt.NDArray[np.int64]:
        """The last code of each column."""
        lasts = [held.last for held in self.attributes.values()] + [truth.last for truth in self.truths]
        return np.array(lasts, np.int64)

    @cached_property
    def places(self) -> dict[str, int]:
        """The column of each attribute."""
        return {name: at for at, name in enumerate(self.attributes)}

    @cached_property
    def partners(self) -> dict[str, dict[str, list[tuple[int, Operator]]]]:
        """Attribute → the others that links compare it with → the columns and operators of these links."""
        found: dict[str, dict[str, list[tuple[int, Operator]]]] = {}
        for at, (slot, (link, *_)) in enumerate(self.truths, len(self.attributes)):
            if isinstance(slot.operand, Reference):
                others = found.setdefault(slot.attribute, {})
                others.setdefault(slot.operand.attribute, []).append((at, link.operator))
        return found

    @cached_property
    def tellers(self) -> dict[str, Teller]:
        """Attribute → who tells the truths about its values."""
        found: dict[str, list[tuple[int, TruthColumn]]] = {}
        for at, truth in enumerate(self.truths, len(self.attributes)):
            if not is_about_event(truth.members[0]):
                found.setdefault(truth.slot.attribute, []).append((at, truth))
        return {name: Teller(truths) for name, truths in found.items()}

    @cached_property
    def counted(self) -> Counted | None:
        """The column of `at least`, if there is one."""
        columns = enumerate(self.truths, len(self.attributes))
        return next((Counted(at, one, []) for at, one in columns if one.slot.operator is Operator.AT_LEAST), None)

    @cached_property
    def listed(self) -> dict[str, AskedOfRecords]:
        """List → what is asked of its records."""
        found: dict[str, list[tuple[int, TruthColumn]]] = {}
        for at, one in enumerate(self.truths, len(self.attributes)):
            if one.slot.operator in (Operator.ANY, Operator.NOT_ANY):
                found.setdefault(one.slot.attribute, []).append((at, one))
        return {name: AskedOfRecords(name, tuple(columns), []) for name, columns in found.items()}


@dataclass(frozen=True)
class Coded:
    """Distinct conjunctions, and who owns each."""

    columns: Columns
    slots: tuple[Slot, ...]
    """What the intervals' slots stand for."""
    intervals: Intervals
    owner_start: Longs
    """Conjunction c belongs to the texts `owners[owner_start[c]:owner_start[c + 1]]`."""
    owners: Longs


def columns_of(
    pieces: list[Piece], truths: Mapping[Slot, TruthColumn], schema: Schema
) -> tuple[Columns, dict[Slot, int]]:
    """Number the slots of the pieces and collect the constants of each attribute."""
    slots = {slot: at for at, slot in enumerate(dict.fromkeys(piece.slot for piece in pieces))}
    names = list(dict.fromkeys(slot.attribute for slot in slots if slot.role != Role.TRUTH))
    attributes = {name: _attribute_codes(name, pieces_of, schema) for name, pieces_of in _by_attribute(names, pieces)}
    column = {name: at for at, name in enumerate(names)}
    asked = {slot._replace(nth=0) for slot in slots}
    ordered = sorted((truths[slot] for slot in truths if slot in asked), key=lambda truth: not is_keyed(truth.slot))
    truth_column = {truth.slot: at for at, truth in enumerate(ordered, len(names))}
    places = [
        truth_column[slot._replace(nth=0)] if slot.role == Role.TRUTH else column[slot.attribute] for slot in slots
    ]
    modes = [SlotMode.ALL_OF if slot.role == Role.LACKS else SlotMode.ONE_OF for slot in slots]
    return Columns(attributes, tuple(ordered), np.array(places, np.int32), np.array(modes, np.uint8)), slots


def _by_attribute(names: list[str], pieces: list[Piece]) -> list[tuple[str, list[Piece]]]:
    found: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        if piece.slot.role != Role.TRUTH:
            found[piece.slot.attribute].append(piece)
    return [(name, found[name]) for name in names]


def _attribute_codes(name: str, pieces: list[Piece], schema: Schema) -> AttributeCodes:
    domain = schema.domain(name)
    if isinstance(domain, Finite):
        return AttributeCodes({}, domain.numbers)
    constants: dict[int, list[Column]] = defaultdict(list)
    ordered: set[int] = {Kind.NUMBER, Kind.TIMESTAMP, Kind.BOOLEAN}
    for piece in pieces:
        bounds = [bound for bound in (piece.low, piece.high) if bound is not None]
        if piece.kind >= 0 and bounds:
            constants[piece.kind] += [
                bound.values for at, bound in enumerate(bounds) if at == 0 or bound is not bounds[0]
            ]
            if piece.low is not piece.high:
                ordered.add(piece.kind)
    dictionaries: dict[int, Dictionary] = {k: dictionary_of(columns, k in ordered) for k, columns in constants.items()}
    size = None
    if isinstance(domain, Integer) and domain.min is not None and domain.max is not None:
        size = domain.max - domain.min + 1
    return AttributeCodes(dictionaries, domain_size=size)


def code_reading(reading: Reading, schema: Schema) -> Coded:
    """The distinct conjunctions of a reading, in codes; its pieces are used up."""
    # What only conjunctions ask that never hold is no column: of an open schema it would be read, and refused.
    pieces = [piece for piece in reading.pieces.drain() if not reading.dead[piece.conjunctions].all()]
    columns, slots = columns_of(pieces, reading.pieces.truths(), schema)
    pieces.sort(key=lambda piece: slots[piece.slot])
    intervals, numbers = _sorted_intervals(pieces, slots, columns, reading.dead)
    return _distinct(columns, tuple(slots), intervals, reading.owners[numbers])


def _range(columns: Columns, piece: Piece) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    if piece.slot.role == Role.TRUTH:
        return code_range(piece)
    return columns.attributes[piece.slot.attribute].range(piece)


def _sorted_intervals(
    pieces: list[Piece], slots: dict[Slot, int], columns: Columns, dead: npt.NDArray[np.bool_]
) -> tuple[Intervals, Longs]:
    """All intervals by conjunction and slot, and the number of each conjunction that has any."""
    ranges = []
    for at, piece in enumerate(pieces):  # values that have become codes are not kept
        ranges.append(_range(columns, piece))
        pieces[at] = Piece(piece.slot, piece.kind, piece.conjunctions)
    empty = [low > high for low, high in ranges]
    if any(one.any() for one in empty):
        dead = dead.copy()
        dead[_left_without(pieces, slots, empty)] = True
    start = np.zeros(len(dead) + 1, np.int64)
    for piece, (low, high) in zip(pieces, ranges, strict=True):
        count_intervals(piece.conjunctions, low, high, dead, start)
    numbers = np.nonzero(start[1:])[0]
    np.cumsum(start, out=start)
    slot, lows, highs = (np.empty(start[-1], np.int32) for _ in range(3))
    found = Intervals(np.r_[start[numbers], start[-1:]], slot, lows, highs)
    cursor = start[:-1].copy()
    for piece, (low, high) in zip(pieces, ranges, strict=True):
        place_intervals(piece.conjunctions, slots[piece.slot], low, high, dead, cursor, found)
    keep = np.empty(len(slot), np.bool_)
    if merge_unions(found, keep):
        kept = np.r_[0, np.cumsum(keep)].astype(np.int64)
        found = Intervals(kept[found.start], slot[keep], lows[keep], highs[keep])
    return found, numbers


def _left_without(pieces: list[Piece], slots: dict[Slot, int], empty: list[npt.NDArray[np.bool_]]) -> Longs:
    """Conjunctions with a slot that has no interval with anything in it."""
    conjunction = np.concatenate([piece.conjunctions for piece in pieces])
    slot = np.repeat([slots[piece.slot] for piece in pieces], [len(piece.conjunctions) for piece in pieces])
    key = conjunction * len(slots) + slot
    return conjunction[np.isin(key, key[~np.concatenate(empty)], invert=True)]


def _distinct(columns: Columns, slots: tuple[Slot, ...], intervals: Intervals, owners: Longs) -> Coded:
    count = len(intervals.start) - 1
    numbers, first = np.empty(count, np.int32), np.empty(count, np.int32)
    distinct = number_conjunctions(intervals, new_table(count, np.uint64), numbers, first)
    if distinct == count:
        return Coded(columns, slots, intervals, np.arange(count + 1), owners)
    starts, order = grouped(numbers, distinct)
    return Coded(columns, slots, take(intervals, first[:distinct].astype(np.int64)), starts, owners[order])


def take(intervals: Intervals, chosen: Longs) -> Intervals:
    """The intervals of some conjunctions."""
    start = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(intervals.start[chosen + 1] - intervals.start[chosen], out=start[1:])
    slot, low, high = (np.empty(start[-1], np.int32) for _ in range(3))
    found = Intervals(start, slot, low, high)
    take_intervals(intervals, chosen, found)
    return found
