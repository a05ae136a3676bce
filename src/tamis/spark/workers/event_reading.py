"""How a worker reads a column of events: structs, JSON text or a VARIANT; all else is the edge's (`tamis.batches`)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import VariantVal

from tamis.batches import edge
from tamis.batches.arrow_rows import raws
from tamis.batches.asking import Raw, Refusal, Refuse
from tamis.batches.batch import Batch
from tamis.batches.json_column import JsonColumn, read_json_column
from tamis.batches.json_lines import read_text
from tamis.errors import EventError
from tamis.model import Schema
from tamis.model.names import Used
from tamis.spark.columns import EVENT_ID, VARIANT, VARIANT_JSON

__all__ = ["Checking", "find_refused", "is_variant", "raw_events", "read_batch"]


class Read(NamedTuple):
    """The accepted events, and their rows among all; None if all were accepted."""

    batch: Batch
    rows: npt.NDArray[np.int64] | None


@dataclass(frozen=True)
class Checking:
    """What is asked of events before they are matched: whether they are known to be valid, what becomes of those that
    are refused, and what of an event is used, if that is known."""

    validated: bool = False
    skip: bool = False
    used: Used | None = None

    def of(self, schema: Schema) -> Used | None:
        """What is read of an event: with a closed schema all of it, unless it has been checked."""
        return self.used if schema.open or self.validated else None


_CHECKED = Checking()


def read_batch(events: pa.Array, event_ids: pa.Array, schema: Schema, checking: Checking = _CHECKED) -> Read:
    """Events as the engine wants them. Unless those that are refused are skipped, an `EventError` names one."""
    refused: list[int] = []

    def refuse(row: int, error: Refusal) -> None:
        if not checking.skip:
            told = "match was told that it is validated"
            advice = told if checking.validated else "say on_error='skip' to go on without it"
            raise EventError(f"event {_name(event_ids[row])}: {error}; {advice}") from None
        refused.append(row)

    batch = _read(events, schema, refuse, checking.of(schema), validated=checking.validated)
    return Read(batch, np.setdiff1d(np.arange(len(events)), refused) if refused else None)


def _read(events: pa.Array, schema: Schema, refuse: Refuse, used: Used | None, *, validated: bool) -> Batch:
    if schema.open and used is None:  # whoever asks for all of an event that may have anything wants it as a mapping
        return edge.read_batch(source_of(events), schema, refuse, validated=validated)
    texts = _texts(events)
    if texts is not None:
        return read_json_column(texts, schema, refuse, used=used, validated=validated)
    return edge.read_batch(source_of(events), schema, refuse, validated=validated, used=used)


def find_refused(events: pa.Array, schema: Schema, refuse: Refuse, used: Used | None = None) -> None:
    """Have the events judged, all of them or what is used of them."""
    if is_columnar(events.type) and used is None:
        edge.find_refused(source_of(events), schema, refuse)
    else:
        _read(events, schema, refuse, used, validated=False)


def _name(id: Any) -> object:
    """The event's id, which may have columns of the caller's beside it."""
    found = id.as_py()
    return found[EVENT_ID] if isinstance(found, dict) else found


def source_of(events: pa.Array) -> pa.StructArray | Iterator[Raw]:
    """The column as the edge takes it."""
    if is_variant(events.type):
        return map(_from_variant, *(events.field(name) for name in _VARIANT))
    if not is_columnar(events.type):
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


def is_columnar(kind: pa.DataType) -> bool:
    """Are the events structs, rather than JSON of some kind?"""
    return pa.types.is_struct(kind) and not is_variant(kind)


def _texts(events: pa.Array) -> JsonColumn | None:
    """The events as JSON, if they are no structs. What a VARIANT means where its JSON misleads is left out."""
    if is_columnar(events.type):
        return None
    if not is_variant(events.type):
        return JsonColumn(events, lambda row: _from_json(events[row]), EVENT_ID)
    texts, variants = (events.field(name) for name in _VARIANT)
    plain = pc.if_else(variants.is_null(), texts, pa.scalar(None, texts.type))
    return JsonColumn(plain, lambda row: _from_variant(texts[row], variants[row]), EVENT_ID)


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
