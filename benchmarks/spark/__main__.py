"""Figures of the pipeline: python -m benchmarks.spark [lesub | w4 | build | memory] …

Session start-up, reading the workload and opening segments the first time are not counted; what is counted runs to
Spark's `noop` sink, which takes every row and keeps none. Sizes can be scaled down with --scale.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.baselines import QUERIES, predicates, wide
from tamis import Engine
from tamis import spark as ts
from tamis.workloads.catalogue import find_workload

_EVENTS = {"cross join": 200, "equality/range split": 60, "predicate grouping": 30}
"""How many events each baseline gets: a few seconds' worth."""


def timed(work: Callable[[], object], repeats: int = 3) -> float:
    """The median of some runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


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
    drain(ts.match(events.limit(500), path))
    rates = {}
    for name, frame in (
        ("one row per match", ts.match(events, path)),
        ("explode=False", ts.match(events, path, explode=False)),
        ("counts", ts.count_matches(events, path)),
    ):
        rates[name] = many / timed(lambda frame=frame: drain(frame))
        print(f"  tamis, {name:<24} {rates[name]:>12,.0f} events/s")
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
            found, seconds = run(spark, tables | {"e": few}, query)
            assert found == wanted, (peer, name, found, wanted)
            best[peer] = max(best[peer], len(few) / seconds)
            print(f"  {peer}, {name:<24} {len(few) / seconds:>12,.0f} events/s on {len(few)} events")
    for name, rate in rates.items():
        print(f"  {name}: {rate / best['Spark SQL']:,.0f} × the best Spark SQL, {rate / best['DuckDB']:,.0f} × DuckDB")


def _answers(workload: object, texts: pa.Table, events: pa.Table) -> list[list[object]]:
    engine = Engine(workload.schema())  # type: ignore[attr-defined]
    engine.subscribe_many(texts)
    return list(engine.match_many(events.drop_columns(["event_id"])))


def _spark_sql(spark: SparkSession, tables: dict[str, pa.Table], query: str) -> tuple[int, float]:
    for name, table in tables.items():
        spark.createDataFrame(table).cache().createOrReplaceTempView(name)
        spark.table(name).count()
    found = spark.sql(query).count()
    return found, timed(lambda: drain(spark.sql(query)), 1)


def _duckdb(_: SparkSession, tables: dict[str, pa.Table], query: str) -> tuple[int, float]:
    base = duckdb.connect(config={"threads": os.cpu_count() or 1})
    for name, table in tables.items():
        base.register(f"{name}_arrow", table)
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")
    start = time.perf_counter()
    found = base.sql(query).to_arrow_table().num_rows
    return found, time.perf_counter() - start


def w4(spark: SparkSession, folder: Path, scale: float) -> None:
    """1,000,000 subscriptions, counts: Spark against the engine in this process on as many threads."""
    workload, count, many = find_workload("w4"), int(1_000_000 * scale), int(8_000 * scale)
    path = str(folder / "index")
    ts.index(ts.generate_subscriptions(spark, workload, count), workload.schema(), path)
    events = stored(ts.generate_events(spark, workload, many), str(folder / "events"))
    drain(ts.count_matches(events.limit(100), path))
    on_spark = many / timed(lambda: drain(ts.count_matches(events, path)))
    engine = Engine(workload.schema())
    engine.subscribe_many(workload.subscriptions(count))
    table = workload.events(many)
    engine.count_many(table.slice(0, 50))
    alone = timed(lambda: engine.count_many(table))
    cores = int(spark.sparkContext.defaultParallelism)
    print(f"  Spark, {cores} cores          {on_spark:>10,.0f} events/s")
    print(f"  in process, one thread  {many / alone:>10,.0f} events/s; {cores} times that: {cores * many / alone:,.0f}")
    print(f"  Spark reaches {on_spark / (cores * many / alone):.0%} of the engine on the same cores")


def light(spark: SparkSession, folder: Path, scale: float) -> None:
    """100,000 subscriptions on light events: the index with and without statistics of the events."""
    workload, count, many = find_workload("light", a=2.0), int(100_000 * scale), int(20_000 * scale)
    subscriptions = stored(ts.generate_subscriptions(spark, workload, count), str(folder / "subscriptions"))
    events = stored(ts.generate_events(spark, workload, many), str(folder / "events"))
    for name, known in (("without", None), ("with", ts.analyze(events))):
        path = str(folder / name)
        ts.index(subscriptions, workload.schema(), path, statistics=known)
        drain(ts.count_matches(events.limit(100), path))
        rate = many / timed(lambda path=path: drain(ts.count_matches(events, path)))
        print(f"  {name:<8} statistics {rate:>10,.0f} events/s")


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
    drain(ts.count_matches(events.limit(100), str(folder / "index")))
    rate = many / timed(lambda: drain(ts.count_matches(events, str(folder / "index"))), 1)
    matches = ts.count_matches(events, str(folder / "index")).agg({"match_count": "sum"}).collect()[0][0]
    print(f"  counts against it: {rate:,.0f} events/s, {matches / many:,.0f} matches per event")


def memory(spark: SparkSession, folder: Path, scale: float) -> None:
    """What a Python worker keeps for itself once it has opened and used the whole index."""
    workload, count = find_workload("lesub"), int(1_000_000 * scale)
    path = str(folder / "index")
    done = ts.index(ts.generate_subscriptions(spark, workload, count), workload.schema(), path)
    events = ts.generate_events(spark, workload, 16_000).repartition(2)
    small = str(folder / "small")
    ts.index(ts.generate_subscriptions(spark, workload, 1000), workload.schema(), small)
    seen = {}
    for name, used in (("without", small), ("with", path)):
        drain(ts.count_matches(events, used))
        seen[name] = max(_private_kb(pid) for pid in _workers())
        print(f"  private memory of the largest worker {name} the index: {seen[name] / 1024:,.0f} MiB")
    extra = (seen["with"] - seen["without"]) * 1024
    share = extra / done.size_bytes
    print(f"  index {done.size_bytes / 1e6:,.0f} MB; a further worker adds {extra / 1e6:,.0f} MB, {share:.0%} of it")


def _workers() -> list[int]:
    """Spark's Python workers below this process: forks of its daemon."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().partition("PPid:")[2].split()[0])
        except OSError:
            continue  # ended meanwhile
    mine = {os.getpid()}
    for _ in range(8):
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in mine - {os.getpid()}}
    return [pid for pid, command in commands.items() if b"pyspark.daemon" in command]


def _private_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private"))


FIGURES = {"lesub": lesub, "w4": w4, "light": light, "build": build, "memory": memory}


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
