"""A segment: up to about a million subscriptions, compiled and never changed but for the marks of the dead.

Rows are in the order in which matching finds them. Each row has an id; the first row of a subscription also its
text and its number in the order of subscribing. Subscriptions that never match have rows at the end, which nothing
finds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import LanguageError, LimitError, SegmentError
from tamis.model import Schema, SubscriptionId
from tamis.model.caching import cached_property
from tamis.segments.compile.layout import Layout, build_layout, living_bits
from tamis.segments.compile.reading import read_texts
from tamis.segments.compile.statistics import Statistics
from tamis.segments.compile.tuning import DEFAULT, Tuning
from tamis.segments.ids import IdColumn, IdIndex

__all__ = ["Compiled", "Mark", "Segment", "compile_segment"]

Longs = npt.NDArray[np.int64]
Mark = tuple[npt.NDArray[np.uint64], int, np.uint64]
"""A bitmap of the living, a place in it, and the word that belongs there."""
_FEW = 8


@dataclass(frozen=True)
class Segment:
    """`dead` rows are skipped; the layout's bitmap of the living is replaced, never changed, when one dies."""

    layout: Layout
    ids: IdColumn
    texts: pa.Array
    sequence: Longs
    index: IdIndex
    never: int = 0
    dead: int = 0

    @property
    def rows(self) -> int:
        return len(self.sequence)

    def __len__(self) -> int:
        """Living subscriptions."""
        return len(self.index.rows) - self.dead

    def find(self, id: SubscriptionId) -> int:
        """The row of a living id, or -1."""
        row = self.index.find(id)
        return row if row >= 0 and int(self.layout.places.alive[row >> 6]) >> (row & 63) & 1 else -1

    def bury(self, rows: Longs) -> Segment:
        """The segment without these subscriptions (their first rows, all alive)."""
        places = self.layout.places._replace(alive=self.layout.places.alive.copy(), any_dead=1)
        alive = places.alive
        for row in rows.tolist() if len(rows) <= _FEW else ():
            alive[row >> 6] &= ~np.uint64(1 << (row & 63))
        if len(rows) > _FEW:
            np.bitwise_and.at(alive, rows >> 6, ~(np.uint64(1) << (rows & 63).astype(np.uint64)))
        return self._less(replace(self.layout, places=places), len(rows))

    def bury_listed(self, listed: npt.ArrayLike, path: str) -> Segment:
        """The segment without those that a file lists as dead, some of whom it may know to be; the file is `path`."""
        try:
            rows = np.array(listed, dtype=np.int64)
        except (OverflowError, TypeError, ValueError):
            rows = np.full(1, -1, np.int64)
        if rows.ndim != 1 or (len(rows) and not np.isin(rows, self.index.rows).all()):
            raise SegmentError("the list of those that died names others than the segment's subscriptions", path)
        fresh = np.unique(rows[self.lives(rows)])
        return self.bury(fresh) if len(fresh) else self

    def bury_in_place(self, row: int) -> tuple[Segment, Mark]:
        """The segment without one row, and the mark to set for it, if nobody else looks at the marks of this one.

        Both have the same marks: the new one is right once the mark is set, and until then this one is.
        """
        alive = self.layout.places.alive
        word = int(alive[row >> 6]) & ~(1 << (row & 63))
        return self._less(self.layout, 1), (alive, row >> 6, np.uint64(word))

    def _less(self, layout: Layout, died: int) -> Segment:
        return Segment(layout, self.ids, self.texts, self.sequence, self.index, self.never, self.dead + died)

    @cached_property
    def compares(self) -> npt.NDArray[np.bool_]:
        """First rows of subscriptions that have a linked row among their own."""
        found = self.layout.linked.copy()
        if self.layout.canon is not None:
            found[self.layout.canon[self.layout.linked]] = True
        return found

    def buried(self) -> Longs:
        """The first rows of the dead."""
        if not self.dead:
            return np.empty(0, np.int64)
        rows = self.index.rows.astype(np.int64)
        return np.sort(rows[~self.lives(rows)])

    def lives(self, rows: npt.NDArray[np.signedinteger[Any]]) -> npt.NDArray[np.bool_]:
        alive = self.layout.places.alive
        return (alive[rows >> 6] >> (rows & 63).astype(np.uint64)) & np.uint64(1) == 1

    @cached_property
    def living(self) -> Longs:
        """The first rows of the living, in the order of subscribing."""
        rows = np.sort(self.index.rows).astype(np.int64)
        rows = rows[self.lives(rows)]
        return rows[np.argsort(self.sequence[rows], kind="stable")]

    @property
    def never_living(self) -> int:
        """The living that never match; theirs are the last rows."""
        return int(self.lives(np.arange(self.rows - self.never, self.rows)).sum())

    def bytes_used(self) -> dict[str, int]:
        """The index, and the way back from ids, without ids and texts themselves."""
        layout = self.layout
        arrays = [*layout.blocks, *layout.clusters, *layout.places, layout.block_sizes, layout.canon, layout.linked]
        index = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
        index += sum(codes.nbytes for codes in layout.columns.attributes.values())
        ids = self.index.hashes.nbytes + self.index.rows.nbytes + self.sequence.nbytes
        return {"index_bytes": index, "id_bytes": ids}

    def check(self) -> None:
        """Verify the invariants of rows and ids; AssertionError names the one that broke."""
        layout = self.layout
        assert len(self.ids) == len(self.texts) == len(self.sequence) == len(layout.linked), "rows and columns differ"
        assert (np.diff(self.index.hashes.astype(np.float64)) >= 0).all(), "the id index is out of order"
        assert len(self.living) == len(self), "the count of the dead is wrong"
        assert (np.diff(self.sequence[self.living]) > 0).all(), "two subscriptions have one number"
        for row in self.living[:100].tolist():
            assert self.find(self.ids[row]) == row, f"row {row} does not lead back to itself"
        places = layout.places
        assert (np.diff(places.member_row) >= 0).all(), "cluster rows run backwards"
        assert (np.diff(layout.blocks.base_start) > 0).all(), "an entry has no base"
        assert (layout.blocks.base_code[layout.blocks.base_start[:-1]] == 0).all(), "a first base is not at code 0"
        buckets = layout.clusters.bucket
        assert len(buckets) == 0 or buckets.max() <= len(layout.clusters.key), "a bucket points past the members"


@dataclass(frozen=True)
class Compiled:
    """A segment, and the texts that are not in it because they do not parse."""

    segment: Segment
    rejected: list[tuple[int, LanguageError | LimitError]]
    never: Longs
    """Texts that contradict themselves."""


def compile_segment(
    ids: IdColumn, texts: pa.Array, schema: Schema, statistics: Statistics | None = None, first: int = 0,
    sequence: Longs | None = None, tuning: Tuning = DEFAULT,
) -> Compiled:  # fmt: skip
    """Compile distinct ids and their texts; their numbers in the order of subscribing start at `first`."""
    reading = read_texts(texts, schema)
    layout = build_layout(reading, schema, statistics, tuning)
    matching = np.zeros(len(ids), np.bool_)
    matching[reading.owners[~reading.dead]] = True
    matching[[row for row, _ in reading.rejected]] = True
    never = np.nonzero(~matching)[0]
    layout, owner = _with_the_rest(layout, len(ids), [row for row, _ in reading.rejected])
    canonical = _canonical(layout, owner)
    numbers = np.arange(first, first + len(ids), dtype=np.int64) if sequence is None else sequence
    column = ids.take(owner)
    rows = np.nonzero(canonical)[0]
    held = texts.cast(pa.large_string()).take(pa.array(owner, mask=~canonical))
    order = np.where(owner >= 0, numbers[np.maximum(owner, 0)], 0) if len(numbers) else owner
    segment = Segment(layout, column, held, order, IdIndex.build(column, rows), len(never))
    return Compiled(segment, reading.rejected, never)


def _with_the_rest(layout: Layout, count: int, rejected: list[int]) -> tuple[Layout, Longs]:
    """Rows past all others for those that nothing can find; the bitmap of the living covers them."""
    lost = np.ones(count, np.bool_)
    lost[layout.owner[layout.owner >= 0]] = False
    lost[rejected] = False
    owner = np.concatenate([layout.owner, np.nonzero(lost)[0]])
    linked = np.concatenate([layout.linked, np.zeros(int(lost.sum()), np.bool_)])
    canon = layout.canon
    if canon is not None:
        canon = np.concatenate([canon, np.arange(len(layout.owner), len(owner), dtype=np.int32)])
    places = layout.places._replace(alive=living_bits(owner))
    return replace(layout, places=places, owner=owner, linked=linked, canon=canon), owner


def _canonical(layout: Layout, owner: Longs) -> npt.NDArray[np.bool_]:
    if layout.canon is None:
        return owner >= 0
    return (owner >= 0) & (layout.canon == np.arange(len(owner)))
