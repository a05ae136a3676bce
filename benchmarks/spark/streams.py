"""A stream against the batch job, against an empty batch with the engine in this process, and against plain Spark."""

from __future__ import annotations

import os
import statistics
import time
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.baselines import QUERIES, predicates
from tamis import Engine
from tamis import spark as ts
from tamis.workloads.catalogue import find_workload

__all__ = ["compare_streams"]

_BATCH = 10_000
_BATCHES = 5
_GROUPING_EVENTS = 30
_FILTERS = 8


def compare_streams(spark: SparkSession, folder: Path, scale: float) -> None:
    workload, count, size = find_workload("lesub"), int(100_000 * scale), int(_BATCH * scale)
    path = str(folder / "index")
    texts = workload.subscriptions(count)
    ts.index(ts.generate_subscriptions(spark, workload, count), workload.schema(), path)
    table = workload.events(size * _BATCHES)
    table = table.append_column("event_id", pa.array(range(len(table))))
    files = [table.slice(at * size, size) for at in range(_BATCHES)]
    _throughput(spark, folder, path, files)
    _one_more(spark, folder, path, (workload, texts, files))
    _baselines(spark, folder, texts, table)


def put(folder: Path, number: int, rows: pa.Table) -> None:
    """Another file of a stream, by renaming."""
    folder.mkdir(exist_ok=True)
    draft = folder / f".{number}"
    pq.write_table(rows, draft)
    os.utime(draft, (1.7e9 + number, 1.7e9 + number))
    draft.rename(folder / f"{number:05}.parquet")


def _run(
    spark: SparkSession, folder: Path, path: str, name: str, tally: ts.Tally | None = None
) -> list[ts.BatchReport]:
    schema = find_workload("lesub").schema()
    events = ts.event_files(spark, folder / name, schema, max_files=1)
    places = ts.Outputs(folder / f"{name} out")
    stream = ts.stream(events, path, folder / f"{name} checkpoint", places, once=True, tally=tally)
    stream.wait()
    return list(stream.reports)


def _throughput(spark: SparkSession, folder: Path, path: str, files: list[pa.Table]) -> None:
    """Per batch, against the batch job over the same rows as many at a time, both to Parquet, each after a warm-up."""
    for number, rows in enumerate(files):
        put(folder / "steady", number, rows)
    reports = _run(spark, folder, path, "steady")
    rates = [one.events_per_second for one in reports[1:]]
    batch = []
    for number, rows in enumerate(files):
        pq.write_table(rows, folder / f"{number}.parquet")
        start = time.perf_counter()
        valid, _ = ts.validate(spark.read.parquet(str(folder / f"{number}.parquet")), find_workload("lesub").schema())
        ts.match(valid, path, validated=True).write.parquet(str(folder / f"batch {number}"))
        batch.append(len(rows) / (time.perf_counter() - start))
    whole = spark.read.parquet(str(folder / "steady"))
    start = time.perf_counter()
    valid, _ = ts.validate(whole, find_workload("lesub").schema())
    ts.match(valid, path, validated=True).write.parquet(str(folder / "batch whole"))
    at_once = sum(map(len, files)) / (time.perf_counter() - start)
    steady, apart = statistics.median(rates), statistics.median(batch[1:])
    print(f"  stream, {reports[0].events:,} events per batch   {_spread(rates)} events/s")
    print(f"  batch job, as many at a time   {_spread(batch[1:])} events/s; all at once {at_once:,.0f}")
    print(f"  the stream reaches {steady / apart:.0%} of jobs of that size, {steady / at_once:.0%} of one job for all")


def _spread(rates: list[float]) -> str:
    return f"{statistics.median(rates):,.0f} ({min(rates):,.0f}..{max(rates):,.0f})"


def _one_more(spark: SparkSession, folder: Path, path: str, given: tuple[object, pa.Table, list[pa.Table]]) -> None:
    """A further batch with an unchanged index, an empty one, the engine alone; and the openings that were counted."""
    workload, texts, files = given
    tally, seconds = ts.Tally(spark), {"full": [], "empty": []}  # type: dict[str, list[float]]
    for number in range(6):
        put(folder / "more", number, files[0] if number % 2 == 0 else files[0].slice(0, 0))
    opened = []
    reports = _run(spark, folder, path, "more", tally)
    for one in reports[2:]:
        seconds["full" if one.events else "empty"].append(one.seconds)
    before = tally.opened
    put(folder / "more", 6, files[0])
    _run(spark, folder, path, "more", tally)
    opened.append(tally.opened - before)
    changed = ts.update(path, spark.createDataFrame([(10**9, "n0 >= 1")], "id bigint, expression string"))
    assert changed.rejected == 0, "the new version has nothing new"
    before = tally.opened
    for number in (7, 8):
        put(folder / "more", number, files[0])
    _run(spark, folder, path, "more", tally)
    opened.append(tally.opened - before)
    engine = Engine(workload.schema())  # type: ignore[attr-defined]
    engine.subscribe_many(texts)
    rows = files[0].drop_columns(["event_id"])
    alone = [_timed(partial(engine.match_many, rows)) for _ in range(4)][1:]
    full, empty, here = (statistics.median(times) for times in (seconds["full"], seconds["empty"], alone))
    beside = f"an empty one {empty:.2f} s, in this process {here:.2f} s"
    print(f"  one more batch of {len(files[0]):,}: {full:.2f} s; {beside}: {full / (empty + here):.2f} × their sum")
    workers = spark.sparkContext.defaultParallelism
    print(
        f"  segments opened: {opened[0]} with the index unchanged, {opened[1]} by {workers} workers for a new version"
    )


def _timed(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def _baselines(spark: SparkSession, folder: Path, texts: pa.Table, table: pa.Table) -> None:
    """The same stream with predicate grouping, and one query per filter."""
    spark.createDataFrame(predicates(texts)).cache().createOrReplaceTempView("p")
    spark.table("p").count()
    for number in range(3):
        put(folder / "few", number, table.slice(number * _GROUPING_EVENTS, _GROUPING_EVENTS))
    times: list[float] = []

    def group(batch: DataFrame, number: int) -> None:
        start = time.perf_counter()
        batch.createOrReplaceTempView("e")
        batch.sparkSession.sql(QUERIES["predicate grouping"]).write.parquet(str(folder / f"grouped {number}"))
        times.append(time.perf_counter() - start)

    columns = spark.read.parquet(str(folder / "few")).schema
    reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    few = reader.parquet(str(folder / "few")).writeStream.foreachBatch(group)
    few.option("checkpointLocation", str(folder / "few checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()
    grouped = [_GROUPING_EVENTS / one for one in times[1:]]
    print(f"  predicate grouping in Spark SQL, {_GROUPING_EVENTS} events per batch: {_spread(grouped)} events/s")
    start = time.perf_counter()
    texts_few = texts["expression"].slice(0, _FILTERS).to_pylist()
    queries = []
    for number, text in enumerate(texts_few):
        events = spark.readStream.schema(columns).parquet(str(folder / "steady")).filter(text)
        place = {"path": str(folder / f"filter {number}"), "checkpointLocation": str(folder / f"filter {number} c")}
        queries.append(events.writeStream.format("parquet").options(**place).trigger(availableNow=True).start())
    for one in queries:
        one.awaitTermination()
    seconds = time.perf_counter() - start
    rate = len(table) * _FILTERS / seconds
    print(f"  one query per filter: {_FILTERS} filters, {len(table):,} events in {seconds:.1f} s, "
          f"{rate:,.0f} events × filters per second: {rate / len(texts):,.1f} events/s for {len(texts):,}")  # fmt: skip
