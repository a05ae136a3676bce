"""Every step on a stream gives what it gives on a batch, through restarts and new versions of the index."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tamis import OptionError
from tamis import spark as ts
from tamis.model import Schema
from tamis.spark.steps.matching import GROUP_BYTES
from tamis.workloads import auctions

pytestmark = pytest.mark.spark

SCHEMA = Schema.loads(auctions.SCHEMA)
STRUCT = (
    "event_type array<string>, price bigint, reserve bigint, quantity int, period string, category string, "
    "material array<string>"
)
TEXT = "event_id int, event string"
FORMS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "struct": lambda texts: texts.withColumn("event", F.from_json("event", STRUCT)),
    "json": lambda texts: texts,
    "variant": lambda texts: texts.withColumn("event", F.parse_json("event")),
}


def arrive(folder: Path, number: int, rows: Iterator[int], listings: list[dict[str, object]]) -> None:
    """Another file of the stream, seen whole or not at all."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"event_id": row, "event": json.dumps(listings[row])}) for row in rows]
    draft = folder / f".{number}"
    draft.write_text("\n".join(lines))
    os.utime(draft, (1.7e9 + number, 1.7e9 + number))  # a stream takes older files first
    draft.rename(folder / f"{number:03}.json")


@pytest.fixture
def listings() -> list[dict[str, object]]:
    """With event types as lists, as a struct column needs them."""
    listed = list(auctions.listings(60))
    return [{**one, "event_type": [*([kind] if isinstance(kind := one["event_type"], str) else kind)]}
            for one in listed]  # type: ignore[misc]  # fmt: skip


@pytest.fixture
def incoming(tmp_path: Path, listings: list[dict[str, object]]) -> Path:
    for number in range(3):
        arrive(tmp_path / "incoming", number, iter(range(number, 60, 3)), listings)
    return tmp_path / "incoming"


@pytest.fixture
def people(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(list(auctions.subscriptions(80)), "id string, expression string")


@pytest.fixture
def index(tmp_path: Path, people: DataFrame, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("tamis.spark.steps.indexing.SEGMENT_ROWS", 20)
    ts.index(people, SCHEMA, str(tmp_path / "index"))
    return str(tmp_path / "index")


def stream_of(incoming: Path, ddl: str = TEXT) -> DataFrame:
    return SparkSession.active().readStream.schema(ddl).option("maxFilesPerTrigger", 1).json(str(incoming))


def run(frame: DataFrame, folder: Path) -> list[Row]:
    """What the stream has written once it has seen all that is there; called again, it goes on where it was."""
    place = {"path": str(folder), "checkpointLocation": f"{folder} checkpoint"}
    query = frame.writeStream.format("parquet").options(**place).trigger(availableNow=True).start()
    query.awaitTermination()
    return frame.sparkSession.read.schema(frame.schema).parquet(str(folder)).collect()


def pairs_of(rows: list[Row]) -> list[tuple[object, object]]:
    return sorted((row.event_id, row.subscription_id) for row in rows)


@pytest.mark.parametrize("form", FORMS)
def test_events_in_every_form_are_validated_matched_and_notified_like_a_batch(
    form: str, incoming: Path, index: str, people: DataFrame, tmp_path: Path
) -> None:
    batch = FORMS[form](people.sparkSession.read.schema(TEXT).json(str(incoming)))
    valid, rejected = ts.validate(batch, SCHEMA)
    told = ts.notify(ts.match(valid, index), people)

    ok, refused = ts.validate(FORMS[form](stream_of(incoming)), SCHEMA)
    found = run(ts.notify(ts.match(ok, index), people), tmp_path / "told")
    wrong = run(refused.select("event_id", "rule", "reason"), tmp_path / "refused")

    assert pairs_of(found) == pairs_of(told.collect())
    assert found
    assert sorted(wrong) == sorted(rejected.select("event_id", "rule", "reason").collect())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("plan", ["everywhere", "groups"])
def test_both_plans_match_a_stream(
    spark: SparkSession, plan: str, form: str, incoming: Path, index: str, tmp_path: Path
) -> None:
    valid, _ = ts.validate(FORMS[form](spark.read.schema(TEXT).json(str(incoming))), SCHEMA)
    ok, _ = ts.validate(FORMS[form](stream_of(incoming)), SCHEMA)
    spark.conf.set(GROUP_BYTES, "6000")

    found = run(ts.match(ok, index, plan=plan), tmp_path / "found")

    spark.conf.unset(GROUP_BYTES)
    assert pairs_of(found) == pairs_of(ts.match(valid, index).collect())


def test_arrays_and_counts_of_a_stream_want_one_plan(
    spark: SparkSession, incoming: Path, index: str, tmp_path: Path
) -> None:
    ok, _ = ts.validate(stream_of(incoming), SCHEMA)
    valid, _ = ts.validate(spark.read.schema(TEXT).json(str(incoming)), SCHEMA)
    wanted = {row.event_id: row.match_count for row in ts.count_matches(valid, index).collect()}

    wide = run(ts.match(ok, index, explode=False), tmp_path / "wide")
    counts = run(ts.count_matches(ok, index), tmp_path / "counts")
    spark.conf.set(GROUP_BYTES, "6000")
    with pytest.raises(OptionError, match=r"which a stream cannot: raise spark\.tamis\.groupBytes or say plan="):
        ts.match(ok, index, explode=False)
    with pytest.raises(OptionError, match="counts of several groups must be put together"):
        ts.count_matches(ok, index)
    spark.conf.unset(GROUP_BYTES)

    assert {row.event_id: len(row.subscription_ids) for row in wide} == wanted
    assert {row.event_id: row.match_count for row in counts} == wanted


def test_a_feed_is_integrated_as_it_comes(spark: SparkSession, tmp_path: Path) -> None:
    mapping = ts.Mapping.loads(
        'publisher = "attic"\nevent_id = "ref"\nevent_types = ["furniture"]\n[attributes]\n'
        'price = { column = "prix", type = "double", factor = 2 }\nmaterial = { column = "bois", split = ";" }\n'
    )
    feed = tmp_path / "feed"
    feed.mkdir()
    (feed / "1.json").write_text('{"ref": 1, "prix": "4", "bois": "oak;pine"}\n{"ref": 2, "prix": "dear"}\n')
    ddl = "ref int, prix string, bois string"

    found = run(ts.integrate(stream_of(feed, ddl), mapping), tmp_path / "out")

    wanted = ts.integrate(spark.read.schema(ddl).json(str(feed)), mapping).collect()
    assert sorted(found, key=lambda row: row.event_id) == sorted(wanted, key=lambda row: row.event_id)
    assert [row.event.price for row in sorted(found, key=lambda row: row.event_id)] == [8.0, None]


def test_a_restart_goes_on_where_the_stream_was(
    spark: SparkSession, tmp_path: Path, listings: list[dict[str, object]], index: str
) -> None:
    """The second run fails in the middle of its second file; the third does that file again and no other."""
    incoming, out = tmp_path / "incoming", tmp_path / "out"
    arrive(incoming, 0, iter(range(20)), listings)

    def matched(failing: int | None) -> DataFrame:
        ok, _ = ts.validate(stream_of(incoming), SCHEMA)
        found = ts.match(ok, index)
        fail = F.raise_error(F.lit("power cut")).cast("int")
        return found if failing is None else found.withColumn(
            "event_id", F.when(F.col("event_id") == failing, fail).otherwise(F.col("event_id"))
        )  # fmt: skip

    first = run(matched(None), out)
    arrive(incoming, 1, iter(range(20, 40)), listings)
    arrive(incoming, 2, iter(range(40, 60)), listings)
    valid, _ = ts.validate(spark.read.schema(TEXT).json(str(incoming)), SCHEMA)
    wanted = pairs_of(ts.match(valid, index).collect())
    failing = next(event for event, _ in wanted if isinstance(event, int) and event >= 40)
    with pytest.raises(Exception, match="power cut"):
        run(matched(failing), out)
    between = spark.read.parquet(str(out)).collect()
    last = run(matched(None), out)

    assert 0 < len(first) < len(between) < len(last)
    assert pairs_of(last) == wanted


def test_a_stream_keeps_the_version_it_began_with_and_a_batch_may_look_again(
    spark: SparkSession, tmp_path: Path, listings: list[dict[str, object]], index: str
) -> None:
    incoming = tmp_path / "incoming"
    arrive(incoming, 0, iter(range(20)), listings)
    ok, _ = ts.validate(stream_of(incoming), SCHEMA)
    pinned, out = ts.match(ok, index), tmp_path / "seen"
    numbers = count()

    def matched(batch: DataFrame, number: int) -> None:
        ts.match(batch, index).write.mode("overwrite").parquet(f"{out}/{number}")
        if next(numbers) == 0:  # between the first batch and the second
            ts.update(index, spark.createDataFrame([("new", "price > 0")], "id string, expression string"))

    arrive(incoming, 1, iter(range(20, 40)), listings)
    place = str(tmp_path / "checkpoint")
    query = ok.writeStream.foreachBatch(matched).option("checkpointLocation", place).trigger(availableNow=True).start()
    query.awaitTermination()

    versions = [{row.index_version for row in spark.read.parquet(f"{out}/{number}").collect()} for number in (0, 1)]
    assert versions == [{1}, {2}]
    assert any(row.subscription_id == "new" for row in spark.read.parquet(f"{out}/1").collect())
    assert {row.index_version for row in run(pinned, tmp_path / "pinned")} == {1}


def test_steps_that_look_at_all_rows_refuse_a_stream(incoming: Path, index: str, tmp_path: Path) -> None:
    stream = stream_of(incoming, "id string, expression string, event string")

    with pytest.raises(OptionError, match="analyze: expected a batch, found a stream; call it in foreachBatch"):
        ts.analyze(stream)
    with pytest.raises(OptionError, match="index: expected a batch, found a stream"):
        ts.index(stream, SCHEMA, str(tmp_path / "other"))
    with pytest.raises(OptionError, match="update: expected a batch, found a stream"):
        ts.update(index, stream)
