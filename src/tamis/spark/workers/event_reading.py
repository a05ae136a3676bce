"""How a worker reads a column of events: structs, or JSON text; all else is the edge's (`tamis.batches`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tamis.batches import edge
from tamis.batches.arrow_rows import raws
from tamis.batches.asking import Raw, Refusal
from tamis.batches.batch import Batch
from tamis.batches.json_lines import read_text
from tamis.errors import EventError
from tamis.model import Schema
from tamis.spark.columns import EVENT_ID

__all__ = ["raw_events", "read_batch", "source_of"]


def read_batch(events: pa.Array, event_ids: pa.Array, schema: Schema, *, validated: bool = False) -> Batch:
    """Events as the engine wants them; `EventError` names the one that is refused."""

    def refuse(row: int, error: Refusal) -> None:
        advice = "match was told that it is validated" if validated else "let validate sort out such events first"
        raise EventError(f"event {event_ids[row]}: {error}; {advice}") from None

    return edge.read_batch(source_of(events), schema, refuse, validated=validated)


def source_of(events: pa.Array) -> edge.Events:
    """The column as the edge takes it."""
    if not pa.types.is_struct(events.type):
        return map(_from_json, events)
    kind = _in_utc(events.type)
    return events if kind == events.type else events.cast(kind)


def raw_events(events: pa.Array) -> Iterator[Raw]:
    """The events of a column as mappings, not checked."""
    source = source_of(events)
    return raws(source) if isinstance(source, pa.StructArray) else iter(source)


def _in_utc(kind: pa.DataType) -> pa.DataType:
    """A type with its instants in UTC: in the session's zone the first and the last hours of time do not exist."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_list(kind):
        return pa.list_(_in_utc(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _in_utc(field.type)) for field in kind])
    return kind


def _from_json(text: Any) -> Raw:
    try:
        raw = read_text(text.as_py())
    except UnicodeDecodeError as error:
        return EventError(f"expected JSON in UTF-8: {error}")
    if isinstance(raw, dict):
        raw.pop(EVENT_ID, None)  # its name, not one of its attributes
    return raw
