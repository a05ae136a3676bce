"""What a worker does to build an index: compile a partition into segments, and mark what is gone from old ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tamis.errors import LanguageError, LimitError, OptionError
from tamis.language.door import SUSPECT, check_new
from tamis.model import Schema
from tamis.segments.compile.statistics import Statistics
from tamis.spark.columns import COLUMN, EXPRESSION, ID, REASON
from tamis.spark.versions.manifest import Entry, Manifest
from tamis.spark.versions.routing import KEY, bitmap
from tamis.spark.versions.storage import Root, fetch, writing
from tamis.spark.workers.segment_store import (
    Opened,
    Rejected,
    Summed,
    checksum_of,
    open_segment,
    read_summed,
    sum_of,
    write_segment,
)

__all__ = ["BUILT", "COPIES", "LISTED", "MARKED", "Build", "Mark", "ReadTexts", "WriteIds", "open_entries"]

COPIES = "copies"
MOST_ROWS = 1_000_000
"""Of one segment. A partition with more becomes several."""

MOST_NAMES = 4_096
"""Attributes that a manifest lists for one segment; where there are more, events are sent whole."""

_READ_ROWS = 50_000
"""Subscriptions per batch that are read back from a segment."""

BUILT = (
    "path string, subscriptions long, size long, checksum string, keys binary, rejected string, rejected_count long, "
    "attributes array<string>"
)
MARKED = "path string, removed string, removed_count long, removed_checksum string"
LISTED = "path string, checksum string"

_BUILT = pa.schema(
    [
        ("path", pa.string()),
        ("subscriptions", pa.int64()),
        ("size", pa.int64()),
        ("checksum", pa.string()),
        ("keys", pa.binary()),
        ("rejected", pa.string()),
        ("rejected_count", pa.int64()),
        ("attributes", pa.list_(pa.string())),
    ]
)
_MARKED = pa.schema(
    [
        ("path", pa.string()),
        ("removed", pa.string()),
        ("removed_count", pa.int64()),
        ("removed_checksum", pa.string()),
    ]
)


def _new_name(folder: str, suffix: str) -> str:
    return f"{folder}/{uuid4().hex}{suffix}"


@dataclass(frozen=True)
class Build:
    """Batches of (id, expression, key, copies) → a row per segment written. A task run again writes new names."""

    root: Root
    schema: Schema
    statistics: Statistics | None = None
    new: bool = True
    """Whether texts come from subscribers; those that an index had already keep their reading."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(map(len, waiting)) >= MOST_ROWS:
                yield self._segment(pa.Table.from_batches(waiting))
                waiting = []
        if waiting:
            yield self._segment(pa.Table.from_batches(waiting))

    def _segment(self, table: pa.Table) -> pa.RecordBatch:
        table = table.combine_chunks()
        rejected = [*_no_subscriptions(table)]
        if self.new:
            rejected += _refused(table, {one.row for one in rejected}, self.schema)
        kept = np.setdiff1d(np.arange(len(table)), [one.row for one in rejected])
        ids, texts = (table[name].combine_chunks().take(pa.array(kept)) for name in (ID, EXPRESSION))
        name = _new_name("segments", ".segment")
        with writing(self.root, name) as draft:
            written = write_segment(draft, ids, texts, self.schema, self.statistics)
            checksum, size = checksum_of(draft), draft.stat().st_size
        unread = written.rejected
        rejected += [Rejected(int(kept[one.row]), one.error) for one in unread]
        refused = self._write_rejected(table, rejected) if rejected else None
        known = bitmap(pc.unique(table[KEY]))
        named = written.attributes if len(written.attributes) <= MOST_NAMES else None
        row = (name, len(ids) - len(unread), size, checksum, known, refused, len(rejected), named)
        return pa.RecordBatch.from_pylist([dict(zip(_BUILT.names, row, strict=True))], _BUILT)

    def _write_rejected(self, table: pa.Table, rejected: list[Rejected]) -> str:
        rows = pa.array([one.row for one in rejected])
        errors = [one.error for one in rejected]
        columns = [error.column if isinstance(error, LanguageError) else None for error in errors]
        listed = pa.table(
            {
                ID: table[ID].take(rows).cast(pa.string()),
                EXPRESSION: table[EXPRESSION].take(rows),
                COLUMN: pa.array(columns, pa.int32()),
                REASON: pa.array(map(str, errors), pa.string()),
            }
        )
        name = _new_name("rejected", ".parquet")
        _put_parquet(self.root, name, listed)
        return name


def _refused(table: pa.Table, others: set[int], schema: Schema) -> Iterator[Rejected]:
    """Rows that say what only stored subscriptions may."""
    suspect = pc.match_substring_regex(table[EXPRESSION], SUSPECT.pattern, ignore_case=True)
    for row in np.flatnonzero(suspect.fill_null(False).to_numpy()).tolist():
        if row not in others:
            try:
                check_new(table[EXPRESSION][row].as_py(), schema)
            except (LanguageError, LimitError) as error:
                yield Rejected(row, error)


def _no_subscriptions(table: pa.Table) -> Iterator[Rejected]:
    """Rows without an id or an expression, or with an id that others have too: which one would count?"""
    for name in (ID, EXPRESSION):
        for row in np.flatnonzero(pc.is_null(table[name]).to_numpy()).tolist():
            if name == ID or table[ID][row].is_valid:
                yield Rejected(row, LanguageError(f"expected an {name}, found nothing", 1, ""))
    for row in np.flatnonzero(pc.is_valid(table[COPIES]).to_numpy()).tolist():
        if table[ID][row].is_valid and table[EXPRESSION][row].is_valid:
            yield Rejected(row, OptionError(f"the id stands {table[COPIES][row]} times; expected it once"))


def _put_parquet(root: Root, name: str, table: pa.Table) -> str:
    """Write a table; the sum over the file."""
    with writing(root, name) as draft:
        pq.write_table(table, draft, write_page_checksum=True)
        return sum_of(draft)


def open_entries(root: Root, manifest: Manifest, entries: Sequence[Entry]) -> list[Opened]:
    """Segments of a version; what must be fetched is fetched at once."""
    marked = [(one.removed, one.removed_checksum) for one in entries if one.removed is not None]
    paths = fetch(root, [*(one.path for one in entries), *(name for name, _ in marked)])
    removed = (Summed(path, str(checksum)) for path, (_, checksum) in zip(paths[len(entries) :], marked, strict=True))
    return [
        open_segment(path, one.checksum, manifest.schema, None if one.removed is None else next(removed))
        for one, path in zip(entries, paths, strict=False)
    ]


@dataclass(frozen=True)
class WriteIds:
    """Batches of (id) → the names of files that list them, with their sums."""

    root: Root

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = [batch for batch in batches if len(batch)]
        if found:
            name = _new_name("removed", ".parquet")
            checksum = _put_parquet(self.root, name, pa.Table.from_batches(found))
            yield pa.RecordBatch.from_pydict({"path": [name], "checksum": [checksum]})


@dataclass(frozen=True)
class Mark:
    """Numbers of a version's segments → which of their rows are gone: the id is in a list or in a new segment."""

    root: Root
    before: Manifest
    new: tuple[Entry, ...]
    lists: tuple[tuple[str, str], ...]
    """Files and their sums."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gone: pa.Array | None = None
        for batch in batches:
            for number in batch.column(0).to_pylist():
                gone = self._gone() if gone is None else gone
                marked = self._mark(self.before.segments[number], gone)
                if marked is not None:
                    yield pa.RecordBatch.from_pylist([dict(zip(_MARKED.names, marked, strict=True))], _MARKED)

    def _gone(self) -> pa.Array:
        paths = fetch(self.root, [name for name, _ in self.lists])
        files = [Summed(path, checksum) for path, (_, checksum) in zip(paths, self.lists, strict=True)]
        listed = [pq.read_table(pa.BufferReader(read_summed(one)))[ID].combine_chunks() for one in files]
        replaced = [one.ids(one.subscriptions()) for one in open_entries(self.root, self.before, self.new)]
        return pa.concat_arrays([*listed, *replaced])

    def _mark(self, entry: Entry, gone: pa.Array) -> tuple[str, str, int, str] | None:
        [segment] = open_entries(self.root, self.before, [entry])
        living = segment.subscriptions()
        rows = living[pc.is_in(segment.ids(living), gone).to_numpy(zero_copy_only=False)]
        if not len(rows):
            return None
        if entry.removed is not None:
            before = Summed(fetch(self.root, [entry.removed])[0], str(entry.removed_checksum))
            rows = np.concatenate([rows, before.rows()])
        name = _new_name("removed", ".npy")
        with writing(self.root, name) as draft:
            np.save(draft, rows.astype(np.int64))
            checksum = sum_of(draft)
        return entry.path, name, len(rows), checksum


@dataclass(frozen=True)
class ReadTexts:
    """Numbers of segments → their living subscriptions, (id, expression)."""

    root: Root
    manifest: Manifest

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            entries = [self.manifest.segments[number] for number in batch.column(0).to_pylist()]
            for segment in open_entries(self.root, self.manifest, entries):
                living = segment.subscriptions()
                for first in range(0, len(living), _READ_ROWS):
                    rows = living[first : first + _READ_ROWS]
                    yield pa.RecordBatch.from_arrays([segment.ids(rows), segment.texts(rows)], [ID, EXPRESSION])
