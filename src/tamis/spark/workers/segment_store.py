"""A segment as the pipeline sees it: written once by one task, opened by many. No one else compiles or asks one."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

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
from tamis.segments.used import names_in
from tamis.store.atomic import read_file, refuse_link, why

__all__ = [
    "Opened",
    "Rejected",
    "Summed",
    "Written",
    "checksum_of",
    "open_segment",
    "opened_so_far",
    "read_summed",
    "sum_of",
    "write_segment",
]

Longs = npt.NDArray[np.int64]


class Rejected(NamedTuple):
    """A row that is no subscription."""

    row: int
    error: TamisError


class Written(NamedTuple):
    """What there is to be told of a new segment."""

    rejected: list[Rejected]
    attributes: list[str]
    """Those that its subscriptions name."""


def write_segment(path: Path, ids: pa.Array, texts: pa.Array, schema: Schema, statistics: Statistics | None) -> Written:
    """Compile distinct ids and write the segment; rows that cannot be read are left out and told."""
    compiled = compile_segment(_id_column(ids), texts, schema, statistics)
    save_segment(compiled.segment, path, schema)
    rejected = [Rejected(row, error) for row, error in compiled.rejected]
    return Written(rejected, sorted(names_in(compiled.segment.layout.columns)))


def _id_column(ids: pa.Array) -> IdColumn:
    return IdColumn(ids if pa.types.is_integer(ids.type) else ids.cast(pa.large_string()))


class Summed(NamedTuple):
    """A file and the sum over all of it; as a segment has sums of its own, this is for the files beside it."""

    path: Path
    checksum: str

    def rows(self) -> Longs:
        """The rows of a segment that it lists."""
        content = read_summed(self)
        rows = np.frombuffer(content[_HEAD_BYTES:] if len(content) % 8 == 0 else b"", np.int64)
        if content != _saved(rows):  # numpy's own reader trusts what the head says of shape and type
            raise SegmentError("expected a list of rows, found something else", str(self.path))
        return rows


def _saved(rows: Longs) -> bytes:
    """As `np.save` writes a list of rows."""
    sink = io.BytesIO()
    np.save(sink, rows)
    return sink.getvalue()


_HEAD_BYTES = len(_saved(np.empty(0, np.int64)))


def read_summed(file: Summed) -> bytes:
    """The content, if it is what was written."""
    content = _read(file.path)
    if _sum(content) != file.checksum:
        raise SegmentError("the checksum does not fit: the file is damaged", str(file.path))
    return content


def sum_of(path: Path) -> str:
    """The sum over all of a file."""
    return _sum(_read(path))


def _sum(content: bytes) -> str:
    return xxhash.xxh3_64_hexdigest(content)


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise SegmentError(f"cannot be read: {why(error)}", str(path)) from None


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
        found = self._collection.match_many(lambda _: batch)
        return Rows(found.offsets, self.ids(found.codes))

    def count(self, batch: Batch) -> Longs:
        """The number of matches of each event."""
        return self._collection.count_many(lambda _: batch)


_OPEN: dict[tuple[str, str | None], Opened] = {}
"""What this process has open. Names of files never come twice, so the names are all the key that is needed."""

_MOST_OPEN = 256

_opened = 0


def opened_so_far() -> int:
    """How many segments this process has opened."""
    return _opened


def open_segment(path: Path, checksum: str, schema: Schema, removed: Summed | None = None) -> Opened:
    """The segment with that checksum, opened once per process; the one unused for longest makes room for a new one."""
    key = (str(path), None if removed is None else str(removed.path))
    global _opened
    found = _OPEN.pop(key, None)
    if found is None:
        _opened += 1
        refuse_link(path)
        if checksum_of(path) != checksum:
            raise SegmentError("expected the file that was committed, found another one", str(path))
        segment = segments.open_segment(path, schema)
        found = Opened(segment if removed is None else segment.bury_listed(removed.rows(), str(removed.path)), schema)
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
