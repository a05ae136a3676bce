"""Validate: which events keep the schema's rules R1-R3, and what is wrong with the others."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.pandas.functions import arrow_udf

from tamis.model import Schema
from tamis.model.names import Used
from tamis.spark.columns import ATTRIBUTE, REASON, RULE, UNREAD
from tamis.spark.steps.arguments import check_schema
from tamis.spark.steps.event_frames import as_events, readable
from tamis.spark.workers.judging import VERDICT, Judge

__all__ = ["is_rejected", "judge", "rejected_events", "split_judged", "validate"]

_REJECTION = "_rejection"


def validate(events: DataFrame, schema: Schema) -> tuple[DataFrame, DataFrame]:
    """Valid events, and rejected ones with `rule` ("R1", "R2", "R3" or null), `attribute` and `reason`.

    Both are lazy and read `events` anew: cache them first if they are dear. With an open schema only what is no event
    at all is rejected. A feed goes through `integrate` first if its columns are not the schema's.
    """
    return split_judged(judge(events, schema))


def judge(events: DataFrame, schema: Schema) -> DataFrame:
    """The events with what is wrong with each, in one column: the dear part, for whoever wants to keep it."""
    check_schema(schema)
    return _judged(as_events(events), schema)


def split_judged(judged: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Valid and rejected events, of events that were judged."""
    valid = judged.filter(F.col(_REJECTION).isNull()).drop(_REJECTION, UNREAD)
    return valid, _rejected(judged)


def is_rejected() -> Column:
    """Of events that were judged."""
    return F.col(_REJECTION).isNotNull()


def rejected_events(frame: DataFrame, schema: Schema, used: Used | None) -> DataFrame:
    """The rejected ones alone, of a frame of events, by what is used of them, where that is given."""
    return _rejected(_judged(frame, schema, used))


def _judged(frame: DataFrame, schema: Schema, used: Used | None = None) -> DataFrame:
    return frame.withColumn(_REJECTION, _judgement(frame, schema, used))


def _rejected(judged: DataFrame) -> DataFrame:
    return judged.filter(F.col(_REJECTION).isNotNull()).select("*", f"{_REJECTION}.*").drop(_REJECTION, UNREAD)


def _judgement(frame: DataFrame, schema: Schema, used: Used | None) -> Column:
    # Marked nondeterministic, so that the optimizer neither repeats it nor moves it: it is the dear part.
    judge = arrow_udf(Judge(schema, used).judge, VERDICT).asNondeterministic()  # type: ignore[call-overload]  # by type hints
    found: Column = judge(readable(frame, used))
    if UNREAD not in frame.columns:
        return found
    first = F.get(F.col(UNREAD), F.lit(0))
    unread = F.struct(F.lit("R2").alias(RULE), first[ATTRIBUTE].alias(ATTRIBUTE), first[REASON].alias(REASON))
    return F.coalesce(F.when(first.isNotNull(), unread), found)
