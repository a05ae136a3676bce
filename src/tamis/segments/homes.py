"""Where each conjunction lives: in an access cluster, in a bitmap block, or in a list.

A cluster costs an event a probe and the verification of whoever shares the key; a block costs every event a few
instructions per 64 members. So a conjunction goes to a cluster when its equality constants are rare enough and enough
others use the same columns, and to a block otherwise. Conjunctions whose columns nearly nobody shares would make blocks
mostly empty: they go under their rarest equality, or in a plain list under a column they need.

The choice is by estimated cost. What is known of events (`Statistics`) is used where given; else every constant in use
is taken to be as likely as another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.kernels.blocks import ANY
from tamis.kernels.conjunctions import Intervals, assign_blocks
from tamis.segments.coding import Columns
from tamis.segments.statistics import Statistics
from tamis.segments.tuning import Tuning

__all__ = ["Access", "Homes", "choose_homes", "key_points"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_KEY_BITS = 60
_SAMPLE = 50
_ORDER_SLOTS = 8
"""Slots that the order in blocks looks at; more would hardly move anything."""


@dataclass(frozen=True)
class Access:
    """A set of columns and the conjunctions filed under it; `hashed` says whether by their codes."""

    columns: tuple[int, ...]
    conjunctions: Longs
    keys: npt.NDArray[np.uint64]
    shifts: tuple[int, ...]
    hashed: bool = True


@dataclass(frozen=True)
class Homes:
    """Blocks are runs of conjunctions; those of `single_blocks` have one owner each."""

    single_blocks: list[Longs]
    group_blocks: list[Longs]
    accesses: list[Access]


@dataclass(frozen=True)
class _Points:
    """Up to three equality constraints per conjunction, the rarest first; column -1 where there is none."""

    column: Ints
    code: Ints
    chance: npt.NDArray[np.float64]


def choose_homes(
    columns: Columns, intervals: Intervals, owners: Longs, statistics: Statistics | None, tuning: Tuning
) -> Homes:
    """`owners` says how many owners each conjunction has."""
    shared = owners > 1
    widths = [max(1, int(codes.last).bit_length()) for codes in columns.attributes.values()]
    points = _points(columns, intervals, statistics)
    level = _levels(points, widths, tuning)
    accesses, left = _open_accesses(points, level, widths, intervals, tuning)
    slots = len(columns.slot_column)
    single, sparse = _fill_blocks(intervals, points, left[~shared[left]], slots, tuning)
    group, sparse_too = _fill_blocks(intervals, points, left[shared[left]], slots, tuning)
    group = [run[np.argsort(owners[run], kind="stable")] for run in group]  # like sizes in a word: few layers go unused
    sparse = np.concatenate([sparse, sparse_too])
    return Homes(single, group, accesses + _sparse_accesses(columns, intervals, points, sparse, widths))


def key_points(columns: Columns, intervals: Intervals) -> npt.NDArray[np.bool_]:
    """Which intervals can be part of a key: a slot's only interval, of one code, the first such of its column."""
    of = np.repeat(np.arange(len(intervals.start) - 1), np.diff(intervals.start))
    column = columns.slot_column[intervals.slot]
    alone = np.ones(len(column), np.bool_)
    together = (of[1:] == of[:-1]) & (intervals.slot[1:] == intervals.slot[:-1])
    alone[1:] &= ~together
    alone[:-1] &= ~together
    point = alone & (intervals.low == intervals.high) & (intervals.low > 0) & (columns.slot_mode[intervals.slot] == ANY)
    at = np.nonzero(point & (column < len(columns.attributes)))[0]
    first = np.unique(of[at] * columns.count + column[at], return_index=True)[1]
    found = np.zeros(len(column), np.bool_)
    found[at[first]] = True
    return found


def _points(columns: Columns, intervals: Intervals, statistics: Statistics | None) -> _Points:
    count = len(intervals.start) - 1
    at = np.nonzero(key_points(columns, intervals))[0]
    owner = np.repeat(np.arange(count), np.diff(intervals.start))[at]
    column = columns.slot_column[intervals.slot[at]]
    chance = _chances(columns, column, intervals.low[at], statistics)
    order = np.lexsort((column, chance, owner))
    at, owner, column, chance = at[order], owner[order], column[order], chance[order]
    rank = np.arange(len(at)) - np.searchsorted(owner, owner)
    found = _Points(np.full((3, count), -1, np.int32), np.zeros((3, count), np.int32), np.ones((3, count)))
    for place in range(3):
        chosen = rank == place
        found.column[place, owner[chosen]] = column[chosen]
        found.code[place, owner[chosen]] = intervals.low[at[chosen]]
        found.chance[place, owner[chosen]] = chance[chosen]
    return found


def _chances(columns: Columns, column: Ints, code: Ints, statistics: Statistics | None) -> npt.NDArray[np.float64]:
    """How likely an event has the code in the column."""
    chance = np.empty(len(column))
    for at, (name, codes) in enumerate(columns.attributes.items()):
        mine = column == at
        if mine.any():
            table = codes.chances(statistics.attributes.get(name) if statistics is not None else None)
            chance[mine] = table[code[mine]]
    return chance


def _levels(points: _Points, widths: list[int], tuning: Tuning) -> Ints:
    """How many of its rarest equalities file each conjunction: as many as thin out crowded keys, if others agree."""
    level = (points.column[0] >= 0).astype(np.int32)
    bits = np.array([*widths, 0], np.int64)
    for wanted in (1, 2):
        here = np.nonzero((level == wanted) & (points.column[wanted] >= 0))[0]
        total = bits[points.column[: wanted + 1, here]].sum(axis=0)
        here = here[total <= _KEY_BITS]
        if not len(here):
            return level
        group = _set_key(points, here, wanted, len(widths))
        key = _set_key(points, here, wanted, len(widths), with_codes=True)
        _, of, sizes = np.unique(group, return_inverse=True, return_counts=True)
        _, first = np.unique(key, return_index=True)
        keys = np.bincount(of[first], minlength=len(sizes))
        crowded = (sizes / np.maximum(keys, 1))[of] > tuning.crowded
        here = here[crowded]
        finer = _set_key(points, here, wanted + 1, len(widths))
        _, of, sizes = np.unique(finer, return_inverse=True, return_counts=True)
        level[here[sizes[of] >= tuning.enough]] = wanted + 1
    return level


def _set_key(points: _Points, chosen: Longs, level: int, columns: int, *, with_codes: bool = False) -> Longs:
    """A number that is equal for equal sets of columns (and of codes; a rare collision only blurs an estimate)."""
    order = np.argsort(points.column[:level, chosen], axis=0)
    sorted_columns = np.take_along_axis(points.column[:level, chosen], order, axis=0).astype(np.int64)
    codes = np.take_along_axis(points.code[:level, chosen], order, axis=0).astype(np.int64)
    key = np.zeros(len(chosen), np.int64)
    for place in range(level):
        key = key * (columns + 1) + sorted_columns[place] + 1
        if with_codes:
            key = key * 1_000_003 + codes[place]
    return key


def _open_accesses(
    points: _Points, level: Ints, widths: list[int], intervals: Intervals, tuning: Tuning
) -> tuple[list[Access], Longs]:
    """The sets of columns worth a cluster, and the conjunctions that are left for blocks."""
    accesses: list[Access] = []
    left = [np.nonzero(level == 0)[0]]
    for wanted in (1, 2, 3):
        here = np.nonzero(level == wanted)[0]
        if not len(here):
            continue
        order = np.argsort(_set_key(points, here, wanted, len(widths)), kind="stable")
        keys = _set_key(points, here, wanted, len(widths))[order]
        for members in np.split(here[order], np.nonzero(np.diff(keys))[0] + 1):
            if _cluster_ns(points, members, wanted, intervals, tuning) < _block_ns(points, members, intervals, tuning):
                accesses.append(_access(points, members, wanted, widths))
            else:
                left.append(members)
    return accesses, np.sort(np.concatenate(left))


def _cluster_ns(points: _Points, members: Longs, level: int, intervals: Intervals, tuning: Tuning) -> float:
    """What an event pays for these members in a cluster: a probe, and the verification of whoever shares its key."""
    candidates = float(points.chance[:level, members].prod(axis=0).sum())
    rest = float(np.diff(intervals.start)[members].mean()) - level
    return tuning.probe_ns + candidates * tuning.verify_ns * (1 + rest / 2)


def _block_ns(points: _Points, members: Longs, intervals: Intervals, tuning: Tuning) -> float:
    """What it pays for them in blocks: every slot, but in a block whose leading equalities all fail only the first."""
    slots = _union_size(intervals, members)
    chance = float(points.chance[0, members].mean())
    leads = len(np.unique(points.code[0, members])) / len(members) * tuning.members
    alive = min(1.0, leads * chance) if chance < tuning.rare else 1.0
    return len(members) / tuning.members * (2 + slots * alive) * tuning.and_ns


def _union_size(intervals: Intervals, members: Longs) -> int:
    """About how many slots a block of these conjunctions would use: those of a sample."""
    step = max(1, len(members) // _SAMPLE)
    return len(
        {slot for c in members[::step].tolist() for slot in intervals.slot[intervals.start[c] : intervals.start[c + 1]]}
    )


def _access(points: _Points, members: Longs, level: int, widths: list[int]) -> Access:
    order = np.argsort(points.column[:level, members], axis=0)
    sorted_columns = np.take_along_axis(points.column[:level, members], order, axis=0)
    codes = np.take_along_axis(points.code[:level, members], order, axis=0)
    columns = tuple(int(column) for column in sorted_columns[:, 0])
    keys = np.zeros(len(members), np.uint64)
    shifts, shift = [], 0
    for place, column in enumerate(columns):
        keys |= codes[place].astype(np.uint64) << np.uint64(shift)
        shifts.append(shift + 256 * widths[column])
        shift += widths[column]
    return Access(columns, members, keys, tuple(shifts))


def _fill_blocks(
    intervals: Intervals, points: _Points, left: Longs, slots: int, tuning: Tuning
) -> tuple[list[Longs], Longs]:
    """Blocks of conjunctions that use the same slots; those with the same rarest equality lie together."""
    order = _block_order(intervals, points, left, tuning)
    block = np.empty(len(order), np.int32)
    count = assign_blocks(intervals, order, slots, tuning.most_slots, tuning.members, block)
    runs = np.split(order, np.nonzero(np.diff(block))[0] + 1) if count else []
    blocks: list[Longs] = []
    sparse: list[Longs] = [np.empty(0, np.int64)]
    for number, run in enumerate(runs):
        full = len(run) >= tuning.sparse or (number == len(runs) - 1 and count <= 2)
        (blocks if full else sparse).append(run)
    return blocks, np.concatenate(sparse)


def _block_order(intervals: Intervals, points: _Points, left: Longs, tuning: Tuning) -> Longs:
    """By the rarest equality if it is rare, so that whole blocks drop out; then by slots, so that neighbours share."""
    if not len(left):
        return left
    start, lengths = intervals.start[left], np.diff(intervals.start)[left]
    places = range(min(int(lengths.max()), _ORDER_SLOTS))
    last = len(intervals.slot) - 1
    slots = [np.where(lengths > place, intervals.slot[np.minimum(start + place, last)], -1) for place in places]
    rare = points.chance[0, left] < tuning.rare
    lead = np.where(rare, points.column[0, left], -1)
    code = np.where(rare, points.code[0, left], -1)
    return left[np.lexsort((*reversed(slots), code, lead))]


def _sparse_accesses(
    columns: Columns, intervals: Intervals, points: _Points, sparse: Longs, widths: list[int]
) -> list[Access]:
    """Clusters of any size for those with an equality, lists for the others."""
    accesses: list[Access] = []
    rarest = points.column[0, sparse]
    for column in np.unique(rarest[rarest >= 0]):
        accesses.append(_access(points, sparse[rarest == column], 1, widths))
    rest = sparse[rarest < 0]
    if len(rest):
        needed = _needed_column(columns, intervals, rest)
        for column in np.unique(needed):
            members = rest[needed == column]
            where = () if column < 0 else (int(column),)
            accesses.append(Access(where, members, np.zeros(len(members), np.uint64), (0,) * len(where), hashed=False))
    return accesses


def _needed_column(columns: Columns, intervals: Intervals, conjunctions: Longs) -> Ints:
    """Per conjunction the least used column that it cannot do without; -1 if it can do without any."""
    uses = np.bincount(columns.slot_column[intervals.slot], minlength=columns.count)
    found = np.full(len(conjunctions), -1, np.int32)
    for at, conjunction in enumerate(conjunctions.tolist()):
        first, last = intervals.start[conjunction], intervals.start[conjunction + 1]
        with_missing = set(intervals.slot[first:last][intervals.low[first:last] == 0].tolist())
        needed = [columns.slot_column[s] for s in set(intervals.slot[first:last].tolist()) - with_missing]
        found[at] = min(needed, key=lambda column: uses[column], default=-1)
    return found
