"""Validate: which events keep the schema's rules R1-R3, and what is wrong with the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.pandas.functions import arrow_udf

from tamis.errors import EventError, LimitError
from tamis.model import Schema
from tamis.spark.columns import ATTRIBUTE, REASON, RULE, UNREAD
from tamis.spark.steps.event_frames import Raw, as_events, raw_events, readable
from tamis.spark.workers.checks import certain

__all__ = ["validate"]

_REJECTION = "_rejection"
_DDL = f"{RULE} string, {ATTRIBUTE} string, {REASON} string"
_ARROW = pa.struct([(RULE, pa.string()), (ATTRIBUTE, pa.string()), (REASON, pa.string())])


def validate(events: DataFrame, schema: Schema) -> tuple[DataFrame, DataFrame]:
    """Valid events, and rejected ones with `rule` ("R1", "R2", "R3" or null), `attribute` and `reason`.

    Both are lazy and read `events` anew: cache them first if they are dear. With an open schema only what is no event
    at all is rejected. A feed goes through `integrate` first if its columns are not the schema's.
    """
    frame = as_events(events)
    judged = frame.withColumn(_REJECTION, _judgement(frame, schema))
    valid = judged.filter(F.col(_REJECTION).isNull()).drop(_REJECTION, UNREAD)
    rejected = judged.filter(F.col(_REJECTION).isNotNull()).select("*", f"{_REJECTION}.*").drop(_REJECTION, UNREAD)
    return valid, rejected


def _judgement(frame: DataFrame, schema: Schema) -> Column:
    # Marked nondeterministic, so that the optimizer neither repeats it nor moves it: it is the dear part.
    judge = arrow_udf(_Judge(schema).judge, _DDL).asNondeterministic()  # type: ignore[call-overload]  # by type hints
    found: Column = judge(readable(frame))
    if UNREAD not in frame.columns:
        return found
    first = F.get(F.col(UNREAD), F.lit(0))
    unread = F.struct(F.lit("R2").alias(RULE), first[ATTRIBUTE].alias(ATTRIBUTE), first[REASON].alias(REASON))
    return F.coalesce(F.when(first.isNotNull(), unread), found)


@dataclass(frozen=True)
class _Judge:
    """Sent to the workers; the class is known to them by name, so the schema is all that travels."""

    schema: Schema

    def judge(self, events: pa.Array) -> pa.Array:
        """Per event null, or the rule it breaks."""
        if pa.types.is_struct(events.type):
            doubtful = np.flatnonzero(~certain(self.schema, events))
        else:
            doubtful = np.arange(len(events))
        verdicts: list[tuple[str | None, str | None, str] | None] = [None] * len(events)
        for row, raw in zip(doubtful.tolist(), raw_events(events.take(pa.array(doubtful))), strict=True):
            verdicts[row] = self._verdict(raw)
        return pa.array([one and dict(zip(_ARROW.names, one, strict=True)) for one in verdicts], _ARROW)

    def _verdict(self, raw: Raw) -> tuple[str | None, str | None, str] | None:
        try:
            if isinstance(raw, EventError):
                raise raw
            self.schema.event(raw)
        except EventError as error:
            return error.rule, error.attribute, str(error).removeprefix(f"{error.rule}: ")
        except LimitError as error:
            return None, None, str(error)
        return None
