"""Spark SQL answers the SQL matchers' one query text as the other databases do."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tamis import Engine
from tamis.spark.running.sql_database import ChangingTable, SparkDatabase

_TEXTS = [
    ("ann", "a = 1 and b < 5"),
    ("bob", "b < 5"),
    ("eve", "c starts with 'x' or b in (3, 4)"),
    ("dev", "a is missing and c != 'y'"),
    ("jun", f"a > {2**53}"),
]
_EVENTS: list[dict[str, object]] = [{"a": 1, "b": 3}, {"c": "xy"}, {"a": [1, 2**53 + 1], "b": [9, 4]}, {}]
_BOTH = pytest.mark.parametrize("algorithm", ["sql-sequential", "sql-grouping"])


@pytest.mark.spark
@_BOTH
def test_spark_has_the_naive_answers(spark: SparkSession, algorithm: str) -> None:
    engine, oracle = Engine(algorithm=algorithm, database=SparkDatabase(spark)), Engine(algorithm="naive")
    for one in (engine, oracle):
        one.subscribe_many(_TEXTS)
        one.unsubscribe("bob")

    assert [engine.match(event) for event in _EVENTS] == [oracle.match(event) for event in _EVENTS]
    engine.check()


@pytest.mark.spark
@_BOTH
def test_a_number_that_is_used_again_means_its_new_owner(spark: SparkSession, algorithm: str) -> None:
    """Few of many go, so they are marked, not swept; the next to come gets the row that was free."""
    engine, oracle = Engine(algorithm=algorithm, database=SparkDatabase(spark)), Engine(algorithm="naive")
    for one in (engine, oracle):
        one.subscribe_many([(n, f"a = {n} and b = {n % 3}") for n in range(60)])
    for round in range(2):
        for one in (engine, oracle):
            one.unsubscribe(round)
            one.subscribe(f"new {round}", f"a = {7 + round} and b <= 2")
        event = {"a": [0, 1, 7, 8], "b": [0, 1]}

        assert engine.match(event) == oracle.match(event)


def _table() -> ChangingTable:
    return ChangingTable(pa.schema([("sid", pa.int32()), ("val", pa.string())]))


def _live(table: ChangingTable) -> list[tuple[int, str]]:
    marks = table.gone.get("sid", {})
    rows = (row for part in table.parts for row in part.to_pylist())
    return sorted((row["sid"], row["val"]) for row in rows if row["row_number"] >= marks.get(row["sid"], 0))


@pytest.mark.parametrize("seed", range(5))
def test_a_changing_table_has_what_was_inserted_and_not_deleted(seed: int) -> None:
    dice, table, expected = random.Random(seed), _table(), {}
    for step in range(300):
        if expected and dice.random() < 0.5:
            gone = dice.sample(sorted(expected), min(len(expected), dice.randrange(1, 4)))
            table.delete("sid", gone)
            for id in gone:
                del expected[id]
        else:
            new = dice.sample([id for id in range(200) if id not in expected], dice.randrange(1, 6))
            table.insert({"sid": new, "val": [f"{step}"] * len(new)})
            expected.update(dict.fromkeys(new, f"{step}"))

        assert _live(table) == sorted(expected.items())


@pytest.mark.parametrize("size", [1_000, 10_000])
def test_a_removal_moves_a_constant_number_of_rows_whatever_the_size(size: int) -> None:
    table = _table()
    table.insert({"sid": range(size), "val": ["x"] * size})

    for id in range(0, size, 2):
        table.delete("sid", [id])

    assert table.moved <= 8 * (size // 2)
    assert len(_live(table)) == size // 2


def test_rows_that_come_one_by_one_move_a_logarithm_of_times() -> None:
    table = _table()

    for id in range(1024):
        table.insert({"sid": [id], "val": ["x"]})

    assert len(table.parts) <= 11
    assert table.moved <= 1024 * 11
