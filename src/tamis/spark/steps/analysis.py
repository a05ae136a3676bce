"""Analyze: how often do events have which attribute, with which value? `index` chooses access predicates by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.batches.arrow_columns import leaves, may_hold_records
from tamis.errors import EventError, LimitError
from tamis.model import Kind, Value, value_of
from tamis.model.given import Given
from tamis.model.values import ValueRefused
from tamis.segments.compile.statistics import AttributeStatistics, Statistics
from tamis.spark.columns import ATTRIBUTE, EVENT
from tamis.spark.running.failures import told
from tamis.spark.steps.arguments import check_frame
from tamis.spark.steps.event_frames import as_events, check_batch, readable
from tamis.spark.workers.event_reading import is_variant, raw_events

__all__ = ["analyze"]

_KEPT = 1000
"""Most frequent values kept per attribute, as in `segments.statistics`."""

_PRESENT, _EVENTS = -1, -2
"""Kinds of rows that count no value but an attribute's presence, and events."""

_DDL = f"{ATTRIBUTE} string, kind int, value string, seen long"
_ARROW = pa.schema([(ATTRIBUTE, pa.string()), ("kind", pa.int32()), ("value", pa.string()), ("seen", pa.int64())])

_Counts = Counter[tuple[str, int, str]]


def analyze(events: DataFrame) -> Statistics:
    """Statistics of the events, to be given to `index`. A sample will do: `ts.analyze(events.sample(0.01))`.

    Each attribute keeps its share of events, the number of its values and the shares of the thousand most frequent.
    """
    check_frame(events, "events")
    check_batch(events, "analyze")
    frame = as_events(events)
    counted = frame.select(readable(frame).alias(EVENT)).mapInArrow(_count_batches, _DDL)
    summed = counted.groupBy(ATTRIBUTE, "kind", "value").agg(F.sum("seen").alias("seen"))
    by_attribute = Window.partitionBy(ATTRIBUTE)
    values = F.count_if(F.col("kind") >= 0).over(by_attribute).alias("distinct")
    place = F.row_number().over(by_attribute.orderBy(F.col("kind") >= 0, F.desc("seen"), "value")).alias("place")
    with told():
        rows = summed.select("*", values, place).filter(F.col("place") <= _KEPT + 1).collect()
    return _statistics([row.asDict() for row in rows])


def _statistics(rows: list[dict[str, Any]]) -> Statistics:
    total = next((row["seen"] for row in rows if row["kind"] == _EVENTS), 0)
    present = {row[ATTRIBUTE]: row for row in rows if row["kind"] == _PRESENT}
    frequent: dict[str, dict[Value, float]] = {name: {} for name in present}
    for row in rows:
        if row["kind"] >= 0:
            frequent[row[ATTRIBUTE]][_value(Kind(row["kind"]), row["value"])] = row["seen"] / total
    return Statistics(
        total,
        {
            name: AttributeStatistics(row["seen"] / total, row["distinct"], frequent[name])
            for name, row in present.items()
        },
    )


def _value(kind: Kind, text: str) -> Value:
    if kind is Kind.STRING:
        return Value(kind, text)
    return Value(kind, float(text) if kind is Kind.NUMBER and not text.lstrip("-").isdigit() else int(text))


# -- in a worker ------------------------------------------------------------------------------------------------


def _count_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Counts of each batch; Spark adds them up."""
    for batch in batches:
        events = batch.column(0)
        counts: _Counts = Counter({("", _EVENTS, ""): len(events)})
        if pa.types.is_struct(events.type) and not is_variant(events.type) and not _has_others(events):
            for name, column in leaves(events):
                _count_column(counts, name, column)
        else:
            for raw in raw_events(events):
                if not isinstance(raw, EventError):
                    _count_event(counts, raw)
        rows = [(*key, seen) for key, seen in counts.items()]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _ARROW, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=_ARROW)


def _has_others(events: pa.StructArray) -> bool:
    """Whether there are maps or records: their names are found row by row."""
    return any(pa.types.is_map(column.type) or may_hold_records(column.type) for _, column in leaves(events))


def _count_column(counts: _Counts, name: str, column: pa.Array) -> None:
    if pa.types.is_list(column.type):
        lengths = pc.list_value_length(column)
        present = pc.sum(pc.greater(lengths, 0)).as_py() or 0
        column = column.flatten()
    else:
        present = len(column) - column.null_count
    counts[name, _PRESENT, ""] += present
    for found in column.drop_null().value_counts().to_pylist():
        _count(counts, name, found["values"], found["counts"])


def _count_event(counts: _Counts, raw: Mapping[str, object]) -> None:
    try:
        given = Given(raw)
    except (EventError, LimitError):  # no event, so nothing to learn from
        return
    for name in given.lists:
        counts[name, _PRESENT, ""] += 1
    for name, values in given.values.items():
        counts[name, _PRESENT, ""] += 1
        for one in values:
            _count(counts, name, one, 1)


def _count(counts: _Counts, name: str, raw: object, times: int) -> None:
    try:
        value = value_of(raw)
    except ValueRefused:
        return
    whole = isinstance(value.data, float) and value.data.is_integer()
    data = int(value.data) if whole or value.kind is Kind.BOOLEAN else value.data
    counts[name, int(value.kind), str(data)] += times
