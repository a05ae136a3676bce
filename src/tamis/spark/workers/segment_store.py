"""A segment as the pipeline sees it: written once by one task, opened by many. No one else compiles or asks one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch, batch_of_arrow, batch_of_columns, batch_of_events
from tamis.errors import EventError, LimitError, SegmentError, TamisError
from tamis.model import Event, Schema
from tamis.segments.collection import Collection
from tamis.segments.compile.statistics import Statistics
from tamis.segments.ids import IdColumn
from tamis.segments.keep import segment_file as segments
from tamis.segments.keep.segment_file import save_segment
from tamis.segments.segment import Segment, compile_segment
from tamis.spark.steps.event_frames import raw_events
from tamis.spark.workers.checks import leaves

__all__ = ["Opened", "Rejected", "checksum_of", "open_segment", "read_batch", "write_segment"]

Longs = npt.NDArray[np.int64]
Rows = npt.NDArray[np.integer]


class Rejected(NamedTuple):
    """A row that is no subscription."""

    row: int
    error: TamisError


def write_segment(
    path: Path, ids: pa.Array, texts: pa.Array, schema: Schema, statistics: Statistics | None
) -> list[Rejected]:
    """Compile distinct ids and write the segment; rows that cannot be read are left out and told."""
    compiled = compile_segment(_id_column(ids), texts, schema, statistics)
    save_segment(compiled.segment, path, schema)
    return [Rejected(row, error) for row, error in compiled.rejected]


def _id_column(ids: pa.Array) -> IdColumn:
    return IdColumn(ids if pa.types.is_integer(ids.type) else ids.cast(pa.large_string()))


class Opened:
    """An open segment without the subscriptions that were removed since it was written."""

    def __init__(self, segment: Segment, schema: Schema) -> None:
        self._segment = segment
        self._collection = Collection(schema)
        self._collection.adopt(segment)
        self._string = pa.types.is_large_string(segment.ids.array.type)

    def ids(self, rows: Rows) -> pa.Array:
        """The subscription ids of some rows."""
        found = self._segment.ids.array.take(pa.array(rows))
        return found.cast(pa.string()) if self._string else found

    def texts(self, rows: Rows) -> pa.Array:
        """The expressions of some rows of `subscriptions`."""
        return self._segment.texts.take(pa.array(rows)).cast(pa.string())

    def subscriptions(self) -> Longs:
        """One row for each living subscription."""
        return self._segment.living

    def match(self, batch: Batch) -> tuple[Longs, Rows]:
        """Compressed sparse rows: offsets per event, and rows for `ids`."""
        answer = self._collection.match_batch(batch)
        return answer.offsets, answer.rows

    def count(self, batch: Batch) -> Longs:
        """The number of matches of each event."""
        return self._collection.count_batch(batch)


_OPEN: dict[tuple[str, str | None], Opened] = {}
"""What this process has open. Names of files never come twice, so the names are all the key that is needed."""

_MOST_OPEN = 256


def open_segment(path: Path, checksum: str, schema: Schema, removed: Path | None = None) -> Opened:
    """The segment with that checksum, opened once per process; the one unused for longest makes room for a new one."""
    key = (str(path), None if removed is None else str(removed))
    found = _OPEN.pop(key, None)
    if found is None:
        if checksum_of(path) != checksum:
            raise SegmentError("expected the file that was committed, found another one", str(path))
        segment = segments.open_segment(path, schema)
        found = Opened(segment if removed is None else segment.bury(np.load(removed)), schema)
    _OPEN[key] = found
    if len(_OPEN) > _MOST_OPEN:
        del _OPEN[next(iter(_OPEN))]
    return found


def checksum_of(path: Path) -> str:
    """The two sums that a segment file begins with: they tell it from all others, and opening it verifies them."""
    try:
        with path.open("rb") as file:
            return file.read(32)[16:].hex()
    except OSError as error:
        raise SegmentError(f"cannot be read: {error.strerror}", str(path)) from None


def read_batch(events: pa.Array, event_ids: pa.Array, schema: Schema) -> Batch:
    """Events as the engine wants them; `EventError` names the one that is refused."""
    if pa.types.is_struct(events.type) and not any(pa.types.is_map(column.type) for _, column in leaves(events)):
        table = pa.Table.from_arrays(events.flatten(), [field.name for field in events.type])
        if schema.open or not schema.event_types:
            return batch_of_arrow(table, schema)
        found = batch_of_columns(table, schema)
        if found is not None and found.size == len(events) and not events.null_count:
            return found
    return batch_of_events(list(_read_each(events, event_ids, schema)), schema)


def _read_each(events: pa.Array, event_ids: pa.Array, schema: Schema) -> Iterator[Event]:
    for row, raw in enumerate(raw_events(events)):
        try:
            if isinstance(raw, EventError):
                raise raw
            yield schema.event(raw)
        except (EventError, LimitError) as error:
            raise EventError(f"event {event_ids[row]}: {error}; let validate sort out such events first") from None
