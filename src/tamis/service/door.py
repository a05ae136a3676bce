"""Events as they are sent → what the log keeps of them: those that are accepted, exactly as they were written.

JSON becomes lines, cut where the events are and otherwise untouched, so that an integer of any size comes out as it
came in. Arrow stays Arrow. Every event is held against the whole schema: what is accepted can be matched later,
whatever subscriptions ask for by then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa

from tamis.batches.arrow_rows import raws
from tamis.batches.asking import Raw, ask
from tamis.batches.edge import read_batch
from tamis.batches.json_bytes import JsonText, Reading, read_json
from tamis.batches.json_mistakes import Mistakes
from tamis.batches.json_slowly import read_slowly
from tamis.batches.plans import plan_for
from tamis.batches.refusals import Refusing
from tamis.errors import EventError, LimitError
from tamis.model import Schema
from tamis.model.names import Used
from tamis.service.answers import Rejected
from tamis.service.requests import Form, Publishing
from tamis.service.settings import Settings
from tamis.store.log import Record

__all__ = ["Body", "arrow_event", "body_bytes", "digest_of", "event_body", "read_line", "read_publishing", "table_of"]

_NOTHING = Used.of(())
_BY_KERNEL = 8
"""Events from which on a kernel is worth its start."""
_FIRST_MISTAKE = 16
_BREAKS = bytes.maketrans(b"\r\n", b"  ")


@dataclass(frozen=True)
class Body:
    """Accepted events: `content` has a line each, or is a table. `indexes` are their places in what was sent."""

    codec: str
    content: list[bytes] | pa.Table
    indexes: Sequence[int]
    rejected: tuple[Rejected, ...]
    version: int
    """The schema's."""
    bytes: int

    def __len__(self) -> int:
        return len(self.indexes)

    def checked_again(self, schema: Schema, version: int) -> Body:
        """The same events under another schema."""
        again = _checked(self.codec, self.content, schema, version)
        moved = tuple(_moved(one, self.indexes[one.index]) for one in again.rejected)
        indexes = [self.indexes[at] for at in again.indexes]
        rejected = tuple(sorted((*self.rejected, *moved), key=lambda one: one.index))
        return Body(again.codec, again.content, indexes, rejected, version, again.bytes)


def _moved(rejected: Rejected, index: int) -> Rejected:
    return Rejected(index, rejected.rule, rejected.attribute, rejected.detail)


def read_publishing(publishing: Publishing, schema: Schema, version: int, settings: Settings) -> Body:
    """The accepted and the rejected; `EventError` for what cannot be read, `LimitError` for too many of them."""
    if publishing.form == "arrow":
        table = table_of(publishing.events)
        _check_count(len(table), settings)
        return _checked("arrow", table, schema, version)
    if not isinstance(publishing.events, bytes):
        raise EventError("expected JSON as bytes")
    texts = _texts(publishing.events, publishing.form)
    _check_count(len(texts), settings)
    return _checked("json", texts, schema, version)


def _check_count(count: int, settings: Settings) -> None:
    if count > settings.most_events:
        message = f"expected at most {settings.most_events:,} events at once, found {count:,}"
        raise LimitError(message, settings.most_events, count)


def digest_of(publishing: Publishing) -> bytes:
    """What tells one publishing from another."""
    events = publishing.events if isinstance(publishing.events, bytes) else _stream(publishing.events)
    return hashlib.blake2b(publishing.form.encode() + b"\n" + events, digest_size=16).digest()


# -- JSON ---------------------------------------------------------------------------------------------------------


def _texts(data: bytes, form: Form) -> list[bytes]:
    """The text of each event, without breaks of lines."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if form == "jsonl":
        return [line for line in data.split(b"\n") if line.strip(b" \t\r")]
    found = data.strip(b" \t\r\n")
    if found.startswith(b"{"):
        return [found.translate(_BREAKS)]
    if not found.startswith(b"["):
        raise EventError("expected JSON: an object, or an array of them")
    text = JsonText.told(memoryview(data))
    reading = Reading(text, plan_for(Schema(open=True), _NOTHING))
    reading.read_array()
    for state, wrong in zip(reading.states.tolist(), reading.wrong.tolist(), strict=True):
        if state >= _FIRST_MISTAKE:
            raise EventError(str(Mistakes(text.data, is_array=True).said(state, wrong)))
    spans = zip(reading.starts.tolist(), reading.stops.tolist(), strict=True)
    return [data[start:stop].translate(_BREAKS) for start, stop in spans]


def _checked(codec: str, content: list[bytes] | pa.Table, schema: Schema, version: int) -> Body:
    refusing = Refusing("collect")
    if isinstance(content, pa.Table):
        read_batch(content, schema, refusing, strange=True)
    else:
        _check_lines(content, schema, refusing)
    gone = set(refusing.rows.tolist())
    kept = [row for row in range(len(content)) if row not in gone]
    if gone:
        content = content.take(kept) if isinstance(content, pa.Table) else [content[row] for row in kept]
    rejected = tuple(Rejected(one.row, one.rule, one.attribute, one.reason) for one in refusing.errors)
    size = content.nbytes if isinstance(content, pa.Table) else sum(map(len, content)) + len(content)
    return Body(codec, content, kept, rejected, version, size)


def _check_lines(lines: list[bytes], schema: Schema, refusing: Refusing) -> None:
    text = b"\n".join(lines)
    if not schema.open and (len(lines) >= _BY_KERNEL or text.lstrip()[:1] == b"["):
        read_json(JsonText(memoryview(text)), schema, refusing, used=_NOTHING)
        return
    for _ in ask(enumerate(map(read_line, lines)), schema, refusing):
        pass


def read_line(line: bytes) -> Raw:
    """One event's text; a list is no event, whatever it holds."""
    whole = b"[%s]" % line if line.lstrip()[:1] == b"[" else line
    return next(raw for _, raw in read_slowly(memoryview(whole)))


# -- Arrow --------------------------------------------------------------------------------------------------------


def table_of(events: bytes | pa.Table) -> pa.Table:
    if isinstance(events, pa.Table):
        return events
    try:
        return pa.ipc.open_stream(events).read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise EventError(f"expected a stream of Arrow: {error}") from None


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def body_bytes(content: list[bytes] | pa.Table) -> bytes:
    """As the log keeps it."""
    return _stream(content) if isinstance(content, pa.Table) else b"\n".join(content)


def event_body(record: Record, position: int) -> bytes:
    """Of a record of several events, one alone."""
    at = position - record.first
    return _stream(table_of(record.body).slice(at, 1)) if record.codec == "arrow" else record.body.split(b"\n")[at]


def arrow_event(table: pa.Table, row: int) -> bytes:
    """A row as JSON: what is missing is left out, an instant is a text."""
    (raw,) = raws(table.slice(row, 1))
    if isinstance(raw, EventError):
        raise raw
    found = {name: value for name, value in raw.items() if value is not None}
    return json.dumps(found, ensure_ascii=False, default=_plain, separators=(",", ":")).encode()


def _plain(value: object) -> object:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, np.generic):
        return value.item()
    return str(value)
