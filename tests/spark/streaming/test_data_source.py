"""`format("tamis")`: the version in the offset, matching and state in the plan, and a sink in two phases."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tamis import OptionError
from tamis import spark as ts
from tamis.model import Schema
from tamis.spark.columns import VERSION
from tamis.spark.steps.event_time import STATE_STORE
from tamis.spark.versions.holding import held
from tamis.spark.versions.storage import storage

pytestmark = pytest.mark.spark

SCHEMA = Schema.loads('attributes = { price = "number", at = "timestamp" }')
IDS = "id string, expression string"


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    ts.register_source(spark)


@pytest.fixture
def index(tmp_path: Path, spark: SparkSession) -> str:
    asked = [("low", "price < 10"), ("high", "price >= 10"), ("dear", "price > 40")]
    ts.index(spark.createDataFrame(asked, IDS), SCHEMA, f"{tmp_path}/index")
    return f"{tmp_path}/index"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


def append(log: Path, name: str, *events: dict[str, object]) -> None:
    with (log / name).open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in events)


def events_of(log: Path, index: str, **options: object) -> DataFrame:
    reader = SparkSession.active().readStream.format("tamis").option("index", index)
    return reader.options(**options).load(str(log))  # type: ignore[arg-type]


def run(frame: DataFrame, folder: Path, name: str = "out") -> list[Row]:
    """Into the sink of the same name, until all is done; then all that is there."""
    place = {"path": str(folder / name), "checkpointLocation": str(folder / f"{name} checkpoint")}
    frame.writeStream.format("tamis").options(**place).trigger(availableNow=True).start().awaitTermination()
    return frame.sparkSession.read.parquet(str(folder / name)).collect()


def found(rows: list[Row]) -> list[tuple[object, ...]]:
    return sorted((row.batch_id, row.event_id, row.subscription_id, row.index_version) for row in rows)


def test_a_batch_reads_the_log_with_a_version_and_writes_a_folder(
    spark: SparkSession, log: Path, index: str, tmp_path: Path
) -> None:
    append(log, "1.jsonl", {"event_id": "a", "price": 1})
    append(log, "2.jsonl", {"price": 20})

    events = spark.read.format("tamis").option("index", index).load(str(log))
    ts.match(events, index, version=VERSION).write.format("tamis").mode("append").save(f"{tmp_path}/out")
    ts.match(events, index, version=VERSION).write.format("tamis").mode("append").save(f"{tmp_path}/out")

    rows = spark.read.parquet(f"{tmp_path}/out").collect()
    assert sorted((row.event_id, row.subscription_id, row.index_version) for row in rows) == sorted(
        2 * [("2.jsonl:0", "high", 1), ("a", "low", 1)]
    )
    assert not (tmp_path / "out" / "_staged").exists()


def test_a_batch_that_comes_again_has_the_version_of_its_offset_and_takes_its_own_place(
    spark: SparkSession, log: Path, index: str, tmp_path: Path
) -> None:
    """What Spark noted of the last batch is taken back: it must do that batch again, after the set has changed."""
    append(log, "1.jsonl", {"event_id": "a", "price": 1}, {"event_id": "b", "price": 30})
    append(log, "2.jsonl", {"event_id": "c", "price": 2})
    matches = ts.match(events_of(log, index, maxRows=2), index, version=VERSION)
    first = run(matches, tmp_path)
    ts.update(index, spark.createDataFrame([("low", None), ("any", "price > 0")], IDS))
    held_before = held(storage(index))
    for note in (tmp_path / "out checkpoint" / "commits").glob("*1*"):
        note.unlink()
    again = run(matches, tmp_path)
    append(log, "2.jsonl", {"event_id": "d", "price": 3})
    last = run(matches, tmp_path)

    old = [(0, "a", "low", 1), (0, "b", "high", 1), (1, "c", "low", 1)]
    assert found(first) == found(again) == old
    assert found(last) == [*old, (2, "d", "any", 2)]
    assert held_before == {1}
    assert 2 in held(storage(index))


@pytest.mark.parametrize(("limit", "batches"), [({"maxRows": 3}, 4), ({"maxFiles": 1}, 2), ({}, 1)])
def test_a_limit_cuts_the_log_into_batches(
    limit: dict[str, int], batches: int, log: Path, index: str, tmp_path: Path
) -> None:
    for number in range(10):
        append(log, f"{number // 5}.jsonl", {"event_id": f"e{number}", "price": number})

    rows = run(events_of(log, index, **limit), tmp_path)

    assert sorted(row.event_id for row in rows) == [f"e{number}" for number in range(10)]
    assert len({row.batch_id for row in rows}) == batches


def test_duplicates_go_and_nobody_is_told_twice_an_hour_across_restarts(log: Path, index: str, tmp_path: Path) -> None:
    def told() -> list[tuple[str, str]]:
        events = events_of(log, index)
        timed = events.withColumn("at", F.get_json_object("event", "$.at").cast("timestamp"))
        once = ts.deduplicate(timed, "at", "1 hour")
        matches = ts.match(once, index, version=VERSION, keep=["at"])
        rows = run(ts.throttle(matches, "at", "1 hour"), tmp_path)
        return sorted((row.subscription_id, row.event_id) for row in rows)

    def event(id: str, price: int, at: str) -> dict[str, object]:
        return {"event_id": id, "price": price, "at": f"2026-01-01T{at}:00Z"}

    append(log, "1.jsonl", event("a", 1, "10:00"), event("a", 1, "10:01"), event("b", 20, "10:05"))
    first = told()
    append(log, "1.jsonl", event("c", 2, "10:30"), event("a", 50, "10:06"))
    second = told()
    append(log, "1.jsonl", event("d", 50, "13:00"))
    third = told()
    append(log, "1.jsonl", event("e", 3, "13:10"), event("f", 60, "13:20"))
    fourth = told()

    assert first == [("high", "b"), ("low", "a")]
    assert second == first
    # `d` moves the watermark, and frees who was told before 12:00, for those that come after it.
    assert third == sorted([*first, ("dear", "d")])
    assert fourth == sorted([*third, ("low", "e"), ("high", "f")])


def test_what_needs_state_says_where_it_is_to_be_had(spark: SparkSession, log: Path, index: str) -> None:
    append(log, "1.jsonl", {"price": 1})
    batch = spark.read.format("tamis").load(str(log))
    stream = events_of(log, index).withColumn("at", F.current_timestamp())

    with pytest.raises(OptionError, match=r"deduplicate: expected a stream, found a batch; in foreachBatch.* no state"):
        ts.deduplicate(batch, "at", "1 hour")
    with pytest.raises(OptionError, match="throttle: expected a column 'subscription_id', found event_id, event"):
        ts.throttle(stream, "at", "1 hour")
    with pytest.raises(OptionError, match="expected a timestamp in the column 'event', found string"):
        ts.deduplicate(stream, "event", "1 hour")
    with pytest.raises(OptionError, match="expected the span of the step before, 3600 seconds, since Spark allows one"):
        ts.deduplicate(ts.deduplicate(stream, "at", "1 hour"), "at", "10 minutes")
    before = spark.conf.get(STATE_STORE)
    spark.conf.set(STATE_STORE, "x")
    with pytest.raises(OptionError, match="expected state in RocksDB; set spark"):
        ts.deduplicate(stream, "at", "1 hour")
    spark.conf.set(STATE_STORE, str(before))


def test_a_folder_belongs_to_one_query_and_options_are_looked_at(log: Path, index: str, tmp_path: Path) -> None:
    append(log, "1.jsonl", {"price": 1})
    run(events_of(log, index), tmp_path)
    shutil.rmtree(tmp_path / "out checkpoint")
    (tmp_path / "out" / next(one.name for one in (tmp_path / "out").glob("_stream=*"))).rename(
        tmp_path / "out" / "_stream=x"
    )

    with pytest.raises(Exception, match="expected a folder of this query, found"):
        run(events_of(log, index), tmp_path)
    with pytest.raises(Exception, match="expected one limit, found maxRows and maxFiles"):
        run(events_of(log, index, maxRows=1, maxFiles=1), tmp_path, "other")
    with pytest.raises(OptionError, match="version: expected a number, or 'index_version' with such a column"):
        ts.match(events_of(log, index).drop(VERSION), index, version=VERSION)
