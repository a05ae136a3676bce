"""What an events DataFrame is.

It has a column `event_id` (made, if missing) and a column `event`: a struct, a JSON string or a VARIANT. Without a
column `event`, all other columns together are the event. Arrays are multi-valued attributes, nested structs and maps
have dotted names, null means missing.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.types import StringType, StructType, VariantType

from tamis.errors import OptionError
from tamis.spark.columns import EVENT, EVENT_ID, PUBLISHER, UNREAD, VARIANT, VARIANT_JSON
from tamis.spark.steps.arguments import check_frame

__all__ = ["as_events", "check_batch", "readable"]


def as_events(frame: DataFrame) -> DataFrame:
    """Give rows their columns `event_id` and `event`, of what they have instead."""
    check_frame(frame, "events")
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
    """The event as a worker can read it. A VARIANT becomes JSON in the JVM, where that is quick.

    There NaN and what is too large for a double, `1e400`, are written in quotes, as if they were text. So where those
    words come, the VARIANT goes with its JSON, for the worker to see which they are (`event_reading`).
    """
    event = F.col(EVENT)
    if not isinstance(frame.schema[EVENT].dataType, VariantType):
        return event
    text = F.to_json(event)
    doubtful = text.contains('NaN"') | text.contains('Infinity"')
    return F.struct(text.alias(VARIANT_JSON), F.when(doubtful, event).alias(VARIANT))
