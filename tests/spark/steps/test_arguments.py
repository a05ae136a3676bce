"""What is no path, frame, schema or mapping is told in our words, by every step and before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tamis import OptionError
from tamis import spark as ts
from tamis.model import Schema
from tamis.workloads.lesub import LeSub

OPEN = Schema(open=True)
WRONG: tuple[Any, ...] = (None, 3, 2.5, ["x"], {"a": 1}, object)
FRAMES: dict[str, Callable[[Any], object]] = {
    "index": lambda frame: ts.index(frame, OPEN, "p"),
    "update": lambda frame: ts.update("p", frame),
    "match": lambda frame: ts.match(frame, "p"),
    "match, wide": lambda frame: ts.match(frame, "p", explode=False),
    "count_matches": lambda frame: ts.count_matches(frame, "p"),
    "validate": lambda frame: ts.validate(frame, OPEN),
    "analyze": lambda frame: ts.analyze(frame),
    "integrate": lambda frame: ts.integrate(frame, ts.Mapping({})),
    "notify": lambda frame: ts.notify(frame, frame),
}
PATHS: dict[str, Callable[[DataFrame, Any], object]] = {
    "index": lambda frame, path: ts.index(frame, OPEN, path),
    "update": lambda frame, path: ts.update(path, frame),
    "match": lambda frame, path: ts.match(frame, path),
    "count_matches": lambda frame, path: ts.count_matches(frame, path),
    "routes": lambda frame, path: ts.routes(frame, path),
    "compact": lambda _, path: ts.compact(path),
    "vacuum": lambda _, path: ts.vacuum(path),
    "rejected_subscriptions": lambda _, path: ts.rejected_subscriptions(path),
}


@pytest.mark.parametrize("step", FRAMES)
def test_what_is_no_frame_is_told(step: str) -> None:
    for wrong in (*WRONG, "x"):
        with pytest.raises(OptionError, match="expected a DataFrame, found "):
            FRAMES[step](wrong)


@pytest.mark.spark
@pytest.mark.parametrize("step", PATHS)
def test_what_is_no_path_is_told(spark: SparkSession, step: str) -> None:
    frame = spark.createDataFrame([("a", "price < 10")], "id string, expression string")
    for wrong in (*WRONG, b"x"):
        with pytest.raises(OptionError, match="path: expected the path of an index, as text or a Path, found "):
            PATHS[step](frame, wrong)


@pytest.mark.spark
def test_what_is_no_schema_mapping_or_statistics_is_told(spark: SparkSession) -> None:
    frame: Any = spark.createDataFrame([("a", "price < 10")], "id string, expression string")
    for wrong in (*WRONG, "x"):
        if wrong is not None:
            with pytest.raises(OptionError, match="statistics: expected a Statistics, found "):
                ts.index(frame, OPEN, "p", statistics=wrong)
        with pytest.raises(OptionError, match="schema: expected a Schema, found "):
            ts.index(frame, wrong, "p")
        with pytest.raises(OptionError, match="schema: expected a Schema, found "):
            ts.validate(frame, wrong)
        with pytest.raises(OptionError, match="mapping: expected a Mapping, found "):
            ts.integrate(frame, wrong)


@pytest.mark.spark
def test_what_is_no_option_is_told(spark: SparkSession, tmp_path: Path) -> None:
    events: Any = spark.createDataFrame([(1, '{"price": 5}')], "event_id int, event string")
    some: Any = spark.createDataFrame([("b", "price < 9")], "id string, expression string")
    ts.index(some, OPEN, tmp_path)
    workload: Any = LeSub()
    for expected, call in _calls(spark, events, tmp_path, workload):
        with pytest.raises(OptionError, match=expected):
            call()


def _calls(spark: Any, events: Any, path: Any, workload: Any) -> list[tuple[str, Callable[[], object]]]:
    wrong: Any
    listed: list[tuple[str, Callable[[], object]]] = []
    for wrong in ("x", 1.0, True):
        listed += [
            ("version: expected the number of a version, found ", partial(ts.routes, events, path, version=wrong)),
            ("version: expected the number", partial(ts.rejected_subscriptions, path, version=wrong)),
            ("count: expected a number of rows from 0 on", partial(ts.generate_events, spark, workload, wrong)),
            ("master: expected a str, found ", partial(ts.session, [wrong])),
            ("memory: expected a str, found ", partial(ts.session, memory=[wrong])),
            ("settings: expected a Mapping, found ", partial(ts.session, settings=[wrong])),
        ]
    for wrong in (1.0, True, ["x"]):  # a text names a column
        listed.append(("version: expected the number of a version", partial(ts.match, events, path, version=wrong)))
    for wrong in ("no", 1, None):
        for name in ("explode", "validated", "unmatched"):
            listed.append((f"{name}: expected True or False, found ", partial(ts.match, events, path, **{name: wrong})))
        listed.append(("validated: expected True", partial(ts.count_matches, events, path, validated=wrong)))
    for wrong in ("x", -1, float("nan"), None, True):
        listed.append(("min_age_hours: expected a number of hours", partial(ts.vacuum, path, min_age_hours=wrong)))
    return [
        *listed,
        ("no plan is called 3 ", partial(ts.match, events, path, plan=3)),
        ("tally: expected a Tally, found 3", partial(ts.match, events, path, tally=3)),
        ("workload: expected a Workload, found 'w4'", partial(ts.generate_subscriptions, spark, "w4", 3)),
        ("spark: expected a SparkSession, found 3", partial(ts.generate_subscriptions, 3, workload, 3)),
    ]


def test_what_is_no_mapping_file_is_told() -> None:
    for wrong in WRONG:
        with pytest.raises(OptionError, match="expected the path of a mapping in TOML, found "):
            ts.Mapping.load(wrong)
        with pytest.raises(OptionError, match="expected a mapping as TOML text, found "):
            ts.Mapping.loads(wrong)
        if wrong != 3:
            with pytest.raises(OptionError, match="expected to keep at least one version, found "):
                ts.vacuum("p", keep=wrong)


@pytest.mark.spark
def test_a_path_object_is_a_path(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "index"
    events = spark.createDataFrame([(1, '{"price": 5}')], "event_id int, event string")

    ts.index(spark.createDataFrame([("a", "price <"), ("b", "price < 9")], "id string, expression string"), OPEN, path)
    refused = ts.rejected_subscriptions(path).count()
    ts.update(path, spark.createDataFrame([("c", "price < 10")], "id string, expression string"))
    compacted = ts.compact(path)

    assert (refused, compacted.version) == (1, 3)
    assert {row.subscription_id for row in ts.match(events, path).collect()} == {"b", "c"}
    assert [row.match_count for row in ts.count_matches(events, path).collect()] == [2]
    assert ts.routes(events, path).count() == 1
    assert ts.vacuum(path, min_age_hours=0) > 0
