"""Spark SQL answers the SQL matchers' one query text as the other databases do."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tamis import Engine
from tamis.spark.sql_database import SparkDatabase

pytestmark = pytest.mark.spark

_TEXTS = [
    ("ann", "a = 1 and b < 5"),
    ("bob", "b < 5"),
    ("eve", "c starts with 'x' or b in (3, 4)"),
    ("dev", "a is missing and c != 'y'"),
    ("jun", f"a > {2**53}"),
]
_EVENTS: list[dict[str, object]] = [{"a": 1, "b": 3}, {"c": "xy"}, {"a": [1, 2**53 + 1], "b": [9, 4]}, {}]


@pytest.mark.parametrize("algorithm", ["sql-sequential", "sql-grouping"])
def test_spark_has_the_naive_answers(spark: SparkSession, algorithm: str) -> None:
    engine, oracle = Engine(algorithm=algorithm, database=SparkDatabase(spark)), Engine(algorithm="naive")
    for one in (engine, oracle):
        one.subscribe_many(_TEXTS)
        one.unsubscribe("bob")

    assert [engine.match(event) for event in _EVENTS] == [oracle.match(event) for event in _EVENTS]
    engine.check()
