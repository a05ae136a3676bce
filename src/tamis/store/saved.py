"""One file that holds a whole engine: schema, algorithm, and every subscription with its text.

    8 bytes   "TAMIS" and the format's version
    8 bytes   xxh3 of what follows
    the rest  an Arrow IPC stream: columns `id` and `expression`, the schema and the algorithm as metadata

Written to a temporary name beside the target, synced, renamed: a reader sees the old file or the new one, whole.
A truncated, altered, foreign or newer file is a `SegmentError` that names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import xxhash

from tamis.batches.arrow_checks import check_arrow
from tamis.errors import EventError, LimitError, SchemaError, SegmentError
from tamis.model import Schema, SubscriptionId
from tamis.store.atomic import PRIVATE, why, write_atomically

__all__ = ["Saved", "read_saved", "write_saved"]

_MAGIC = b"TAMIS\0\0"
_VERSION = 1
_HEADER_BYTES = 16


@dataclass(frozen=True)
class Saved:
    """What is needed to build the same engine again; subscriptions in the order of subscribing."""

    schema: Schema
    algorithm: str
    subscriptions: list[tuple[SubscriptionId, str]]


def write_saved(path: Path, saved: Saved, mode: int = PRIVATE) -> None:
    """Write atomically; on any failure the old file stays and nothing half-written is left."""
    body = _encode(saved)
    header = _MAGIC + bytes([_VERSION]) + xxhash.xxh3_64_digest(body)
    write_atomically(path, [header, body], mode)


def _encode(saved: Saved) -> memoryview:
    ids = [id for id, _ in saved.subscriptions]
    table = pa.table(
        {
            "name": pa.array([id if isinstance(id, str) else None for id in ids], pa.string()),
            "number": pa.array([str(id) if isinstance(id, int) else None for id in ids], pa.string()),
            "expression": pa.array([text for _, text in saved.subscriptions], pa.large_string()),
        }
    ).replace_schema_metadata({"schema": saved.schema.dumps(), "algorithm": saved.algorithm})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def read_saved(path: Path) -> Saved:
    """The saved in a file, or `SegmentError`."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise SegmentError(f"expected a saved engine: {why(error)}", str(path)) from None
    body = _checked_body(content, str(path))
    try:
        table = pa.ipc.open_stream(body).read_all()
        check_arrow(table)  # the sum tells accidents, not intent
        metadata = {key.decode(): text.decode() for key, text in (table.schema.metadata or {}).items()}
        schema = Schema.loads(metadata["schema"])
        return Saved(schema, metadata["algorithm"], list(_pairs(table)))
    except (pa.ArrowException, EventError, KeyError, LimitError, OSError, SchemaError, TypeError, ValueError) as error:
        raise SegmentError(f"expected a saved engine, found one that cannot be read: {error}", str(path)) from None


def _checked_body(content: bytes, path: str) -> memoryview:
    if len(content) < _HEADER_BYTES or not content.startswith(_MAGIC):
        raise SegmentError("expected a saved engine, found another kind of file", path)
    version = content[len(_MAGIC)]
    if version != _VERSION:
        raise SegmentError(f"expected format {_VERSION}, found {version}; a newer Tamis may have written it", path)
    body = memoryview(content)[_HEADER_BYTES:]
    if xxhash.xxh3_64_digest(body) != content[8:_HEADER_BYTES]:
        raise SegmentError("the checksum does not fit the content: the file is damaged or cut short", path)
    return body


def _pairs(table: pa.Table) -> Iterable[tuple[SubscriptionId, str]]:
    columns = (table.column(name).to_pylist() for name in ("name", "number", "expression"))
    for name, number, expression in zip(*columns, strict=True):
        yield (name if name is not None else int(number)), expression
