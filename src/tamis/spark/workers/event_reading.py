"""How a worker reads a column of events: structs, JSON text or a VARIANT; all else is the edge's (`tamis.batches`)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import VariantVal

from tamis.batches import edge
from tamis.batches.arrow_rows import raws
from tamis.batches.asking import Raw, Refusal
from tamis.batches.batch import Batch
from tamis.batches.json_lines import read_text
from tamis.errors import EventError
from tamis.model import Schema
from tamis.spark.columns import EVENT_ID, VARIANT, VARIANT_JSON

__all__ = ["is_variant", "raw_events", "read_batch", "source_of"]


class Read(NamedTuple):
    """The accepted events, and their rows among all; None if all were accepted."""

    batch: Batch
    rows: npt.NDArray[np.int64] | None


def read_batch(
    events: pa.Array, event_ids: pa.Array, schema: Schema, *, validated: bool = False, skip: bool = False
) -> Read:
    """Events as the engine wants them. Without `skip` an `EventError` names the one that is refused."""
    refused: list[int] = []

    def refuse(row: int, error: Refusal) -> None:
        if not skip:
            advice = "match was told that it is validated" if validated else "say on_error='skip' to go on without it"
            raise EventError(f"event {_name(event_ids[row])}: {error}; {advice}") from None
        refused.append(row)

    batch = edge.read_batch(source_of(events), schema, refuse, validated=validated)
    return Read(batch, np.setdiff1d(np.arange(len(events)), refused) if refused else None)


def _name(id: Any) -> object:
    """The event's id, which may have columns of the caller's beside it."""
    found = id.as_py()
    return found[EVENT_ID] if isinstance(found, dict) else found


def source_of(events: pa.Array) -> pa.StructArray | Iterator[Raw]:
    """The column as the edge takes it."""
    if is_variant(events.type):
        return map(_from_variant, *(events.field(name) for name in _VARIANT))
    if not pa.types.is_struct(events.type):
        return map(_from_json, events)
    kind = _in_utc(events.type)
    return events if kind == events.type else events.cast(kind)


def raw_events(events: pa.Array) -> Iterator[Raw]:
    """The events of a column as mappings, not checked."""
    source = source_of(events)
    return raws(source) if isinstance(source, pa.StructArray) else source


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


# -- a VARIANT ----------------------------------------------------------------------------------------------------

_VARIANT = (VARIANT_JSON, VARIANT)
_IN_QUOTES = re.compile(r'(?<!\\)"(NaN|-?Infinity)"(?!:)')


def is_variant(kind: pa.DataType) -> bool:
    """Is it a VARIANT with its JSON, as `readable` sends it?"""
    return pa.types.is_struct(kind) and tuple(field.name for field in kind) == _VARIANT


def _from_variant(text: Any, variant: Any) -> Raw:
    """The JSON is the whole truth but for numbers that are none, which Spark puts in quotes: without the quotes the
    edge knows them and refuses them, as it does in JSON text."""
    if variant.is_valid:
        with suppress(RecursionError):  # far too deep for an event, as the edge will say
            if _holds_no_number(VariantVal(*variant.as_py().values()).toPython()):
                text = pa.scalar(_IN_QUOTES.sub(r"\1", text.as_py()))
    return _from_json(text)


def _holds_no_number(found: object) -> bool:
    """Is it NaN or infinite, or is anything within?"""
    if isinstance(found, dict | list):
        return any(map(_holds_no_number, found.values() if isinstance(found, dict) else found))
    return isinstance(found, float) and not math.isfinite(found)
