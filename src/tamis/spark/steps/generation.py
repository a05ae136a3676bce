"""Generate: a workload's rows on Spark, the same whatever the number of partitions.

A row depends on its number and the seed alone (`workloads.blocks`), so a task needs to know no more than which block.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tamis.spark.columns import EVENT, EVENT_ID
from tamis.spark.steps.arguments import check_count, check_type
from tamis.workloads.slices import BLOCK_ROWS, Workload

__all__ = ["generate_events", "generate_subscriptions"]


def generate_subscriptions(spark: SparkSession, workload: Workload, count: int, seed: int = 1) -> DataFrame:
    """`count` rows with `id` and `expression`."""
    return _generate(spark, count, partial(_subscriptions, workload, count, seed))


def generate_events(spark: SparkSession, workload: Workload, count: int, seed: int = 1) -> DataFrame:
    """`count` rows with `event_id`, a number, and `event`, a struct."""
    return _generate(spark, count, partial(_events, workload, count, seed))


def _generate(spark: SparkSession, count: int, draw: partial[pa.Table]) -> DataFrame:
    check_type(spark, SparkSession, "spark")
    check_type(draw.args[0], Workload, "workload")
    check_count(count, "count")
    blocks = spark.range(-(-count // BLOCK_ROWS))
    ddl = from_arrow_schema(draw(block=0).schema)
    return blocks.mapInArrow(partial(_draw_blocks, draw), ddl)


def _draw_blocks(draw: partial[pa.Table], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for block in batch.column(0).to_pylist():
            yield from draw(block=block).to_batches()


def _subscriptions(workload: Workload, count: int, seed: int, block: int) -> pa.Table:
    start = block * BLOCK_ROWS
    return workload.subscriptions(min(count, start + BLOCK_ROWS), seed, start=start)


def _events(workload: Workload, count: int, seed: int, block: int) -> pa.Table:
    start = block * BLOCK_ROWS
    drawn = workload.events(min(count, start + BLOCK_ROWS), seed, start=start)
    events = drawn.to_struct_array().combine_chunks()
    return pa.table({EVENT_ID: np.arange(start, start + len(drawn), dtype=np.int64), EVENT: events})
