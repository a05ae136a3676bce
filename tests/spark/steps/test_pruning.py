"""What no subscription names is not sent to the workers, and cannot break a match; a closed schema checks it still."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis import JobError, Schema
from tamis import spark as ts
from tamis.spark.running.failures import told
from tamis.spark.versions.manifest import commit, read_manifest
from tamis.spark.versions.storage import storage

pytestmark = pytest.mark.spark

PLANS = ["everywhere", "groups"]
SUBSCRIPTIONS = [
    ("cheap", "price < 20"),
    ("near", "place.city = 'Lyon'"),
    ("both", "price < 5 and place.city = 'Nice'"),
]
CLOSED = Schema.loads("""
[attributes]
price = "number"
"place.city" = "string"
"place.zip" = "string"
note = "string"
""")


def index_of(spark: SparkSession, path: Path, schema: Schema) -> Path:
    frame = spark.createDataFrame(SUBSCRIPTIONS, "id string, expression string")
    assert ts.index(frame, schema, path).rejected == 0
    return path


@pytest.fixture(scope="module")
def index(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return index_of(spark, tmp_path_factory.mktemp("pruning") / "index", Schema(open=True))


@pytest.fixture(scope="module")
def wide(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Structs with much that nobody names, and that nobody could read."""
    event = """struct(id as price, struct(if(id = 1, 'Lyon', 'Nice') as city, 'x' as zip) as place,
        binary('z') as raw, array(struct(id as width)) as images, map('k', array(1)) as labels, double('NaN') as wrong,
        array(1, 2) as `place.zip`)"""
    path = str(tmp_path_factory.mktemp("wide") / "events")
    spark.range(30).selectExpr("id as event_id", f"{event} as event").write.parquet(path)
    return spark.read.parquet(path)


def pairs_of(matches: DataFrame) -> set[tuple[object, object]]:
    return {(row.event_id, row.subscription_id) for row in matches.collect()}


def scanned(frame: DataFrame) -> str:
    """The columns that the scan reads, as the plan says it."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return " ".join(re.findall(r"ReadSchema: (.*)", plan))


EXPECTED = {(id, "cheap") for id in range(20)} | {(1, "near")} | {(id, "both") for id in range(5) if id != 1}


def test_the_manifest_knows_what_is_named(index: Path) -> None:
    manifest = read_manifest(storage(str(index)), str(index))

    assert manifest.used is not None
    assert manifest.used.names == {"price", "place.city"}


@pytest.mark.parametrize("plan", PLANS)
def test_what_nobody_names_is_not_read(index: Path, wide: DataFrame, plan: str) -> None:
    matches = ts.match(wide, index, plan=plan)
    columns = wide.select("event_id", "event.*")
    counts = ts.count_matches(columns, index, plan=plan)

    assert pairs_of(matches) == EXPECTED
    assert {row.event_id: row.match_count for row in counts.collect()} == {
        event: sum(1 for one, _ in EXPECTED if one == event) for event, _ in EXPECTED
    }
    for frame in (matches, counts):
        assert not re.search("raw|images|labels|wrong|zip", scanned(frame))
        assert "price" in scanned(frame)
        assert "city" in scanned(frame)


@pytest.mark.parametrize("plan", PLANS)
def test_an_event_that_is_none_is_refused_though_nothing_of_it_is_named(
    spark: SparkSession, index: Path, plan: str
) -> None:
    events = spark.createDataFrame([(1, None), (2, ("x",))], "event_id int, event struct<other: string>")

    with pytest.raises(JobError, match="event 1: expected an event, found nothing"), told():
        ts.match(events, index, plan=plan).collect()
    matches, rejected = ts.match(events, index, plan=plan, on_error="collect", unmatched=True)

    assert pairs_of(matches) == {(2, None)}
    assert [row.event_id for row in rejected.collect()] == [1]


@pytest.mark.parametrize("plan", PLANS)
def test_rejected_are_those_that_are_not_matched(index: Path, wide: DataFrame, plan: str) -> None:
    broken = wide.withColumn(
        "event", F.col("event").withField("price", F.expr("if(event.price = 3, 'NaN', '4')::double"))
    )

    matches, rejected = ts.match(broken, index, plan=plan, on_error="collect", explode=False, unmatched=True)

    refused = rejected.collect()
    assert [(row.event_id, row.attribute) for row in refused] == [(3, "price")]
    assert refused[0].event.raw is not None  # whole, as it came
    assert {row.event_id for row in matches.collect()} == set(range(30)) - {3}


@pytest.mark.parametrize("plan", PLANS)
def test_a_closed_schema_checks_all_unless_it_was_done(
    spark: SparkSession, tmp_path: Path, wide: DataFrame, plan: str
) -> None:
    path = index_of(spark, tmp_path / "index", CLOSED)
    good = wide.select("event_id", F.struct("event.price", "event.place", F.lit("n").alias("note")).alias("event"))

    assert pairs_of(ts.match(good, path, plan=plan)) == EXPECTED
    assert "zip" in scanned(ts.match(good, path, plan=plan))
    with pytest.raises(JobError, match="R3"), told():
        ts.match(
            wide.select("event_id", F.struct("event.price", "event.raw").alias("event")), path, plan=plan
        ).collect()
    trusting = ts.match(wide, path, plan=plan, validated=True)
    assert pairs_of(trusting) == EXPECTED
    assert not re.search("raw|images|labels|wrong|zip", scanned(trusting))


def test_an_index_that_does_not_say_what_it_names_is_sent_everything(
    spark: SparkSession, index: Path, tmp_path: Path, wide: DataFrame
) -> None:
    path = tmp_path / "old"
    shutil.copytree(index, path)
    manifest = read_manifest(storage(str(index)), str(index))
    (path / "manifests" / "00000001.json").unlink()
    entries = tuple(replace(one, attributes=None) for one in manifest.segments)
    commit(storage(str(path)), str(path), replace(manifest, segments=entries))

    found = ts.match(wide.select("event_id", F.struct("event.price", "event.place").alias("event")), path)

    assert pairs_of(found) == EXPECTED
    assert "zip" in scanned(found)
