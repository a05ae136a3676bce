"""What an events DataFrame is.

It has a column `event_id` (made, if missing) and a column `event`: a struct, a JSON string or a VARIANT. Without a
column `event`, all other columns together are the event. Arrays are multi-valued attributes, nested structs and maps
have dotted names, null means missing.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.types import ArrayType, AtomicType, StringType, StructField, StructType, VariantType

from tamis.errors import OptionError
from tamis.model import Schema
from tamis.model.names import Used
from tamis.model.values import show_raw
from tamis.spark.columns import (
    EVENT,
    EVENT_ID,
    MATCH_COUNT,
    PUBLISHER,
    SUBSCRIPTION_ID,
    SUBSCRIPTION_IDS,
    UNREAD,
    VARIANT,
    VARIANT_JSON,
    VERSION,
)
from tamis.spark.steps.arguments import check_frame

__all__ = ["Kept", "as_events", "check_batch", "quoted", "readable"]

_ANSWER = (SUBSCRIPTION_ID, SUBSCRIPTION_IDS, MATCH_COUNT, VERSION)


class Kept(NamedTuple):
    """Columns that stand beside an event: those to be kept, and the one that has its id. They are attributes as well
    only if the schema knows them."""

    keep: tuple[str, ...]
    event_id: str | None
    schema: Schema

    def packed(self, name: str) -> bool:
        """Whether the column belongs to the event."""
        beside = name == self.event_id or name in self.keep
        return not beside or self.schema.open or self.schema.domain(name) is not None


def as_events(frame: DataFrame, kept: Kept | None = None) -> DataFrame:
    """Give rows their columns `event_id` and `event`, of what they have instead."""
    check_frame(frame, "events")
    if kept is not None:
        frame = _with_id(frame, kept)
    if EVENT not in frame.columns:
        beside = [name for name in (EVENT_ID, PUBLISHER, UNREAD) if name in frame.columns]
        packed = [name for name in frame.columns if name not in beside and (kept is None or kept.packed(name))]
        if not packed:
            raise OptionError(f"expected a column {EVENT!r}, or a column per attribute, found {_listed(frame)}")
        beside += [name for name in (kept.keep if kept is not None else ()) if name not in beside]
        frame = frame.select(*map(quoted, beside), F.struct(*map(quoted, packed)).alias(EVENT))
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


def _with_id(frame: DataFrame, kept: Kept) -> DataFrame:
    """The frame with its ids under their name; `OptionError` if a column that is named is not there."""
    asked = [*(("keep", name) for name in kept.keep), *([("event_id", kept.event_id)] if kept.event_id else [])]
    for what, name in asked:
        if not isinstance(name, str) or name not in frame.columns:
            raise OptionError(f"{what}: expected one of the columns {_listed(frame)}, found {show_raw(name)}")
    if wrong := [name for name in kept.keep if name in (EVENT_ID, EVENT, *_ANSWER)]:
        raise OptionError(f"keep: expected columns that the answer has not itself, found {wrong[0]!r}")
    if kept.event_id is None or kept.event_id == EVENT_ID:
        return frame
    return frame.withColumn(EVENT_ID, F.col(quoted(kept.event_id)))


def quoted(name: str) -> str:
    """A column's name as Spark reads any."""
    return f"`{name.replace('`', '``')}`"


def check_batch(frame: DataFrame, step: str) -> None:
    """For steps that look at all rows before they answer."""
    if frame.isStreaming:
        raise OptionError(f"{step}: expected a batch, found a stream; call it in foreachBatch")


def _listed(frame: DataFrame) -> str:
    return ", ".join(frame.columns) or "none"


def readable(frame: DataFrame, used: Used | None = None) -> Column:
    """The event as a worker can read it: of a struct what is `used`, where that is given; the rest is not sent.

    A VARIANT becomes JSON in the JVM, where that is quick.

    There NaN and what is too large for a double, `1e400`, are written in quotes, as if they were text. So where those
    words come, the VARIANT goes with its JSON, for the worker to see which they are (`event_reading`).
    """
    event, kind = F.col(EVENT), frame.schema[EVENT].dataType
    if isinstance(kind, StructType):
        return event if used is None else _only_used(event, kind, used)
    if not isinstance(kind, VariantType):
        return event
    text = F.to_json(event)
    doubtful = text.contains('NaN"') | text.contains('Infinity"')
    return F.struct(text.alias(VARIANT_JSON), F.when(doubtful, event).alias(VARIANT))


def _only_used(struct: Column, kind: StructType, used: Used, prefix: str = "") -> Column:
    """A struct of the fields that are named, or within which one is; null where it is null."""
    if len({field.name.lower() for field in kind}) < len(kind):  # Spark may not be able to tell them apart
        return struct
    fields = [_field(struct[field.name], field, used, prefix) for field in kind if _is_used(field, used, prefix)]
    fields = fields or [F.lit(None).cast("void").alias("_")]
    return F.when(struct.isNotNull(), F.struct(*fields))


def _is_used(field: StructField, used: Used, prefix: str) -> bool:
    name = prefix + field.name
    return name in used.names or (name in used.inside and not isinstance(field.dataType, AtomicType))


def _field(column: Column, field: StructField, used: Used, prefix: str) -> Column:
    name, kind = prefix + field.name, field.dataType
    if isinstance(kind, StructType) and name not in used.names:
        column = _only_used(column, kind, used, f"{name}.")
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, StructType):
        record = kind.elementType
        column = F.transform(column, lambda one: _only_used(one, record, used, f"{name}."))
    return column.alias(field.name)
