"""Texts → the arrays of a segment: read, code, choose homes, lay out blocks and clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.segments import block_building
from tamis.kernels.segments.blocks import MEMBERS, WORDS, Blocks
from tamis.kernels.segments.clusters import Clusters
from tamis.kernels.segments.conjunctions import Intervals
from tamis.kernels.segments.finding import Parts, nothing_met
from tamis.kernels.segments.points import MOST_POINTS, file_keys, leave_rest
from tamis.kernels.segments.rows import Places
from tamis.language import print_predicate
from tamis.model import COMPARISONS, Reference, Schema
from tamis.segments.compile.coding import Coded, Columns, code_reading, take
from tamis.segments.compile.homes import COMMON, Access, Homes, choose_homes, slots_of
from tamis.segments.compile.reading import Reading
from tamis.segments.compile.statistics import Statistics
from tamis.segments.compile.truths import Role, Slot, TruthColumn, is_keyed
from tamis.segments.compile.tuning import DEFAULT, Tuning

__all__ = ["MOST_LAYERS", "Home", "Layout", "build_layout", "living_bits"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

MOST_LAYERS = 16
"""Conjunctions of more owners have their rows together, which is as good for many."""


class Home(NamedTuple):
    """Where some conjunctions live, and why there."""

    where: str
    attributes: tuple[str, ...]
    conjunctions: int
    why: str


@dataclass(frozen=True)
class Layout:
    """Everything a segment matches with. `owner` is the text of each row, -1 for padding."""

    columns: Columns
    blocks: Blocks
    block_sizes: Ints
    clusters: Clusters
    places: Places
    owner: Longs
    canon: Ints | None
    """Where texts have several conjunctions: each row's first sibling."""
    linked: npt.NDArray[np.bool_]
    """Rows whose conjunction has a truth and asks more of an attribute that it is about: where that has several values,
    the truth alone does not settle the conjunction."""
    counts: dict[str, int]
    homes: list[Home]
    met: Longs
    """What events met so far, for whoever judges the homes; neither this nor the next is kept in files."""
    known: Statistics | None = None
    """What was known of events when the homes were chosen."""

    @property
    def parts(self) -> Parts:
        """For the kernels."""
        return Parts(self.blocks, self.block_sizes, self.clusters, self.places, self.met)


def build_layout(
    reading: Reading, schema: Schema, statistics: Statistics | None = None, tuning: Tuning = DEFAULT
) -> Layout:
    coded = code_reading(reading, schema)
    owners = np.diff(coded.owner_start)
    homes = choose_homes(coded.columns, coded.intervals, owners, statistics, tuning)
    blocks, sizes = _build_blocks(coded, homes, tuning)
    clusters, filed = _build_clusters(coded, homes.accesses)
    places, owner, conjunction = _place_rows(coded, homes, filed)
    counts = {
        "conjunctions": len(owners),
        "in_blocks": int(sizes.sum()),
        "in_clusters": sum(len(one.conjunctions) for one in homes.accesses if one.hashed),
        "in_lists": sum(len(one.conjunctions) for one in homes.accesses if not one.hashed),
        "blocks": len(sizes),
        "accesses": len(homes.accesses),
    }
    linked, lived_in = _linked(coded, conjunction), _describe(coded.columns, homes)
    rows, met = (owner, _canon(owner), linked), nothing_met(clusters)
    return Layout(coded.columns, blocks, sizes, clusters, places, *rows, counts, lived_in, met, statistics)


def _describe(columns: Columns, homes: Homes) -> list[Home]:
    names = [*columns.attributes, *(_title(truth) for truth in columns.truths)]
    found = [
        Home("cluster" if one.hashed else "list", tuple(names[c] for c in one.columns), len(one.conjunctions), one.why)
        for one in homes.accesses
    ]
    in_blocks = sum(map(len, homes.single_blocks + homes.group_blocks))
    return [*found, Home("blocks", (), in_blocks, COMMON)] if in_blocks else found


def _title(truth: TruthColumn) -> str:
    """As it would be written; of many members, what they have in common."""
    if is_keyed(truth.slot):
        return f"{truth.slot.attribute} {truth.members[0].operator.value} …".lstrip()
    return print_predicate(truth.members[0])


def _linked(coded: Coded, conjunction: Longs) -> npt.NDArray[np.bool_]:
    """Of each row, whether its conjunction binds an attribute twice: in two truths, or in a truth and by itself."""
    intervals, found = coded.intervals, np.zeros(len(coded.intervals.start), np.bool_)
    if coded.columns.truths:
        lengths = np.diff(intervals.start)
        of = np.repeat(np.arange(len(lengths)), lengths)
        first, second, names = _bound_names(coded.slots)
        is_truth = np.array([slot.role == Role.TRUTH for slot in coded.slots], np.bool_)
        with_truths = np.zeros(len(lengths), np.bool_)
        with_truths[of[is_truth[intervals.slot]]] = True
        chosen = np.flatnonzero(_firsts(intervals, lengths) & with_truths[of])
        of, slot = of[chosen], intervals.slot[chosen]
        keys = np.sort(np.concatenate([(of * names + name[slot])[name[slot] >= 0] for name in (first, second)]))
        found[keys[1:][keys[1:] == keys[:-1]] // names] = True
    return found[conjunction]  # -1 is padding and falls on the spare last entry


def _bound_names(slots: tuple[Slot, ...]) -> tuple[Longs, Longs, int]:
    """The attributes that each slot binds to one value, numbered: one, two for a link, or none (-1)."""
    numbers: dict[str, int] = {}
    found = np.full((2, len(slots)), -1, np.int64)
    for at, slot in enumerate(slots):
        if slot.role == Role.BOUND or (slot.role == Role.TRUTH and slot.operator in COMPARISONS):
            found[0, at] = numbers.setdefault(slot.attribute, len(numbers))
        if isinstance(slot.operand, Reference):
            found[1, at] = numbers.setdefault(slot.operand.attribute, len(numbers))
    return found[0], found[1], len(numbers)


def _canon(owner: Longs) -> Ints | None:
    real = np.nonzero(owner >= 0)[0]
    first = np.full(int(owner.max(initial=-1)) + 1, -1, np.int32)
    first[owner[real[::-1]]] = real[::-1]  # backwards, so that an owner's first row is written last
    if int((first >= 0).sum()) == len(real):
        return None
    canon = np.arange(len(owner), dtype=np.int32)
    canon[real] = first[owner[real]]
    return canon


# -- blocks -------------------------------------------------------------------------------------------------------


def _build_blocks(coded: Coded, homes: Homes, tuning: Tuning) -> tuple[Blocks, Ints]:
    runs = homes.single_blocks + homes.group_blocks
    sizes = np.array([len(run) for run in runs], np.int32)
    order = np.concatenate(runs) if runs else np.empty(0, np.int64)
    block = np.repeat(np.arange(len(runs), dtype=np.int32), sizes)
    mine = take(coded.intervals, order)
    slots = len(coded.columns.slot_column)
    lengths = np.diff(mine.start)
    entries, entry_of = np.empty(len(mine.slot), np.int64), np.empty(len(mine.slot), np.int32)
    count = block_building.number_entries(mine, block, slots, entries, entry_of)
    entries, entry_of = _most_used_first(entries[:count], entry_of, mine, lengths, slots)
    entry_block, entry_slot = entries // slots, (entries % slots).astype(np.int32)
    toggle_start = np.r_[0, np.cumsum(2 * np.bincount(entry_of, minlength=len(entries)))].astype(np.int64)
    toggle_code, toggle_bit = np.empty(toggle_start[-1], np.int32), np.empty(toggle_start[-1], np.uint16)
    free = _ones(sizes)[entry_block].reshape(-1)
    block_building.find_toggles(
        mine, np.arange(len(order)), block, entry_of, toggle_start[:-1].copy(), toggle_code, toggle_bit, free
    )
    block_building.sort_toggles(toggle_start, toggle_code, toggle_bit)
    bases = _build_bases(toggle_start, toggle_code, toggle_bit, free, tuning)
    columns = coded.columns
    start = np.searchsorted(entry_block, np.arange(len(runs) + 1)).astype(np.int32)
    needed = _needed(entry_of, mine, lengths, sizes[entry_block])
    return Blocks(start, columns.slot_column[entry_slot], columns.slot_mode[entry_slot], needed, *bases), sizes


def _most_used_first(entries: Longs, entry_of: Ints, mine: Intervals, lengths: Longs, slots: int) -> tuple[Longs, Ints]:
    """Within a block, the entries that most members use come first: they leave the fewest standing."""
    users = _users(entry_of, mine, lengths, len(entries))
    order = np.lexsort((entries, -users, entries // slots))
    rank = np.empty(len(entries), np.int32)
    rank[order] = np.arange(len(entries), dtype=np.int32)
    return entries[order], rank[entry_of]


def _firsts(mine: Intervals, lengths: Longs) -> npt.NDArray[np.bool_]:
    """Intervals that are the first of their conjunction and slot."""
    first = np.ones(len(mine.slot), np.bool_)
    of = np.repeat(np.arange(len(lengths)), lengths)
    first[1:] = (mine.slot[1:] != mine.slot[:-1]) | (of[1:] != of[:-1])
    return first


def _users(entry_of: Ints, mine: Intervals, lengths: Longs, entries: int) -> Longs:
    return np.bincount(entry_of[_firsts(mine, lengths)], minlength=entries)


def _needed(entry_of: Ints, mine: Intervals, lengths: Longs, sizes: Ints) -> npt.NDArray[np.uint8]:
    users = _users(entry_of, mine, lengths, len(sizes))
    without = np.bincount(entry_of[mine.low == 0], minlength=len(sizes))
    return ((users == sizes) & (without == 0)).astype(np.uint8)


def _ones(sizes: Ints) -> npt.NDArray[np.uint64]:
    """Per block a bitmap with a one for each member."""
    room = np.clip(sizes[:, None] - 64 * np.arange(WORDS), 0, 64).astype(np.uint64)
    full = np.uint64(0xFFFFFFFFFFFFFFFF)
    partial = (np.uint64(1) << np.minimum(room, np.uint64(63))) - np.uint64(1)
    return np.where(room == 64, full, partial)


def _build_bases(
    start: Longs, code: Ints, bit: npt.NDArray[np.uint16], free: npt.NDArray[np.uint64], tuning: Tuning
) -> tuple[
    Ints, Ints, Ints, Ints, npt.NDArray[np.uint64], Ints, npt.NDArray[np.uint16]
]:  # fmt: skip
    entries = len(start) - 1
    counts, few = np.empty(entries, np.int32), np.empty(entries, np.bool_)
    block_building.count_bases(start, code, tuning.few, tuning.share, tuning.spacing, counts, few)
    base_start = np.r_[0, np.cumsum(counts)].astype(np.int32)
    base_code, base_toggle = np.empty(base_start[-1], np.int32), np.empty(base_start[-1], np.int64)
    block_building.place_bases(start, code, tuning.spacing, few, base_start, base_code, base_toggle)
    bits = np.empty(int(base_start[-1]) * WORDS, np.uint64)
    block_building.fill_bases(start, bit, base_start, base_toggle, free, bits)
    # Entries with a base at every toggle need none of their toggles; the others keep theirs, moved together.
    kept = np.repeat(~few, np.diff(start))
    moved = np.r_[0, np.cumsum(kept)]
    base_few = np.repeat(few, counts)
    last = np.repeat(start[1:], counts)
    base_end = np.r_[base_toggle[1:], start[-1:]]
    final = np.zeros(len(base_toggle), np.bool_)
    final[base_start[1:] - 1] = True
    base_end = np.where(final, last, base_end)
    first, end = moved[base_toggle], np.where(base_few, moved[base_toggle], moved[base_end])
    return base_start, base_code, first.astype(np.int32), end.astype(np.int32), bits, code[kept], bit[kept]


# -- clusters -----------------------------------------------------------------------------------------------------


def _build_clusters(coded: Coded, accesses: list[Access]) -> tuple[Clusters, Longs]:
    """The clusters, and the conjunction of each member."""
    filed: list[Longs] = [np.empty(0, np.int64)]
    keys: list[npt.NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    buckets: list[Ints] = [np.empty(0, np.int32)]
    bucket_start, bucket_bits = [], []
    members = entries = 0
    for access in accesses:
        bits = max(0, int(len(access.keys) - 1).bit_length()) if access.hashed else 0
        starts, order = np.zeros((1 << bits) + 1, np.int64), np.empty(len(access.keys), np.int64)
        file_keys(access.keys, bits, starts, order)
        bucket_start.append(entries)
        bucket_bits.append(bits)
        buckets.append((members + starts).astype(np.int32))
        filed.append(access.conjunctions[order])
        keys.append(access.keys[order])
        members, entries = members + len(order), entries + len(starts)
    conjunctions = np.concatenate(filed)
    rest = _rest(coded, accesses, conjunctions)
    column_start = np.r_[0, np.cumsum([len(access.columns) for access in accesses])].astype(np.int32)
    clusters = Clusters(
        column_start,
        np.array([column for access in accesses for column in access.columns], np.int32),
        np.array([shift for access in accesses for shift in access.shifts], np.int32),
        np.array([access.hashed for access in accesses], np.uint8),
        np.array(bucket_start, np.int32),
        np.array(bucket_bits, np.int32),
        np.concatenate(buckets),
        np.concatenate(keys),
        rest.start.astype(np.int32),
        rest.slot,
        rest.low,
        rest.high,
        coded.columns.slot_column,
        coded.columns.slot_mode,
    )
    return clusters, conjunctions


def _rest(coded: Coded, accesses: list[Access], conjunctions: Longs) -> Intervals:
    """Each member's intervals but for the ones its key stands for."""
    number = np.repeat(np.arange(len(accesses), dtype=np.int32), [len(access.conjunctions) for access in accesses])
    keyed = np.full((len(accesses), MOST_POINTS), -1, np.int32)
    for at, access in enumerate(accesses):
        if access.hashed:
            keyed[at, : len(access.columns)] = access.columns
    start = np.zeros(len(conjunctions) + 1, np.int64)
    room = int((coded.intervals.start[conjunctions + 1] - coded.intervals.start[conjunctions]).sum())
    rest = Intervals(start, *(np.empty(room, np.int32) for _ in range(3)))
    seen = np.full(coded.columns.count + 1, -1, np.int64)
    count = leave_rest(coded.intervals, slots_of(coded.columns), conjunctions, number, keyed, seen, rest)
    return Intervals(start, *(column[:count].copy() for column in rest[1:]))


# -- rows ---------------------------------------------------------------------------------------------------------


def _place_rows(coded: Coded, homes: Homes, filed: Longs) -> tuple[Places, Longs, Longs]:
    """Rows block by block, then cluster member by member; the text and the conjunction of each row, -1 for none."""
    lengths = np.diff(coded.owner_start)
    block_row = np.r_[0, np.cumsum([-(-len(run) // 64) * 64 for run in homes.single_blocks])].astype(np.int64)
    groups = _place_groups(homes.group_blocks, lengths, int(block_row[-1]))
    member_row = groups.end + np.r_[0, np.cumsum(lengths[filed])]
    total = int(member_row[-1])
    owner, conjunction = np.full(total, -1, np.int64), np.full(total, -1, np.int64)

    def put(conjunctions: Longs, first_row: Longs, step: Longs) -> None:
        """A conjunction's owners from its first row on, `step` rows apart."""
        sizes = lengths[conjunctions]
        nth = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = np.repeat(first_row, sizes) + nth * np.repeat(step, sizes)
        owner[rows] = coded.owners[np.repeat(coded.owner_start[conjunctions], sizes) + nth]
        conjunction[rows] = np.repeat(conjunctions, sizes)

    for run, row in zip(homes.single_blocks, block_row.tolist(), strict=False):
        owner[row : row + len(run)] = coded.owners[coded.owner_start[run]]
        conjunction[row : row + len(run)] = run
    put(groups.conjunctions, groups.first_row, groups.step)
    put(filed, member_row[:-1], np.ones(len(filed), np.int64))
    places = Places(
        len(homes.single_blocks),
        block_row[:-1].astype(np.int32),
        groups.layers.astype(np.int32),
        groups.at.astype(np.int32),
        groups.start.astype(np.int32),
        member_row.astype(np.int32),
        living_bits(owner),
        0,
    )
    return places, owner, conjunction


def living_bits(owner: Longs) -> npt.NDArray[np.uint64]:
    """A one for each row that has an owner, and a block's worth of zeros past the end."""
    bits = np.zeros(len(owner) // 64 + 1 + WORDS, np.uint64)
    packed = np.packbits(owner >= 0, bitorder="little")
    bits.view(np.uint8)[: len(packed)] = packed
    return bits


class _Groups(NamedTuple):
    """Rows of the conjunctions of several owners in blocks, as `Places` wants them; `step` apart from `first_row`."""

    conjunctions: Longs
    first_row: Longs
    step: Longs
    layers: Longs
    at: Longs
    start: Longs
    end: int


def _place_groups(blocks: list[Longs], lengths: Longs, row: int) -> _Groups:
    """Words in layers first, from `row` on; then the members of the others."""
    none = np.empty(0, np.int64)
    conjunctions = np.concatenate([none, *blocks])
    bit = np.concatenate([none, *(number * MEMBERS + np.arange(len(run)) for number, run in enumerate(blocks))])
    word = bit // 64
    sizes = lengths[conjunctions]
    layers, rows = np.zeros(len(blocks) * WORDS, np.int64), np.zeros(len(blocks) * WORDS, np.int64)
    np.maximum.at(layers, word, sizes)
    np.add.at(rows, word, sizes)
    layers[(layers > MOST_LAYERS) | (layers * 64 > rows * 1.25)] = 0
    at = row + 64 * (np.cumsum(layers) - layers)
    loose = layers[word] == 0
    start = row + 64 * int(layers.sum()) + np.r_[0, np.cumsum(sizes[loose])]
    first_row = at[word] + bit % 64
    first_row[loose] = start[:-1]
    step = np.where(loose, 1, 64)
    members = np.bincount(word[loose], minlength=len(layers))
    at = np.where(layers > 0, at, np.cumsum(members) - members)
    return _Groups(conjunctions, first_row, step, layers, at, start, int(start[-1]))
