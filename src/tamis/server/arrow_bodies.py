"""Arrow, in and out: streams of record batches as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from tamis.batches.arrow_checks import check_arrow
from tamis.batches.arrow_rows import raws
from tamis.errors import EventError
from tamis.server.problems import BadBody
from tamis.service import NewSubscription, Subscription

__all__ = ["ARROW_TABLE", "event_of", "exported", "matches_stream", "new_from_arrow", "read_table"]

ARROW_TABLE: Final[dict[str, Any]] = {"type": "string", "format": "binary"}
_EXPORT = pa.schema(
    [("id", pa.string()), ("expression", pa.string()), ("feed", pa.string()), ("expires", pa.timestamp("us", "UTC"))]
)


def read_table(body: bytes) -> pa.Table:
    """The table of a stream, checked before it is read: it comes from whomever."""
    try:
        with pa.ipc.open_stream(body) as reader:
            table = reader.read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadBody(f"expected a stream of Arrow record batches: {error}") from None
    check_arrow(table)
    return table


def event_of(body: bytes) -> dict[str, object]:
    """The one event of a table."""
    table = read_table(body)
    if len(table) != 1:
        raise BadBody(f"expected a table of one event, found {len(table):,}")
    (found,) = raws(table)
    if isinstance(found, EventError):
        raise found
    return dict(found)


def new_from_arrow(body: bytes) -> list[NewSubscription]:
    """Columns `id` and `expression`, and if they are there `feed` and `expires`."""
    table = read_table(body)
    if unknown := set(table.column_names) - set(_EXPORT.names):
        raise BadBody(f"expected columns {', '.join(_EXPORT.names)}, found {sorted(unknown)[0]!r}")
    if missing := {"id", "expression"} - set(table.column_names):
        raise BadBody(f"expected a column {sorted(missing)[0]!r}")
    try:
        columns = {name: table[name].cast(_EXPORT.field(name).type).to_pylist() for name in table.column_names}
    except pa.ArrowException as error:
        raise BadBody(f"expected texts, and moments in expires: {error}") from None
    nothing: list[Any] = [None] * len(table)
    rows = zip(*(columns.get(name, nothing) for name in _EXPORT.names), strict=True)
    return [_new(row, *one) for row, one in enumerate(rows)]


def _new(
    row: int, id: str | None, expression: str | None, feed: str | None, expires: datetime | None
) -> NewSubscription:
    if not id or expression is None:
        raise BadBody(f"row {row}: expected an id and an expression")
    return NewSubscription(id, expression, feed or None, expires)


def exported(pieces: Iterable[list[Subscription]]) -> Iterator[bytes]:
    """Subscriptions as a stream, a piece at a time."""
    sink = _Sink()
    with pa.ipc.new_stream(sink, _EXPORT) as writer:
        for piece in pieces:
            columns = ([getattr(one, name) for one in piece] for name in _EXPORT.names)
            writer.write_batch(pa.record_batch([*map(pa.array, columns, _EXPORT.types)], schema=_EXPORT))
            yield sink.taken()
    yield sink.taken()


def matches_stream(matches: Sequence[Sequence[str]], position: int, rejected: bytes) -> bytes:
    """Columns `event` (row) and `subscription`; the position, the number of events and the rejected in the metadata."""
    events = [row for row, ids in enumerate(matches) for _ in ids]
    told = {"position": str(position), "events": str(len(matches)), "rejected": rejected}
    schema = pa.schema([("event", pa.int64()), ("subscription", pa.string())], told)
    columns = [pa.array(events, pa.int64()), pa.array([id for ids in matches for id in ids], pa.string())]
    sink = _Sink()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(columns, schema=schema))
    return sink.taken()


class _Sink:
    """A file that is taken away as it is written."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        return len(self._pieces[-1])

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def taken(self) -> bytes:
        whole, self._pieces = b"".join(self._pieces), []
        return whole
