"""What an events DataFrame is, and how a worker reads one.

It has a column `event_id` (made, if missing) and a column `event`: a struct, a JSON string or a VARIANT. Without a
column `event`, all other columns together are the event. Arrays are multi-valued attributes, nested structs and maps
have dotted names, null means missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.types import StringType, StructType, VariantType

from tamis.errors import EventError, OptionError
from tamis.model import parse_json
from tamis.spark.columns import EVENT, EVENT_ID, PUBLISHER, UNREAD

__all__ = ["Raw", "as_events", "check_batch", "raw_events", "readable"]

Raw: TypeAlias = Mapping[str, object] | EventError
"""An event as it came, or why it cannot be read at all."""


def as_events(frame: DataFrame) -> DataFrame:
    """Give rows their columns `event_id` and `event`, of what they have instead."""
    if EVENT not in frame.columns:
        kept = [name for name in (EVENT_ID, PUBLISHER, UNREAD) if name in frame.columns]
        packed = [f"`{name.replace('`', '``')}`" for name in frame.columns if name not in kept]
        if not packed:
            raise OptionError(f"expected a column {EVENT!r}, or a column per attribute, found {_listed(frame)}")
        frame = frame.select(*kept, F.struct(*packed).alias(EVENT))
    kind = frame.schema[EVENT].dataType
    if not isinstance(kind, StructType | StringType | VariantType):
        raise OptionError(
            f"column {EVENT!r}: expected a struct, JSON text or a VARIANT, found {kind.simpleString()}; "
            "without a column of that name, all columns together are the event"
        )
    if EVENT_ID not in frame.columns:
        # Seeded per query and, in a stream, per micro-batch: a task that is run again makes the same ids.
        frame = frame.withColumn(EVENT_ID, F.uuid())
    return frame


def check_batch(frame: DataFrame, step: str) -> None:
    """For steps that look at all rows before they answer."""
    if frame.isStreaming:
        raise OptionError(f"{step}: expected a batch, found a stream; call it in foreachBatch")


def _listed(frame: DataFrame) -> str:
    return ", ".join(frame.columns) or "none"


def readable(frame: DataFrame) -> Column:
    """The event as a worker can read it: a VARIANT becomes JSON in the JVM, where that is quick."""
    event = F.col(EVENT)
    return F.to_json(event) if isinstance(frame.schema[EVENT].dataType, VariantType) else event


def raw_events(events: pa.Array) -> Iterator[Raw]:
    """The events of an Arrow column, in the worker: mappings for `Schema.event`."""
    if not pa.types.is_struct(events.type):
        return (_from_json(text) for text in events)
    events = events.cast(_in_utc(events.type))
    try:
        return iter([_found(row) for row in events.to_pylist(maps_as_pydicts="strict")])
    except (pa.ArrowException, KeyError, OverflowError, ValueError):  # a year 40,000, a key that comes twice
        return (_from_struct(row) for row in events)


def _in_utc(kind: pa.DataType) -> pa.DataType:
    """A type's instants in UTC: in the session's zone the first and the last hours of time do not exist."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_list(kind):
        return pa.list_(_in_utc(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _in_utc(field.type)) for field in kind])
    return kind


def _found(row: dict[str, object] | None) -> Raw:
    return EventError("expected an event, found nothing") if row is None else row


def _from_struct(row: Any) -> Raw:
    try:
        return _found(row.as_py(maps_as_pydicts="strict"))
    except (pa.ArrowException, KeyError, OverflowError, ValueError) as error:
        return EventError(f"the event holds a value that Python cannot: {error}")


def _from_json(text: Any) -> Raw:
    try:
        raw = parse_json(text.as_py()) if text.is_valid else None
    except (EventError, UnicodeDecodeError) as error:
        return error if isinstance(error, EventError) else EventError(f"expected JSON in UTF-8: {error}")
    if raw is not None:
        raw.pop(EVENT_ID, None)  # its name, not one of its attributes
    return _found(raw)
