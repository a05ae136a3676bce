"""Index, match, update, vacuum: the answers are those of the in-process engine, whatever the plan."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tamis import Engine, JobError, OptionError, SchemaError, SegmentError, WriteConflict
from tamis import spark as ts
from tamis.model import Schema
from tamis.spark.running.failures import told
from tamis.spark.steps.matching import GROUP_BYTES
from tamis.spark.versions.manifest import latest, manifest_path
from tamis.spark.versions.storage import storage
from tamis.workloads import auctions
from tamis.workloads.catalogue import find_workload

pytestmark = pytest.mark.spark

Pairs = set[tuple[object, object]]
SCHEMA = Schema.loads(auctions.SCHEMA)


def frame_of(spark: SparkSession, subscriptions: Iterable[tuple[str, str | None]]) -> DataFrame:
    return spark.createDataFrame(list(subscriptions), "id string, expression string")


def pairs_of(matches: DataFrame) -> Pairs:
    rows = matches.collect()
    found = {(row.event_id, row.subscription_id) for row in rows}
    assert len(found) == len(rows), "a pair came twice"
    return found


def expected(engine: Engine, events: list[dict[str, object]]) -> Pairs:
    matches = engine.match_many(events)
    return {(row, id) for row in range(len(events)) for id in matches.for_event(row)}


@pytest.fixture
def listings() -> list[dict[str, object]]:
    """Valid ones only."""
    found = []
    for listing in auctions.listings(150):
        try:
            SCHEMA.event(listing)
        except Exception:  # noqa: BLE001  # the others are for the tests of validate
            continue
        found.append(listing)
    return found


@pytest.fixture
def events(spark: SparkSession, listings: list[dict[str, object]]) -> DataFrame:
    ddl = (
        "event_type array<string>, price bigint, reserve bigint, quantity int, period string, category string, "
        "material array<string>"
    )
    return spark.createDataFrame(list(enumerate(listings)), f"event_id int, event struct<{ddl}>")


@pytest.fixture
def many_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small segments, so that small data has many."""
    monkeypatch.setattr("tamis.spark.steps.indexing.SEGMENT_ROWS", 40)


@pytest.mark.usefixtures("many_segments")
def test_both_plans_and_all_shapes_agree_with_the_engine(
    spark: SparkSession, tmp_path: Path, events: DataFrame, listings: list[dict[str, object]]
) -> None:
    subscriptions = list(auctions.subscriptions(400))
    engine = Engine(SCHEMA)
    engine.subscribe_many(subscriptions)
    path = str(tmp_path / "index")

    done = ts.index(frame_of(spark, subscriptions), SCHEMA, path)
    everywhere = pairs_of(ts.match(events, path))
    wide = ts.match(events, path, explode=False).collect()
    counted = ts.count_matches(events, path).collect()
    spark.conf.set(GROUP_BYTES, "6000")
    grouped = ts.match(events, path)
    wide_of_groups = ts.match(events, path, explode=False).collect()
    counted_of_groups = ts.count_matches(events, path).collect()
    spark.conf.unset(GROUP_BYTES)

    assert (done.version, done.subscriptions, done.rejected) == (1, 400, 0)
    assert done.segments > 4
    wanted = expected(engine, listings)
    assert everywhere == wanted
    assert "groups" in grouped._jdf.queryExecution().toString()
    assert pairs_of(grouped) == wanted
    lists = {row.event_id: sorted(row.subscription_ids) for row in wide}
    assert {(event, id) for event, ids in lists.items() for id in ids} == wanted
    assert {row.event_id: sorted(row.subscription_ids) for row in wide_of_groups} == lists
    assert all(row.match_count == len(row.subscription_ids) for row in [*wide, *wide_of_groups])
    counts = {event: len(ids) for event, ids in lists.items()}
    for rows in (wide, wide_of_groups, counted, counted_of_groups):
        assert len(rows) == len(counts), "an event has several rows"
        assert {row.event_id: row.match_count for row in rows} == counts
        assert {row.index_version for row in rows} == {1}


@pytest.mark.usefixtures("many_segments")
def test_an_answer_too_wide_for_a_row_goes_on_in_others(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.spark.steps.matching.MOST_IDS", 30)
    path = str(tmp_path / "index")
    ts.index(frame_of(spark, [(f"s{at}", f"price < {at}") for at in range(300)]), Schema(open=True), path)
    events = spark.createDataFrame([(1, '{"price": 200}'), (2, '{"price": 290}')], "event_id int, event string")
    spark.conf.set(GROUP_BYTES, "6000")

    rows = ts.match(events, path, explode=False).collect()

    spark.conf.unset(GROUP_BYTES)
    ids = [(row.event_id, id) for row in rows for id in row.subscription_ids]
    assert len(rows) > 2
    assert len(ids) == len(set(ids)) == 99 + 9
    assert {id for event, id in ids if event == 2} == {f"s{at}" for at in range(291, 300)}


@pytest.mark.usefixtures("many_segments")
@pytest.mark.parametrize("plan", ["everywhere", "groups"])
@pytest.mark.parametrize("shape", ["pairs", "lists", "counts"])
def test_skipped_segments_are_counted(spark: SparkSession, tmp_path: Path, plan: str, shape: str) -> None:
    """With an equality each, an event meets few of the segments; what is asked, skipped and found adds up."""
    workload, path = find_workload("lesub", p=1.0), str(tmp_path / "index")
    done = ts.index(ts.generate_subscriptions(spark, workload, 600), workload.schema(), path)
    events, tally = ts.generate_events(spark, workload, 100), ts.Tally(spark)
    engine = Engine(workload.schema())
    engine.subscribe_many(workload.subscriptions(600))

    if shape == "counts":
        found = ts.count_matches(events, path, plan=plan, tally=tally).collect()
    else:
        found = ts.match(events, path, plan=plan, explode=shape == "pairs", tally=tally).collect()

    total = engine.match_many(workload.events(100)).total
    assert done.segments >= 14
    assert (len(found) if shape == "pairs" else sum(row.match_count for row in found)) == total
    assert tally.matches == total
    assert tally.asked == ts.routes(events, path).count()
    assert tally.asked + tally.skipped == 100 * done.segments
    assert tally.asked < 0.5 * 100 * done.segments
    assert tally.events == 100


@pytest.mark.usefixtures("many_segments")
def test_json_and_variant_events_take_the_same_ways(spark: SparkSession, tmp_path: Path) -> None:
    workload, path = find_workload("web"), str(tmp_path / "index")
    ts.index(ts.generate_subscriptions(spark, workload, 300), workload.schema(), path)
    events = ts.generate_events(spark, workload, 60)
    texts = events.selectExpr("event_id", "to_json(event) as event")
    variants = texts.selectExpr("event_id", "parse_json(event) as event")

    wanted = pairs_of(ts.match(events, path))

    assert wanted
    assert pairs_of(ts.match(texts, path, plan="everywhere")) == wanted
    assert pairs_of(ts.match(texts, path, plan="groups")) == wanted
    assert pairs_of(ts.match(variants, path)) == wanted
    assert pairs_of(ts.match(events, path, plan="groups")) == wanted


@pytest.mark.usefixtures("many_segments")
def test_updates_replace_insert_and_delete_and_old_versions_stay(
    spark: SparkSession, tmp_path: Path, events: DataFrame, listings: list[dict[str, object]]
) -> None:
    draw = random.Random(4)
    subscriptions = dict(auctions.subscriptions(200))
    path = str(tmp_path / "index")
    engine = Engine(SCHEMA)
    engine.subscribe_many(subscriptions.items())
    ts.index(frame_of(spark, subscriptions.items()), SCHEMA, path)
    first = expected(engine, listings)
    ids = draw.sample(sorted(subscriptions), 60)
    replaced = [(id, text) for id, (_, text) in zip(ids[:30], auctions.subscriptions(30, seed=9), strict=True)]
    inserted = [(f"new-{at}", text) for at, (_, text) in enumerate(auctions.subscriptions(20, seed=8))]
    engine.subscribe_many([*replaced, *inserted])
    for id in ids[30:]:
        engine.unsubscribe(id)

    done = ts.update(path, frame_of(spark, [*replaced, *inserted, *((id, None) for id in [*ids[30:], "nobody"])]))
    again = ts.update(path, frame_of(spark, [("new-0", None)]))
    engine_now = expected(engine, listings)

    assert (done.version, done.subscriptions, done.removed) == (2, 190, 60)
    assert (again.version, again.subscriptions, again.removed) == (3, 189, 1)
    assert pairs_of(ts.match(events, path, version=1)) == first
    assert pairs_of(ts.match(events, path, version=2)) == engine_now
    engine.unsubscribe("new-0")
    assert pairs_of(ts.match(events, path)) == expected(engine, listings)
    assert pairs_of(ts.match(events, path, plan="groups")) == expected(engine, listings)


def test_what_does_not_parse_is_rejected_and_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "index")
    rows = [
        ("a", "price < 10"),
        ("b", "price <"),
        ("c", None),
        ("d", "price < 1"),
        ("d", "price < 2"),
        (None, "price < 3"),
    ]
    frame = spark.createDataFrame(rows, "id string, expression string")

    done = ts.index(frame, SCHEMA, path)
    rejected = {(row.id, row.expression): (row.column, row.reason) for row in ts.rejected_subscriptions(path).collect()}
    updated = ts.update(path, frame_of(spark, [("a", "prise < 10")]))

    assert (done.subscriptions, done.rejected) == (1, 5)
    assert rejected["b", "price <"][0] == 8
    assert "expected" in rejected["b", "price <"][1]
    assert rejected["d", "price < 1"][1] == "the id stands 2 times; expected it once"
    assert (updated.subscriptions, updated.rejected, updated.removed) == (1, 1, 0)
    assert "prise" in ts.rejected_subscriptions(path).collect()[0].reason


def test_strict_stops_and_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "index"

    with pytest.raises(OptionError, match="1 subscriptions cannot be read; the first is 'b'"):
        ts.index(frame_of(spark, [("a", "price < 10"), ("b", "price <")]), SCHEMA, str(path), on_error="raise")

    assert [file for file in path.rglob("*") if file.is_file()] == []
    assert ts.index(frame_of(spark, []), SCHEMA, str(tmp_path / "again")).version == 1
    with pytest.raises(OptionError, match="expected an index; there is no index"):
        ts.match(frame_of(spark, []), str(path))


def test_of_two_writers_one_wins_and_the_other_is_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "index")
    ts.index(frame_of(spark, [("a", "price < 10")]), SCHEMA, path)
    from tamis.spark.steps import indexing

    commit = indexing.commit

    def late(*arguments: object) -> None:
        monkeypatch.setattr(indexing, "commit", commit)
        ts.update(path, frame_of(spark, [("b", "price < 20")]))
        commit(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(indexing, "commit", late)
    with pytest.raises(WriteConflict, match="somebody else committed version 2 meanwhile"):
        ts.update(path, frame_of(spark, [("c", "price < 30")]))

    manifest = latest(storage(path))
    assert manifest is not None
    assert (manifest.version, manifest.subscriptions) == (2, 2)
    assert {file.name for file in (tmp_path / "index" / "segments").iterdir()} == {
        one.path.partition("/")[2] for one in manifest.segments
    }


def test_a_half_written_manifest_is_no_version(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "index"
    ts.index(frame_of(spark, [("a", "price < 10")]), SCHEMA, str(path))
    whole = (path / manifest_path(1)).read_bytes()
    (path / manifest_path(2)).write_bytes(whole[: len(whole) // 2])

    seen = latest(storage(str(path)))
    with pytest.raises(WriteConflict, match="version 2 is being written, or its writer died"):
        ts.update(str(path), frame_of(spark, [("b", "price < 20")]))
    ts.vacuum(str(path), min_age_hours=0)

    assert seen is not None
    assert seen.version == 1
    assert ts.update(str(path), frame_of(spark, [("b", "price < 20")])).version == 2


def test_a_vacuum_keeps_what_kept_versions_need(spark: SparkSession, tmp_path: Path, events: DataFrame) -> None:
    path = str(tmp_path / "index")
    ts.index(frame_of(spark, auctions.subscriptions(50)), SCHEMA, path)
    ts.update(path, frame_of(spark, [("x", "price < 2000")]))
    ts.index(frame_of(spark, auctions.subscriptions(50, seed=2)), SCHEMA, path)
    before = pairs_of(ts.match(events, path))

    young = ts.vacuum(path)
    old = ts.vacuum(path, min_age_hours=0)

    assert young == 0
    assert old >= 4
    assert pairs_of(ts.match(events, path)) == before
    with pytest.raises(OptionError, match="expected version 1; there are 3"):
        ts.match(events, path, version=1)


def test_a_corrupt_segment_is_named_and_gives_no_answer(spark: SparkSession, tmp_path: Path, events: DataFrame) -> None:
    path = tmp_path / "index"
    ts.index(frame_of(spark, auctions.subscriptions(50)), SCHEMA, str(path))
    segment = next((path / "segments").iterdir())
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)

    with pytest.raises(JobError, match=f"{segment.name}: the checksum does not fit"), told():
        ts.match(events, str(path)).collect()


def test_a_bit_in_the_newest_manifest_tells_no_deleted_subscription_again(spark: SparkSession, tmp_path: Path) -> None:
    path, event = tmp_path / "index", spark.createDataFrame([(1, '{"price": 5}')], "event_id int, event string")
    ts.index(frame_of(spark, [("a", "price < 10"), ("b", "price < 20")]), Schema(open=True), str(path))
    ts.update(str(path), frame_of(spark, [("a", None)]))
    newest = path / manifest_path(2)
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    files = sorted(path.rglob("*"))

    with pytest.raises(SegmentError, match=f"{newest.name}: the checksum does not fit: the manifest is damaged"):
        ts.match(event, str(path))
    with pytest.raises(SegmentError, match=newest.name):
        ts.update(str(path), frame_of(spark, [("b", None)]))
    with pytest.raises(SegmentError, match=newest.name):
        ts.vacuum(str(path), min_age_hours=0)

    assert sorted(path.rglob("*")) == files


def test_a_bit_in_the_list_of_the_dead_revives_nobody(spark: SparkSession, tmp_path: Path) -> None:
    path, event = tmp_path / "index", spark.createDataFrame([(1, '{"price": 5}')], "event_id int, event string")
    ts.index(frame_of(spark, [("a", "price < 10"), ("b", "price < 20")]), Schema(open=True), str(path))
    ts.update(str(path), frame_of(spark, [("a", None)]))
    [removed] = (path / "removed").iterdir()
    content = bytearray(removed.read_bytes())
    content[-8] ^= 1
    removed.write_bytes(content)

    with pytest.raises(JobError, match=f"{removed.name}: the checksum does not fit: the file is damaged"), told():
        ts.match(event, str(path)).collect()


def test_a_schema_may_only_be_extended(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "index")
    ts.index(frame_of(spark, [("a", "price < 10")]), SCHEMA, path)

    with pytest.raises(SchemaError, match="the index has a schema that this one does not extend"):
        ts.index(frame_of(spark, [("a", "n < 10")]), Schema.loads('attributes = { n = "number" }'), path)
    grown = SCHEMA.add_attribute("colour", "string")
    assert ts.index(frame_of(spark, [("a", "colour = 'red'")]), grown, path).version == 2


def test_file_uris_work_like_paths(spark: SparkSession, tmp_path: Path, events: DataFrame) -> None:
    path = f"file://{tmp_path}/an index"
    frame = frame_of(spark, auctions.subscriptions(30))
    ts.index(frame, SCHEMA, path)

    assert pairs_of(ts.match(events, path)) == pairs_of(ts.match(events, str(tmp_path / "an index")))


def test_no_subscriptions_and_no_events_are_no_error(spark: SparkSession, tmp_path: Path, events: DataFrame) -> None:
    path = str(tmp_path / "index")

    done = ts.index(frame_of(spark, []), SCHEMA, path)

    assert (done.version, done.subscriptions, done.segments) == (1, 0, 0)
    assert ts.match(events, path).collect() == []
    assert ts.match(events, path, plan="groups").collect() == []
    ts.update(path, frame_of(spark, [("a", "price < 10")]))
    assert ts.match(events.filter("false"), path).collect() == []


def test_wrong_input_is_told_before_anything_runs(spark: SparkSession, tmp_path: Path, events: DataFrame) -> None:
    path = tmp_path / "index"
    with pytest.raises(OptionError, match="expected columns 'id' and 'expression', found id"):
        ts.index(spark.range(1), SCHEMA, str(path))
    with pytest.raises(OptionError, match="column 'id': expected strings or integers, found double"):
        ts.index(spark.createDataFrame([(1.5, "x")], "id double, expression string"), SCHEMA, str(path))
    (path / "other").mkdir(parents=True)
    with pytest.raises(OptionError, match="expected a new folder or an index"):
        ts.index(frame_of(spark, []), SCHEMA, str(path))
    (path / "other").rmdir()
    ts.index(frame_of(spark, []), SCHEMA, str(path))
    with pytest.raises(OptionError, match="no plan is called 'group'; did you mean 'groups'"):
        ts.match(events, str(path), plan="group")
    with pytest.raises(OptionError, match="ids of type string, the changes of type bigint"):
        ts.update(str(path), spark.createDataFrame([(1, "price < 1")], "id long, expression string"))


def test_notifications_name_the_subscriber_and_the_channel(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "index")
    rows = [("s1", "price < 10", "ann", "mail"), ("s2", "price < 20", "bob", None)]
    people = spark.createDataFrame(rows, "id string, expression string, subscriber string, channel string")
    ts.index(people, Schema(open=True), path)
    events = spark.createDataFrame([(1, '{"price": 5}'), (2, '{"price": 15}')], "event_id int, event string")

    told_all = ts.notify(ts.match(events, path), people).collect()
    told_wide = ts.notify(ts.match(events, path, explode=False), people.select("id")).collect()

    assert {(row.subscriber, row.channel, row.subscription_id, row.event_id) for row in told_all} == {
        ("ann", "mail", "s1", 1),
        ("bob", None, "s2", 1),
        ("bob", None, "s2", 2),
    }
    assert {(row.subscriber, row.event_id) for row in told_wide} == {("s1", 1), ("s2", 1), ("s2", 2)}
