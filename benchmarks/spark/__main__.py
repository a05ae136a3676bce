"""Figures of the pipeline: python -m benchmarks.spark [lesub | w4 | light | build | memory | …]; --help lists them.

Session start-up, reading the workload and opening segments the first time are not counted; what is counted runs to
Spark's `noop` sink, which takes every row and keeps none. Sizes can be scaled down with --scale.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.baselines import QUERIES, predicates, wide
from benchmarks.spark.doors import compare_doors
from benchmarks.spark.memory import measure
from benchmarks.spark.streams import compare_streams
from tamis import Engine
from tamis import spark as ts
from tamis.spark.versions.manifest import commit, read_manifest
from tamis.spark.versions.routing import EVERY, bitmap
from tamis.spark.versions.storage import storage
from tamis.workloads.catalogue import find_workload

_EVENTS = {"cross join": 200, "equality/range split": 60, "predicate grouping": 30}
"""How many events each baseline gets: a few seconds' worth."""


class Rate(NamedTuple):
    """Things per second: the median of some runs, and the slowest and the quickest."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.median:,.0f} ({self.least:,.0f}..{self.most:,.0f})"

    def over(self, other: float) -> Rate:
        return Rate(*(one / other for one in self))


def rate(count: int, work: Callable[[], object], repeats: int = 5) -> Rate:
    """Of runs after a first one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return Rate(*(count / seconds for seconds in (statistics.median(times), max(times), min(times))))


def drain(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def stored(frame: DataFrame, path: str, parts: int = 4) -> DataFrame:
    frame.repartition(parts).write.parquet(path)
    return frame.sparkSession.read.parquet(path)


def lesub(spark: SparkSession, folder: Path, scale: float) -> None:
    """100,000 subscriptions, 20,000 events: us, Spark SQL and DuckDB."""
    workload, count, many = find_workload("lesub"), int(100_000 * scale), int(20_000 * scale)
    path = str(folder / "index")
    ts.index(ts.generate_subscriptions(spark, workload, count), workload.schema(), path)
    events = stored(ts.generate_events(spark, workload, many), str(folder / "events"))
    rates = {}
    for name, frame in (
        ("one row per match", ts.match(events, path)),
        ("explode=False", ts.match(events, path, explode=False)),
        ("counts", ts.count_matches(events, path)),
    ):
        rates[name] = rate(many, partial(drain, frame))
        print(f"  tamis, {name:<24} {rates[name]} events/s")
    matches = ts.match(events, path).count()
    print(f"  ({matches / many:,.0f} matches per event)")
    texts, drawn = workload.subscriptions(count), workload.events(max(_EVENTS.values()))
    tables = {"s": wide(texts), "p": predicates(texts)}
    best = {"Spark SQL": 0.0, "DuckDB": 0.0}
    for name, query in QUERIES.items():
        few = drawn.slice(0, _EVENTS[name])
        few = few.append_column("event_id", pa.array(range(len(few))))
        wanted = sum(len(ids) for ids in _answers(workload, texts, few))
        for peer, run in (("Spark SQL", _spark_sql), ("DuckDB", _duckdb)):
            found, reached = run(spark, tables | {"e": few}, query)
            assert found == wanted, (peer, name, found, wanted)
            best[peer] = max(best[peer], reached.median)
            print(f"  {peer}, {name:<24} {reached} events/s on {len(few)} events")
    for name, reached in rates.items():
        print(f"  {name}: " + ", ".join(f"{reached.over(one)} × the best {peer}" for peer, one in best.items()))


def _answers(workload: object, texts: pa.Table, events: pa.Table) -> list[list[object]]:
    engine = Engine(workload.schema())  # type: ignore[attr-defined]
    engine.subscribe_many(texts)
    return list(engine.match_many(events.drop_columns(["event_id"])))


def _spark_sql(spark: SparkSession, tables: dict[str, pa.Table], query: str) -> tuple[int, Rate]:
    for name, table in tables.items():
        spark.createDataFrame(table).cache().createOrReplaceTempView(name)
        spark.table(name).count()
    return spark.sql(query).count(), rate(len(tables["e"]), lambda: drain(spark.sql(query)), 3)


def _duckdb(_: SparkSession, tables: dict[str, pa.Table], query: str) -> tuple[int, Rate]:
    base = duckdb.connect(config={"threads": os.cpu_count() or 1})
    for name, table in tables.items():
        base.register(f"{name}_arrow", table)
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")
    found = base.sql(query).to_arrow_table().num_rows
    return found, rate(len(tables["e"]), lambda: base.sql(query).to_arrow_table(), 3)


def w4(spark: SparkSession, folder: Path, scale: float) -> None:
    """1,000,000 subscriptions, counts, enough events for starting a job not to matter: Spark against the engine."""
    workload, count, many = find_workload("w4"), int(1_000_000 * scale), int(200_000 * scale)
    path = str(folder / "index")
    ts.index(ts.generate_subscriptions(spark, workload, count), workload.schema(), path)
    events = stored(ts.generate_events(spark, workload, many), str(folder / "events"))
    on_spark = rate(many, lambda: drain(ts.count_matches(events, path)), 3)
    engine = Engine(workload.schema())
    engine.subscribe_many(workload.subscriptions(count))
    table = workload.events(many)
    alone = rate(many, lambda: engine.count_many(table), 3)
    cores = int(spark.sparkContext.defaultParallelism)
    print(f"  Spark, {cores} cores          {on_spark} events/s")
    print(f"  in process, one thread  {alone} events/s; {cores} times that: {cores * alone.median:,.0f}")
    print(f"  Spark reaches {on_spark.median / (cores * alone.median):.0%} of the engine on the same cores")


def light(spark: SparkSession, folder: Path, scale: float) -> None:
    """100,000 subscriptions, 400,000 light events: the index with and without statistics of the events."""
    workload, count, many = find_workload("light", a=2.0), int(100_000 * scale), int(400_000 * scale)
    subscriptions = stored(ts.generate_subscriptions(spark, workload, count), str(folder / "subscriptions"))
    events = stored(ts.generate_events(spark, workload, many), str(folder / "events"))
    rates = {}
    for name, known in (("without", None), ("with", ts.analyze(events.sample(0.05, seed=1)))):
        path = str(folder / name)
        ts.index(subscriptions, workload.schema(), path, statistics=known)
        rates[name] = rate(many, lambda path=path: drain(ts.count_matches(events, path)), 3)
        print(f"  {name:<8} statistics {rates[name]} events/s")
    print(f"  with statistics {rates['with'].median / rates['without'].median:.2f} × as fast")


def build(spark: SparkSession, folder: Path, scale: float) -> None:
    """3,200,000 Le Subscribe subscriptions from Parquet to a committed manifest."""
    workload, count = find_workload("lesub"), int(3_200_000 * scale)
    texts = stored(ts.generate_subscriptions(spark, workload, count), str(folder / "subscriptions"), 8)
    ts.index(texts.limit(20_000), workload.schema(), str(folder / "warm"))
    start = time.perf_counter()
    done = ts.index(texts, workload.schema(), str(folder / "index"))
    seconds = time.perf_counter() - start
    print(f"  {done.subscriptions:,} subscriptions, {done.segments} segments, {done.size_bytes / 1e6:,.0f} MB: "
          f"{seconds:.1f} s, {done.subscriptions / seconds:,.0f} subscriptions/s")  # fmt: skip

    many = 4_000
    events = stored(ts.generate_events(spark, workload, many), str(folder / "events"))
    counted = rate(many, lambda: drain(ts.count_matches(events, str(folder / "index"))), 3)
    matches = ts.count_matches(events, str(folder / "index")).agg({"match_count": "sum"}).collect()[0][0]
    print(f"  counts against it: {counted} events/s, {matches / many:,.0f} matches per event")


def memory(spark: SparkSession, folder: Path, scale: float) -> None:
    """What a further Python worker on a host adds, once it has counted against the whole index."""
    workload, count = find_workload("lesub"), int(3_200_000 * scale)
    indexes = {"tiny": str(folder / "tiny"), "whole": str(folder / "index")}
    ts.index(ts.generate_subscriptions(spark, workload, 1000), workload.schema(), indexes["tiny"])
    done = ts.index(ts.generate_subscriptions(spark, workload, count), workload.schema(), indexes["whole"])
    stored(ts.generate_events(spark, workload, 4_000), str(folder / "events"))
    found = measure(str(folder / "events"), indexes)
    further = {name: found[2][name]["pss"] - found[1][name]["pss"] for name in indexes}
    for name in indexes:
        one, two = (found[workers][name] for workers in (1, 2))
        print(f"  {name:<6} one worker {one['pss'] / 1e6:,.0f} MB, two workers {two['pss'] / 1e6:,.0f} MB in all")
        print(f"         of two, private {two['private'] / 1e6:,.0f} MB, mapped {two['mapped'] / 1e6:,.0f} MB each")
    base, extra = further["tiny"], further["whole"] - further["tiny"]
    print(f"  a further worker costs {base / 1e6:,.0f} MB, and {extra / 1e6:,.0f} MB more for this index")
    print(f"  of {done.size_bytes / 1e6:,.0f} MB: {extra / done.size_bytes:.1%} of its size")


def skipping(spark: SparkSession, folder: Path, scale: float) -> None:
    """1,000,000 subscriptions in 32 segments, 100,000 events: counts with and without leaving out what cannot match."""
    for workload in (find_workload("lesub"), find_workload("lesub", p=1.0), find_workload("web")):
        place = folder / workload.name.replace(" ", "-")
        count, many, path = int(1_000_000 * scale), int(100_000 * scale), str(place / "index")
        with patch("tamis.spark.steps.indexing.SEGMENT_ROWS", max(1, count // 32)):
            done = ts.index(ts.generate_subscriptions(spark, workload, count), workload.schema(), path)
        events, tally = stored(ts.generate_events(spark, workload, many), str(place / "events")), ts.Tally(spark)
        blind = str(place / "blind")
        _blinded(path, blind)
        drain(ts.count_matches(events, path, tally=tally))
        share = tally.skipped / (tally.asked + tally.skipped)
        frames = [ts.count_matches(events, at) for at in (path, blind)]
        reached, without = (rate(many, partial(drain, frame), 3) for frame in frames)
        print(f"  {workload.name:<12} {done.segments} segments, {share:.0%} of the questions skipped: {reached} "
              f"events/s, {without} without: {reached.median / without.median:.2f} ×")  # fmt: skip


def _blinded(path: str, other: str) -> None:
    """The same index, with segments that claim to match anything."""
    shutil.copytree(path, other)
    manifest = read_manifest(storage(path), path)
    entries = tuple(replace(one, keys=bitmap(pa.array([EVERY]))) for one in manifest.segments)
    Path(other, "manifests", "00000001.json").unlink()
    commit(storage(other), other, replace(manifest, segments=entries))


def doors(spark: SparkSession, folder: Path, scale: float) -> None:
    """100,000 subscriptions, 200,000 events as structs of several kinds and as JSON text, against flat structs."""
    compare_doors(spark, folder, scale)


def stream(spark: SparkSession, folder: Path, scale: float) -> None:
    """100,000 subscriptions, micro-batches of 10,000 events: against the batch job, an empty batch, and plain Spark."""
    compare_streams(spark, folder, scale)


FIGURES = {
    "lesub": lesub,
    "w4": w4,
    "light": light,
    "build": build,
    "memory": memory,
    "skipping": skipping,
    "doors": doors,
    "stream": stream,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("figures", nargs="*", help=f"of {', '.join(FIGURES)} (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="a factor on all sizes (default 1)")
    arguments = parser.parse_args()
    start = time.perf_counter()
    spark = ts.session("local[2]", memory="3g")
    load = os.getloadavg()[0]
    print(f"local[2], session started in {time.perf_counter() - start:.1f} s (not counted below); load {load:.1f}")
    for name in arguments.figures or FIGURES:
        print(f"\n{name}: {FIGURES[name].__doc__}")
        with tempfile.TemporaryDirectory() as folder:
            FIGURES[name](spark, Path(folder), arguments.scale)
    return 0


if __name__ == "__main__":
    sys.exit(main())
