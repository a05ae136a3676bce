"""Many updates leave small segments and dead rows; compaction says the same in fewer."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tamis import Engine, OptionError, WriteConflict
from tamis import spark as ts
from tamis.model import Schema
from tamis.spark.steps import compaction
from tamis.spark.versions.manifest import Manifest, read_manifest
from tamis.spark.versions.storage import storage

pytestmark = pytest.mark.spark

SCHEMA = Schema.loads('attributes = { price = "number", name = "string" }')
EVENTS: list[dict[str, object]] = [{"price": price, "name": "ab"[price % 2]} for price in range(0, 60, 3)]
Changes = list[tuple[str, str | None]]


@pytest.fixture
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(list(enumerate(EVENTS)), "event_id int, event struct<price: int, name: string>")


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.spark.steps.indexing.SEGMENT_ROWS", 80)
    monkeypatch.setattr("tamis.spark.steps.compaction._MOST_SMALL", 3)


def frame_of(spark: SparkSession, changes: Changes) -> DataFrame:
    return spark.createDataFrame(changes, "id string, expression string").coalesce(1)


def history() -> list[Changes]:
    """An index, then changes that insert, replace and delete."""
    first: Changes = [(f"s{at}", f"price < {at}") for at in range(60)]
    later: list[Changes] = []
    for number in range(5):
        inserted: Changes = [(f"n{number}-{at}", f"name = 'a' and price > {10 * at}") for at in range(3)]
        replaced: Changes = [(f"s{number}", f"price > {50 - number}")]
        later.append([*inserted, *replaced, (f"s{10 + number}", None)])
    return [first, *later]


def manifest_of(path: str, version: int | None = None) -> Manifest:
    return read_manifest(storage(path), path, version)


def answers(events: DataFrame, path: str, version: int | None = None) -> set[tuple[object, object]]:
    rows = ts.match(events, path, version=version).collect()
    found = {(row.event_id, row.subscription_id) for row in rows}
    assert len(found) == len(rows)
    return found


def test_updates_compact_by_themselves_and_every_version_stays_right(
    spark: SparkSession, tmp_path: Path, events: DataFrame
) -> None:
    path, engine = str(tmp_path / "index"), Engine(SCHEMA)
    wanted, versions = {}, []
    for number, changes in enumerate(history()):
        frame = frame_of(spark, changes)
        done = ts.update(path, frame) if number else ts.index(frame, SCHEMA, path)
        for id, text in changes:
            engine.unsubscribe(id) if text is None else engine.subscribe(id, text)
        matches = engine.match_many(EVENTS)
        wanted[done.version] = {(row, id) for row in range(len(EVENTS)) for id in matches.for_event(row)}
        versions.append(done.version)

    counts = {version: len(manifest_of(path, version).segments) for version in range(1, versions[-1] + 1)}
    assert versions != list(range(1, 7)), "no version was made by compaction"
    assert max(counts.values()) <= 6
    assert {version: answers(events, path, version) for version in wanted} == wanted
    assert ts.vacuum(path, min_age_hours=0) > 0
    assert answers(events, path) == wanted[versions[-1]]


def test_compacting_rewrites_what_is_small_or_half_dead_and_nothing_else(
    spark: SparkSession, tmp_path: Path, events: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.spark.steps.compaction._MOST_SMALL", 100)
    path = str(tmp_path / "index")
    ts.index(frame_of(spark, [(f"s{at}", f"price < {at}") for at in range(60)]), SCHEMA, path)
    large = manifest_of(path).segments
    for at in range(3):
        ts.update(path, frame_of(spark, [(f"n{at}", "name = 'a'"), ("odd", "price <")]))
    before = answers(events, path)

    done = ts.compact(path)
    again = ts.compact(path)

    manifest = manifest_of(path)
    assert (done.version, done.subscriptions, done.segments) == (5, 63, len(large) + 1)
    assert again.version == 5
    assert manifest.segments[: len(large)] == large
    assert manifest.rejected_count == 1, "what the last update rejected is still told"
    assert answers(events, path) == before
    ts.update(path, frame_of(spark, [(f"s{at}", None) for at in range(40)]))
    assert sum(one.removed_count for one in manifest_of(path).segments) == 0, "a third of it was dead"
    assert ts.compact(path).subscriptions == 23


def test_a_compaction_that_comes_second_leaves_the_update_standing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "index")
    ts.index(frame_of(spark, [("a", "price < 10")]), SCHEMA, path)

    def conflict(path: str) -> object:
        raise WriteConflict("somebody else committed", path, 3)

    monkeypatch.setattr("tamis.spark.steps.updating.compact", conflict)
    monkeypatch.setattr(compaction, "_MOST_SMALL", 0)
    done = ts.update(path, frame_of(spark, [("b", "price < 20")]))

    assert (done.version, done.subscriptions) == (2, 2)
    with pytest.raises(OptionError, match="expected an index to compact, found none"):
        ts.compact(str(tmp_path / "nothing"))
