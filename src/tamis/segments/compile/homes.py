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
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels.numbering import grouped, numbered, ranked
from tamis.kernels.segments.conjunctions import Intervals, assign_blocks
from tamis.kernels.segments.points import MOST_POINTS, Points, Slots, find_points, pack_keys, set_keys
from tamis.segments.compile.coding import Columns
from tamis.segments.compile.statistics import Statistics
from tamis.segments.compile.tuning import Tuning

__all__ = ["Access", "Homes", "chances_of", "choose_homes", "slots_of"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

COMMON = "no cluster is cheaper: their equalities are common, or they have none"
FEW_SHARE = "too few use the same attributes to fill a block"
NO_EQUALITY = "too few use the same attributes to fill a block, and no equality tells them apart"

_KEY_BITS = 60
_MOST_COLUMNS = 1 << 21
"""With more columns than this, sets of three would not fit a number: everyone is filed under one."""
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
    why: str = ""


@dataclass(frozen=True)
class Homes:
    """Blocks are runs of conjunctions; those of `single_blocks` have one owner each."""

    single_blocks: list[Longs]
    group_blocks: list[Longs]
    accesses: list[Access]


def choose_homes(
    columns: Columns, intervals: Intervals, owners: Longs, statistics: Statistics | None, tuning: Tuning
) -> Homes:
    """`owners` says how many owners each conjunction has."""
    shared = owners > 1
    widths = np.array([max(1, int(last).bit_length()) for last in columns.lasts[: columns.keyed]], np.int64)
    points = _points(columns, intervals, statistics)
    costs = _Costs(columns, intervals, points, tuning)
    accesses, left = _open_accesses(points, _levels(points, widths, costs), widths, shared, costs)
    slots = len(columns.slot_column)
    single, sparse = _fill_blocks(intervals, points, left[~shared[left]], slots, tuning)
    group, sparse_too = _fill_blocks(intervals, points, left[shared[left]], slots, tuning)
    group = [run[np.argsort(owners[run], kind="stable")] for run in group]  # like sizes in a word: few layers go unused
    sparse = np.concatenate([sparse, sparse_too])
    return Homes(single, group, accesses + _sparse_accesses(columns, intervals, points, sparse, widths))


def slots_of(columns: Columns) -> Slots:
    return Slots(columns.slot_column, columns.slot_mode, columns.keyed)


def _points(columns: Columns, intervals: Intervals, statistics: Statistics | None) -> Points:
    count = len(intervals.start) - 1
    shape = (MOST_POINTS, count)
    found = Points(np.full(shape, -1, np.int32), np.zeros(shape, np.int32), np.ones(shape))
    tables = chances_of(columns, statistics)
    if tables:
        start = np.cumsum([0, *map(len, tables)])
        seen = np.full(len(tables), -1, np.int64)
        find_points(intervals, slots_of(columns), start, np.concatenate(tables), seen, found)
    return found


def chances_of(columns: Columns, statistics: Statistics | None) -> list[Reals]:
    """Of each column that may be part of a key, per code, how likely an event has it."""
    known = statistics.attributes if statistics is not None else {}
    tables = [codes.chances(known.get(name)) for name, codes in columns.attributes.items()]
    rare = columns.lasts[len(tables) : columns.keyed]  # of a truth's many members each is as likely as another
    return tables + [np.full(last + 1, 1.0 / last) for last in rare.tolist()]


class _Groups:
    """Conjunctions by the set of columns they are filed under: `of[i]` is the group of the i-th."""

    def __init__(self, of: Ints, count: int) -> None:
        self.of = of
        self.starts, self.order = grouped(of, count)
        self.sizes = np.diff(self.starts)

    def sums(self, values: Reals) -> Reals:
        """Of the values of its members, for each group."""
        return np.bincount(self.of, values, len(self.sizes)).astype(np.float64, copy=False)

    def places(self, group: int) -> Longs:
        """Where its members are."""
        return self.order[self.starts[group] : self.starts[group + 1]]


class _Costs:
    """What an event pays for conjunctions, in nanoseconds, by where they live."""

    def __init__(self, columns: Columns, intervals: Intervals, points: Points, tuning: Tuning) -> None:
        self._intervals, self._points, self.tuning = intervals, points, tuning
        self._lengths = np.diff(intervals.start)
        self._codes = columns.lasts[columns.slot_column]
        of, first = numbered(points.column[0].astype(np.int64) + 1 << 32 | points.code[0])
        self._leads = 1 / np.bincount(of, minlength=len(first))[of]  # per conjunction, its part in a leading equality

    def candidates(self, members: Longs, level: int) -> Reals:
        """Of each member, its verification if the event has all the `level` codes of its key."""
        rest = self._lengths[members] - level
        return self._points.chance[:level, members].prod(axis=0) * self.tuning.verify_ns * (1 + rest / 2)

    def clusters(self, members: Longs, level: int, groups: _Groups) -> Reals:
        """Of each group as a cluster: a probe, and whoever shares its key."""
        return self.tuning.probe_ns + groups.sums(self.candidates(members, level))

    def blocks(self, members: Longs, groups: _Groups) -> Reals:
        """Of each in full blocks: every slot, but in a block whose leading equalities all fail only the first."""
        tuning = self.tuning
        chance = groups.sums(self._points.chance[0, members]) / groups.sizes
        leads = groups.sums(self._leads[members]) / groups.sizes * tuning.members
        alive = np.where(chance < tuning.rare, np.minimum(1.0, leads * chance), 1.0)
        return groups.sizes / tuning.members * (tuning.block_ns + self._slots(members, groups) * alive)

    def _slots(self, members: Longs, groups: _Groups) -> Reals:
        """The slots that a block of each would use, judged by a sample of its members."""
        tuning, every = self.tuning, np.maximum(1, groups.sizes // _SAMPLE)
        rank = np.arange(len(members)) - np.repeat(groups.starts[:-1], groups.sizes)
        chosen = groups.order[rank % np.repeat(every, groups.sizes) == 0]
        sample, of = members[chosen], groups.of[chosen]
        lengths = self._lengths[sample]
        skipped = self._intervals.start[sample] - (np.cumsum(lengths) - lengths)
        slot = self._intervals.slot[np.repeat(skipped, lengths) + np.arange(int(lengths.sum()))]
        pairs, first = numbered(np.repeat(of, lengths) * np.int64(len(self._codes)) + slot)
        slot, of_pair = slot[first], np.repeat(of, lengths)[first]
        intervals = np.bincount(pairs, minlength=len(first)) / np.bincount(of, minlength=len(every))[of_pair]
        codes, toggles = self._codes[slot], 2 * intervals * tuning.members
        bases_everywhere = (codes <= tuning.few) & (codes * tuning.share <= toggles)
        ns = np.where(bases_everywhere, tuning.and_ns, tuning.flip_ns)
        return np.bincount(of_pair, ns, len(every)).astype(np.float64, copy=False)


def _levels(points: Points, widths: Longs, costs: _Costs) -> Ints:
    """How many of its rarest equalities file each conjunction: one more where a further probe costs an event less than
    the candidates it spares, over all with the same set of columns."""
    level = (points.column[0] >= 0).astype(np.int32)
    bits = np.r_[widths, 0]
    for wanted in (1, 2) if len(widths) < _MOST_COLUMNS else ():
        here = np.nonzero((level == wanted) & (points.column[wanted] >= 0))[0]
        here = here[bits[points.column[: wanted + 1, here]].sum(axis=0) <= _KEY_BITS]
        if not len(here):
            return level
        of, groups = _sets(points, here, wanted + 1, len(widths))
        spared = costs.candidates(here, wanted) - costs.candidates(here, wanted + 1)
        level[here[(np.bincount(of, spared, groups) > costs.tuning.probe_ns)[of]]] = wanted + 1
    return level


def _sets(points: Points, chosen: Longs, level: int, columns: int) -> tuple[Ints, int]:
    """Conjunctions numbered by the set of columns of their rarest equalities, and how many sets there are."""
    keys = np.empty(len(chosen), np.int64)
    set_keys(points, chosen, level, columns, keys)
    numbers, first = numbered(keys)
    return numbers, len(first)


def _open_accesses(
    points: Points, level: Ints, widths: Longs, shared: Flags, costs: _Costs
) -> tuple[list[Access], Longs]:
    """The sets of columns worth a cluster, and the conjunctions that are left for blocks.

    A block that is not full costs as much as one that is: what is left is weighed again until nothing more is spared.
    """
    accesses: list[Access] = []
    undecided: list[tuple[int, Longs, float, float]] = []
    for wanted in (1, 2, 3):
        here = np.nonzero(level == wanted)[0]
        groups = _Groups(*_sets(points, here, wanted, len(widths)))
        weights = zip(costs.clusters(here, wanted, groups).tolist(), costs.blocks(here, groups).tolist(), strict=True)
        undecided += [(wanted, here[groups.places(at)], *weight) for at, weight in enumerate(weights)]
    while True:
        left = np.concatenate([np.nonzero(level == 0)[0], *(members for _, members, _, _ in undecided)])
        emptier = _room(shared[left], costs.tuning) / max(len(left), 1)
        rest = []
        for wanted, members, cluster, blocks in undecided:
            if cluster < blocks * emptier:
                why = f"about {cluster:,.0f} ns per event, and {blocks * emptier:,.0f} ns in blocks"
                accesses.append(_access(points, members, wanted, widths, why))
            else:
                rest.append((wanted, members, cluster, blocks))
        if len(rest) == len(undecided):
            return accesses, np.sort(left)
        undecided = rest


def _room(shared: Flags, tuning: Tuning) -> int:
    """How many conjunctions would fit in the blocks that these take."""
    blocks = -(-np.bincount(shared, minlength=2) // tuning.members)
    return int(blocks.sum()) * tuning.members


def _access(points: Points, members: Longs, level: int, widths: Longs, why: str) -> Access:
    columns = tuple(sorted(points.column[:level, members[0]].tolist()))
    keys = np.empty(len(members), np.uint64)
    pack_keys(points, members, level, widths, keys)
    shifts = np.cumsum([0, *(widths[column] for column in columns)]).tolist()
    placed = tuple(shift + 256 * int(widths[column]) for shift, column in zip(shifts, columns, strict=False))
    return Access(columns, members, keys, placed, why=why)


def _fill_blocks(
    intervals: Intervals, points: Points, left: Longs, slots: int, tuning: Tuning
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


def _block_order(intervals: Intervals, points: Points, left: Longs, tuning: Tuning) -> Longs:
    """By the rarest equality if it is rare, so that whole blocks drop out; then by slots, so that neighbours share."""
    if not len(left):
        return left
    start, lengths = intervals.start[left], intervals.start[left + 1] - intervals.start[left]
    rare = points.chance[0, left] < tuning.rare
    lead = np.where(rare, points.column[0, left] + 1, 0)
    order = _Order(lead)
    order.then(np.where(rare, points.code[0, left], 0))
    last = len(intervals.slot) - 1
    for place in range(min(int(lengths.max()), _ORDER_SLOTS)):
        order.then(np.where(lengths > place, intervals.slot[np.minimum(start + place, last)] + 1, 0))
    return left[order.order()]


class _Order:
    """An order by several columns of small numbers, packed into one as long as they fit."""

    def __init__(self, first: npt.NDArray[Any]) -> None:
        self._key = first.astype(np.int64)

    def then(self, column: npt.NDArray[Any]) -> None:
        """Those that were equal so far are told apart by one more column."""
        width = int(column.max(initial=0)) + 1
        if int(self._key.max(initial=0)) >= (1 << 62) // width:
            self._key = ranked(self._key)[0].astype(np.int64)
        self._key *= width
        self._key += column

    def order(self) -> Longs:
        return grouped(*ranked(self._key))[1]


def _sparse_accesses(
    columns: Columns, intervals: Intervals, points: Points, sparse: Longs, widths: Longs
) -> list[Access]:
    """Clusters of any size for those with an equality, lists for the others."""
    accesses: list[Access] = []
    rarest = points.column[0, sparse]
    for column in np.unique(rarest[rarest >= 0]):
        accesses.append(_access(points, sparse[rarest == column], 1, widths, FEW_SHARE))
    rest = sparse[rarest < 0]
    if len(rest):
        needed = _needed_column(columns, intervals, rest)
        for column in np.unique(needed):
            members = rest[needed == column]
            where = () if column < 0 else (int(column),)
            no_keys, no_shifts = np.zeros(len(members), np.uint64), (0,) * len(where)
            accesses.append(Access(where, members, no_keys, no_shifts, hashed=False, why=NO_EQUALITY))
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
