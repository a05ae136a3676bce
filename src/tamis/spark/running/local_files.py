"""Files in this process: Parquet, JSON lines and CSV as Arrow, read as `data_files` has Spark read them."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds

from tamis.errors import OptionError
from tamis.model import Boolean, Integer, Number, Schema
from tamis.spark.columns import ATTRIBUTE, EVENT, EVENT_ID, PUBLISHER, REASON, UNREAD
from tamis.spark.running.data_files import CSV_TYPES, file_format
from tamis.spark.versions.storage import local_path

__all__ = ["events_in", "local_bytes", "subscriptions_in"]

_AT_ONCE = 8192
_UNREAD = pa.list_(pa.struct([(ATTRIBUTE, pa.string()), (REASON, pa.string())]))
_PACKED = 8
"""How much larger than its file the content of a compressed one may well be."""


def _files(path: str) -> list[Path]:
    """The file, or those of a folder that Spark would read."""
    place = Path(str(local_path(path)))
    if not place.is_dir():
        return [place]
    return sorted(one for one in place.iterdir() if not one.name.startswith(("_", ".")))


def local_bytes(path: str) -> int | None:
    """About how much text there is to read; None if it is not all in plain sight: elsewhere, or in folders within."""
    if local_path(path) is None or any(one.is_dir() for one in _files(path)):
        return None
    return sum(one.stat().st_size * (_PACKED if one.suffix in (".gz", ".parquet") else 1) for one in _files(path))


def subscriptions_in(path: str) -> pa.Table:
    """`id` and `expression`, with whatever other columns there are."""
    found = file_format(path)
    with _named():
        if found == "csv":
            return pa.concat_tables(map(_csv, _files(path)), promote_options="default")
        if found == "parquet":
            return ds.dataset([str(one) for one in _files(path)], format="parquet").to_table()
    rows = [_row(line) for file in _files(path) for line in _lines(file)]
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _column(path, name, [row.get(name) for row in rows]) for name in names})


def _row(line: bytes) -> dict[str, Any]:
    """What is no JSON object is a row without an id, which is rejected as such; Spark reads it so, too."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _column(path: str, name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        raise OptionError(f"{path}: column {name!r}: expected values of one type, found several") from None


def events_in(path: str, schema: Schema) -> Iterator[pa.RecordBatch]:
    """Batches of `event_id` and `event`; of CSV also `publisher`, of which there is none, and `unread`."""
    read: dict[str, Callable[[list[Path], Schema], Iterable[pa.RecordBatch]]] = {
        "json": _json_events, "csv": _csv_events, "parquet": _parquet_events,
    }  # fmt: skip
    with _named():
        yield from read[file_format(path)](_files(path), schema)


# -- JSON lines ---------------------------------------------------------------------------------------------------


def _lines(file: Path) -> Iterator[bytes]:
    """What is not blank."""
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rb") as text:
            for part in text:
                yield from (line for line in part.splitlines() if line.strip(b" "))
    except (OSError, EOFError, zlib.error) as error:
        raise OptionError(f"{file}: cannot be read: {error}") from None


def _json_events(files: list[Path], _: Schema) -> Iterator[pa.RecordBatch]:
    lines = (line for file in files for line in _lines(file))
    while some := list(islice(lines, _AT_ONCE)):
        texts = pa.array(some, pa.binary())
        texts = pa.Array.from_buffers(pa.string(), len(some), texts.buffers())  # what is no UTF-8 is told later
        yield _batch(pa.array(map(_event_id, some), pa.string()), texts)


def _event_id(line: bytes) -> str:
    """The id that stands in the text, or a new one."""
    if b"event_id" in line or b"\\u" in line:
        try:
            found = json.loads(line, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            found = None
        id = found.get(EVENT_ID) if isinstance(found, dict) else None
        if id is not None:
            return id if isinstance(id, str) else json.dumps(id, separators=(",", ":"))
    return str(uuid4())


def _batch(ids: pa.Array, events: pa.Array, **others: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({EVENT_ID: ids, **others, EVENT: events})


# -- Parquet ------------------------------------------------------------------------------------------------------


def _parquet_events(files: list[Path], _: Schema) -> Iterator[pa.RecordBatch]:
    for batch in ds.dataset([str(one) for one in files], format="parquet").to_batches(batch_size=_AT_ONCE):
        yield as_events(batch)


def as_events(batch: pa.RecordBatch) -> pa.RecordBatch:
    """As `event_frames` has it: a column `event`, or all columns together."""
    names = batch.schema.names
    ids = batch.column(EVENT_ID) if EVENT_ID in names else pa.array([str(uuid4()) for _ in range(len(batch))])
    if EVENT in names:
        kind = batch.schema.field(EVENT).type
        if not pa.types.is_struct(kind) and not pa.types.is_string(kind) and not pa.types.is_large_string(kind):
            shown = {pa.int64(): "bigint"}.get(kind, kind)
            raise OptionError(
                f"column {EVENT!r}: expected a struct, JSON text or a VARIANT, found {shown}; "
                "without a column of that name, all columns together are the event"
            )
        return _batch(ids, batch.column(EVENT))
    packed = [name for name in names if name not in (EVENT_ID, PUBLISHER, UNREAD)]
    if not packed:
        raise OptionError(f"expected a column {EVENT!r}, or a column per attribute, found {', '.join(names) or 'none'}")
    return _batch(ids, pa.StructArray.from_arrays([batch.column(name) for name in packed], packed))


# -- CSV ----------------------------------------------------------------------------------------------------------


def _csv(file: Path) -> pa.Table:
    """Text in every column; a cell without anything, not even quotes, is missing."""
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    with pa.csv.open_csv(file, parse_options=parse) as opened:
        names = opened.schema.names
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return pa.csv.read_csv(file, parse_options=parse, convert_options=convert)


def _csv_events(files: list[Path], schema: Schema) -> Iterator[pa.RecordBatch]:
    for file in files:
        for batch in _csv(file).combine_chunks().to_batches(_AT_ONCE):
            yield _typed(batch, schema)


def _typed(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    size = len(batch)
    ids = batch.column(EVENT_ID) if EVENT_ID in batch.schema.names else pa.array([str(uuid4()) for _ in range(size)])
    unread: list[list[dict[str, str]]] = [[] for _ in range(size)]
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name == EVENT_ID:
            continue
        domain = schema.domain(name)
        columns[name] = _cast(name, column, domain, unread) if type(domain) in _CASTS else column
    events = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    publisher = pa.nulls(size, pa.string())
    return pa.RecordBatch.from_pydict(
        {EVENT_ID: ids, PUBLISHER: publisher, EVENT: events, UNREAD: pa.array(unread, _UNREAD)}
    )


def _cast(name: str, column: pa.Array, domain: object, unread: list[list[dict[str, str]]]) -> pa.Array:
    cast, kind = _CASTS[type(domain)]
    found = [None if text is None else cast(text) for text in column.to_pylist()]
    for row in pc.indices_nonzero(column.is_valid()).to_pylist():
        if found[row] is None:
            wanted = f"a value of type {CSV_TYPES[type(domain)]}"
            said = f"expected {wanted} in the column {name!r}, found '{column[row].as_py()[:60]}'"
            unread[row].append({ATTRIBUTE: name, REASON: f"attribute {name!r}: {said}"})
    return pa.array(found, kind)


_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?((([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)|nan|inf|infinity)", re.IGNORECASE)
_TRUTHS = dict.fromkeys(("t", "true", "y", "yes", "1"), True) | dict.fromkeys(("f", "false", "n", "no", "0"), False)


def _whole(text: str) -> int | None:
    found = int(text) if len(text) < 64 and _WHOLE.fullmatch(text.strip()) else None
    return found if found is not None and -(2**63) <= found < 2**63 else None


def _real(text: str) -> float | None:
    return float(text) if _REAL.fullmatch(text.strip()) else None


def _truth(text: str) -> bool | None:
    return _TRUTHS.get(text.strip().lower())


_CASTS: dict[type, tuple[Callable[[str], Any], pa.DataType]] = {
    Integer: (_whole, pa.int64()), Number: (_real, pa.float64()), Boolean: (_truth, pa.bool_()),
}  # fmt: skip


class _named:  # noqa: N801  # used as a verb
    """Arrow's errors about a file as one sentence."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, pa.ArrowException | OSError):
            raise OptionError(" ".join(str(error).split())) from None
