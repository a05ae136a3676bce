"""The same events on Spark as flat structs, with timestamps and decimals, nested, and as JSON text; in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis import Schema
from tamis import spark as ts
from tamis.workloads.ads import Ads
from tamis.workloads.lesub import LeSub
from tamis.workloads.slices import Workload

__all__ = ["compare_doors"]

TURNS = 5


def compare_doors(spark: SparkSession, folder: Path, scale: float) -> None:
    for workload, schema in ((LeSub(p=1), Schema(open=True)), (LeSub(p=1), None), (Ads(), None), (Ads(open=1), None)):
        place = folder / f"{workload.name}-{schema is None}".replace(" ", "-")
        _compare(spark, place, workload, schema or workload.schema(), scale)


def _compare(spark: SparkSession, place: Path, workload: Workload, schema: Schema, scale: float) -> None:
    path, count, many = str(place / "index"), int(100_000 * scale), int(200_000 * scale)
    ts.index(ts.generate_subscriptions(spark, workload, count), schema, path)
    flat = ts.generate_events(spark, workload, many)
    forms = {"flat structs": flat, **_forms(flat, schema)}
    calls = {}
    for name, frame in forms.items():
        frame.repartition(4).write.parquet(str(place / name))
        stored = spark.read.parquet(str(place / name))
        calls[name] = partial(_drain, ts.match(stored, path, explode=False))
    runs = _in_turns(calls)
    print(f"\n  {workload.name}{', no schema' if schema.open else ''}: {count:,} subscriptions, {many:,} events")
    flat_runs = runs.pop("flat structs")
    print(f"  {'flat structs':<40} {many / statistics.median(flat_runs):,.0f} events/s")
    for name, found in runs.items():
        ratios = sorted(one / other for one, other in zip(flat_runs, found, strict=True))
        goal = "at least 0.6" if "JSON" in name else "at least 0.8"
        print(f"  {name:<40} {statistics.median(ratios):.2f} ({ratios[0]:.2f}..{ratios[-1]:.2f}), {goal}")


def _forms(flat: DataFrame, schema: Schema) -> dict[str, DataFrame]:
    """The events as others would have them."""
    names = flat.schema["event"].dataType.names  # type: ignore[attr-defined]
    fields = {name: F.col("event")[name] for name in names}
    kinds = {field.name: field.dataType.typeName() for field in flat.schema["event"].dataType}  # type: ignore[attr-defined]
    numbers = [name for name in names if kinds[name] in ("integer", "long", "double")]
    decimals = {name: fields[name].cast("decimal(38,18)") for name in numbers}
    found = {"JSON text": _events(flat, F.to_json("event"))}
    if schema.open:
        beside = {"_at": F.current_timestamp(), "_sum": F.lit("19.99").cast("decimal(38,18)")}
        found["a timestamp and a decimal nobody names"] = _events(flat, _struct(fields | beside))
    found["numbers as decimals"] = _events(flat, _struct(fields | decimals))
    if any("." in name for name in names):
        found["nested, numbers as decimals"] = _events(flat, _nested(fields | decimals))
    return found


def _events(flat: DataFrame, event: object) -> DataFrame:
    return flat.select("event_id", event.alias("event"))  # type: ignore[attr-defined]


def _struct(fields: dict[str, object]) -> object:
    return F.struct(*(column.alias(name) for name, column in fields.items()))  # type: ignore[attr-defined]


def _nested(fields: dict[str, object]) -> object:
    within: dict[str, object] = {}
    for name, column in fields.items():
        outer, dot, inner = name.partition(".")
        if dot:
            within.setdefault(outer, {})[inner] = column  # type: ignore[index]
        else:
            within[name] = column
    return _struct({name: _struct(one) if isinstance(one, dict) else one for name, one in within.items()})


def _drain(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _in_turns(calls: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
    for call in calls.values():
        call()
    runs: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            runs[name].append(time.perf_counter() - start)
    return runs
