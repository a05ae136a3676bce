"""Constraints → conjunctions of integer intervals: slots numbered, constants coded, equal conjunctions found."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.kernels.blocks import ALL, ANY
from tamis.kernels.conjunctions import Intervals, hash_conjunctions, merge_unions, same_conjunctions
from tamis.model import Finite, Integer, Kind, Schema
from tamis.segments.codes import AttributeCodes, Dictionary, dictionary_of
from tamis.segments.constraints import LACKS, LINK, Column, Piece, Slot
from tamis.segments.intervals import FiniteCodes
from tamis.segments.reading import Reading

__all__ = ["Coded", "Columns", "code_reading", "columns_of"]

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """The columns of encoded events: attributes first, then links."""

    attributes: dict[str, AttributeCodes]
    links: tuple[Slot, ...]
    slot_column: npt.NDArray[np.int32]
    slot_mode: npt.NDArray[np.uint8]

    @property
    def count(self) -> int:
        return len(self.attributes) + len(self.links)


@dataclass(frozen=True)
class Coded:
    """Distinct conjunctions, and who owns each."""

    columns: Columns
    intervals: Intervals
    owner_start: Longs
    """Conjunction c belongs to the texts `owners[owner_start[c]:owner_start[c + 1]]`."""
    owners: Longs


def columns_of(pieces: list[Piece], schema: Schema) -> tuple[Columns, dict[Slot, int]]:
    """Number the slots of the pieces and collect the constants of each attribute."""
    slots = {slot: at for at, slot in enumerate(dict.fromkeys(piece.slot for piece in pieces))}
    names = list(dict.fromkeys(slot.attribute for slot in slots if slot.role != LINK))
    attributes = {name: _attribute_codes(name, pieces_of, schema) for name, pieces_of in _by_attribute(names, pieces)}
    links = tuple(slot for slot in slots if slot.role == LINK)
    column = {name: at for at, name in enumerate(names)}
    places = [len(names) + links.index(s) if s.role == LINK else column[s.attribute] for s in slots]
    modes = [ALL if slot.role == LACKS else ANY for slot in slots]
    return Columns(attributes, links, np.array(places, np.int32), np.array(modes, np.uint8)), slots


def _by_attribute(names: list[str], pieces: list[Piece]) -> list[tuple[str, list[Piece]]]:
    found: dict[str, list[Piece]] = defaultdict(list)
    for piece in pieces:
        if piece.slot.role != LINK:
            found[piece.slot.attribute].append(piece)
    return [(name, found[name]) for name in names]


def _attribute_codes(name: str, pieces: list[Piece], schema: Schema) -> AttributeCodes:
    domain = schema.domain(name)
    if isinstance(domain, Finite):
        return AttributeCodes({}, FiniteCodes(domain).code)
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
    """The distinct conjunctions of a reading, in codes."""
    pieces = list(reading.pieces.all())
    columns, slots = columns_of(pieces, schema)
    pieces.sort(key=lambda piece: slots[piece.slot])
    intervals, numbers = _sorted_intervals(pieces, slots, columns, reading.dead)
    return _distinct(columns, intervals, reading.owners[numbers])


def _range(columns: Columns, piece: Piece) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    if piece.slot.role == LINK:
        return np.full(len(piece.conjunctions), 2, np.int32), np.full(len(piece.conjunctions), 2, np.int32)
    return columns.attributes[piece.slot.attribute].range(piece)


def _sorted_intervals(
    pieces: list[Piece], slots: dict[Slot, int], columns: Columns, dead: npt.NDArray[np.bool_]
) -> tuple[Intervals, Longs]:
    """All intervals by conjunction and slot, and the number of each conjunction that has any."""
    if not pieces:
        none = np.empty(0, np.int32)
        return Intervals(np.zeros(1, np.int64), none, none, none), np.empty(0, np.int64)
    ranges = [_range(columns, piece) for piece in pieces]
    conjunction = np.concatenate([piece.conjunctions for piece in pieces])
    slot = np.concatenate([np.full(len(p.conjunctions), slots[p.slot], np.int32) for p in pieces])
    low, high = (np.concatenate(side) for side in zip(*ranges, strict=True))
    empty = low > high
    if empty.any():
        dead = dead.copy()
        dead[_left_without(conjunction, slot, empty)] = True
    kept = np.nonzero(~empty & ~dead[conjunction])[0]
    order = kept[np.argsort(conjunction[kept], kind="stable")]
    conjunction, slot, low, high = conjunction[order], slot[order], low[order], high[order]
    intervals = Intervals(_starts(conjunction), slot, low, high)
    keep = np.empty(len(low), np.bool_)
    merge_unions(intervals, keep)
    if not keep.all():
        conjunction, slot, low, high = conjunction[keep], slot[keep], low[keep], high[keep]
        intervals = Intervals(_starts(conjunction), slot, low, high)
    return intervals, conjunction[intervals.start[:-1]]


def _left_without(conjunction: Longs, slot: npt.NDArray[np.int32], empty: npt.NDArray[np.bool_]) -> Longs:
    """Conjunctions with a slot that has no interval with anything in it."""
    key = conjunction * (int(slot.max()) + 1) + slot
    return conjunction[np.isin(key, key[~empty], invert=True)]


def _starts(sorted_keys: Longs) -> Longs:
    """Where each run of equal keys starts, and the end."""
    if not len(sorted_keys):
        return np.zeros(1, np.int64)
    return np.r_[0, np.nonzero(np.diff(sorted_keys))[0] + 1, len(sorted_keys)].astype(np.int64)


def _distinct(columns: Columns, intervals: Intervals, owners: Longs) -> Coded:
    count = len(intervals.start) - 1
    hashes = np.empty(count, np.uint64)
    hash_conjunctions(intervals, hashes)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    same = np.empty(count, np.bool_)
    same_conjunctions(intervals, np.arange(count), first[group], same)
    group = group.astype(np.int64)
    group[~same] = len(first) + np.arange(int((~same).sum()))  # a collision: stored apart, which is merely longer
    order = np.argsort(group, kind="stable")
    starts = _starts(group[order])
    model = order[starts[:-1]]
    return Coded(columns, take(intervals, model), starts, owners[order])


def take(intervals: Intervals, chosen: Longs) -> Intervals:
    """The intervals of some conjunctions."""
    lengths = np.diff(intervals.start)[chosen]
    start = np.r_[0, np.cumsum(lengths)].astype(np.int64)
    at = np.repeat(intervals.start[chosen] - start[:-1], lengths) + np.arange(start[-1])
    return Intervals(start, intervals.slot[at], intervals.low[at], intervals.high[at])
