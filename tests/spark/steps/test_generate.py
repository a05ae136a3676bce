"""Generated rows depend on the seed and their number alone."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tamis import Engine
from tamis import spark as ts
from tamis.errors import OptionError
from tamis.workloads.catalogue import WORKLOADS, find_workload
from tamis.workloads.slices import BLOCK_ROWS

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", WORKLOADS)
def test_rows_on_spark_are_those_of_the_workload(spark: SparkSession, name: str) -> None:
    workload = find_workload(name)

    subscriptions = ts.generate_subscriptions(spark, workload, 200, seed=3).toArrow()
    events = ts.generate_events(spark, workload, 100, seed=3).toArrow()

    assert subscriptions.to_pylist() == workload.subscriptions(200, 3).to_pylist()
    assert events["event"].to_pylist() == workload.events(100, 3).to_pylist()
    assert events["event_id"].to_pylist() == list(range(100))


def test_rows_are_the_same_whatever_the_number_of_partitions(spark: SparkSession) -> None:
    workload, count = find_workload("lesub", p=0.8), BLOCK_ROWS * 3 + 5

    many = ts.generate_subscriptions(spark, workload, count, seed=2)
    one = workload.subscriptions(count, 2)

    assert many.rdd.getNumPartitions() > 1
    assert sorted(many.toArrow().to_pylist(), key=lambda row: row["id"]) == one.to_pylist()


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_is_generated_parses_and_is_valid(name: str) -> None:
    workload = find_workload(name)
    engine = Engine(workload.schema())

    receipt = engine.subscribe_many(workload.subscriptions(300))
    matches = engine.match_many(workload.events(50))

    assert receipt.subscribed == 300
    assert len(matches) == 50


def test_the_web_is_skewed() -> None:
    workload = find_workload("web")
    engine = Engine(workload.schema())
    engine.subscribe_many(workload.subscriptions(1000))

    sites = workload.events(2000)["site"].value_counts().to_pylist()

    assert max(row["counts"] for row in sites) > 200
    assert len(sites) > 300
    assert engine.match_many(workload.events(200)).total > 0


def test_unknown_workloads_and_parameters_are_told() -> None:
    with pytest.raises(OptionError, match=r"no workload is called 'lesup'; did you mean 'lesub'\? \(there are: w0, "):
        find_workload("lesup")
    with pytest.raises(OptionError, match="workload 'lesub' takes p, words, most, found 'a'"):
        find_workload("lesub", a=2)


def test_nothing_can_be_generated(spark: SparkSession) -> None:
    assert ts.generate_events(spark, find_workload("w4"), 0).collect() == []
    with pytest.raises(OptionError, match="expected a number of rows from 0 on, found -1"):
        ts.generate_events(spark, find_workload("w4"), -1)
