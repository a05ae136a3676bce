"""A segment as the pipeline sees it: written once by one task, opened by many. No one else compiles or asks one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch
from tamis.errors import SegmentError, TamisError
from tamis.matchers.base import Rows
from tamis.matches import Codes
from tamis.model import Schema
from tamis.segments.collection import Collection
from tamis.segments.compile.statistics import Statistics
from tamis.segments.ids import IdColumn
from tamis.segments.keep import segment_file as segments
from tamis.segments.keep.segment_file import save_segment
from tamis.segments.segment import Segment, compile_segment
from tamis.segments.subscriptions import Subscriptions

__all__ = ["Opened", "Rejected", "checksum_of", "open_segment", "write_segment"]

Longs = npt.NDArray[np.int64]


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
        subscriptions = Subscriptions(schema)
        subscriptions.adopt(segment)
        self._collection = Collection(subscriptions)
        self._string = pa.types.is_large_string(segment.ids.array.type)

    def ids(self, rows: Codes) -> pa.Array:
        """The subscription ids of some rows."""
        found = self._segment.ids.array.take(pa.array(rows))
        return found.cast(pa.string()) if self._string else found

    def texts(self, rows: Codes) -> pa.Array:
        """The expressions of some rows of `subscriptions`."""
        return self._segment.texts.take(pa.array(rows)).cast(pa.string())

    def subscriptions(self) -> Longs:
        """One row for each living subscription."""
        return self._segment.living

    def match(self, batch: Batch) -> Rows[pa.Array]:
        """The subscription ids that each event satisfies."""
        found = self._collection.match_many(batch)
        return Rows(found.offsets, self.ids(found.codes))

    def count(self, batch: Batch) -> Longs:
        """The number of matches of each event."""
        return self._collection.count_many(batch)


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
