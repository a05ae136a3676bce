"""The auction example as one job: integrate three feeds, validate, index, match, notify; and what there is to tell."""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.model import Schema
from tamis.spark.columns import (
    CHANNEL,
    EVENT,
    EVENT_ID,
    EXPRESSION,
    ID,
    PUBLISHER,
    REASON,
    RULE,
    SUBSCRIBER,
    SUBSCRIPTION_ID,
)
from tamis.spark.running.data_files import read_feed, read_subscriptions, write
from tamis.spark.running.failures import told
from tamis.spark.running.progress import progress
from tamis.spark.steps.indexing import Commit, index
from tamis.spark.steps.integration import integrate
from tamis.spark.steps.mapping import Mapping
from tamis.spark.steps.matching import match
from tamis.spark.steps.notification import notify
from tamis.spark.steps.validation import validate

__all__ = ["Notified", "Story", "tell_story"]


class Notified(NamedTuple):
    """Somebody who is told of a listing."""

    subscriber: str
    channel: str
    event_id: str
    subscription_id: str
    expression: str
    event: dict[str, object]


@dataclass(frozen=True)
class Story:
    """`received` and `rejected` count by publisher and by rule; `examples` are (event id, rule, reason)."""

    feeds: Table[str, Path]
    received: Table[str, int]
    rejected: Table[str, int]
    examples: list[tuple[str, str, str]]
    index: Commit
    matches: int
    people: int
    wanted: int
    notified: list[Notified]


def tell_story(spark: SparkSession, folder: Path, feeds: Table[str, Path]) -> Story:
    """Run it. Everything is written under `folder`; a few rows come back."""
    schema = Schema.load(folder / "example" / "schema.toml")
    with progress(spark, "the story"), told():
        events = _integrated(spark, folder, feeds).cache()
        valid, rejected = validate(events, schema)
        write(rejected, str(folder / "rejected"))
        people = read_subscriptions(spark, str(folder / "example" / "subscriptions.parquet"))
        commit = index(people, schema, str(folder / "index"))
        write(match(valid, str(folder / "index"), validated=True), str(folder / "matches"))
        matches = spark.read.parquet(str(folder / "matches"))
        write(notify(matches, people), str(folder / "notifications"))
        notices = spark.read.parquet(str(folder / "notifications"))
        refused = spark.read.parquet(str(folder / "rejected"))
        matched, reached, wanted = notices.agg(
            F.count("*"), F.countDistinct(SUBSCRIBER), F.countDistinct(EVENT_ID)
        ).collect()[0]
        return Story(
            {name: path.relative_to(folder) for name, path in feeds.items()},
            _counted(events, PUBLISHER),
            _counted(refused, RULE),
            _rejected_examples(refused),
            commit,
            matched,
            reached,
            wanted,
            _notified_examples(notices, people, valid),
        )


def _integrated(spark: SparkSession, folder: Path, feeds: Table[str, Path]) -> DataFrame:
    mapped = [
        integrate(read_feed(spark, str(path)), Mapping.load(folder / "example" / "mappings" / f"{name}.toml"))
        for name, path in feeds.items()
    ]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), mapped)


def _counted(frame: DataFrame, by: str) -> dict[str, int]:
    return {row[by]: row["count"] for row in frame.groupBy(by).count().collect()}


def _rejected_examples(refused: DataFrame) -> list[tuple[str, str, str]]:
    """One for each of three attributes: they differ."""
    rows = refused.groupBy("attribute").agg(F.min(F.struct(EVENT_ID, RULE, REASON)).alias("one")).orderBy("attribute")
    return [tuple(row.one) for row in rows.limit(3).collect()]


def _notified_examples(notices: DataFrame, people: DataFrame, valid: DataFrame) -> list[Notified]:
    """Five people and five listings; the rarer a subscription's matches, the more it tells."""
    rare = notices.groupBy(SUBSCRIPTION_ID).agg(F.count("*").alias("times"), F.min(EVENT_ID).alias(EVENT_ID))
    wishes = people.select(F.col(ID).alias(SUBSCRIPTION_ID), SUBSCRIBER, CHANNEL, EXPRESSION)
    chosen = (
        rare.join(wishes, SUBSCRIPTION_ID)
        .groupBy(SUBSCRIBER)
        .agg(F.min(F.struct("times", SUBSCRIPTION_ID, EVENT_ID, CHANNEL, EXPRESSION)).alias("one"))
    )
    five = chosen.orderBy(SUBSCRIBER).limit(5).select(SUBSCRIBER, "one.*")
    rows = five.join(valid.select(EVENT_ID, EVENT), EVENT_ID).orderBy(SUBSCRIBER).collect()
    return [
        Notified(
            row[SUBSCRIBER], row[CHANNEL], row[EVENT_ID], row[SUBSCRIPTION_ID], row[EXPRESSION], row[EVENT].asDict()
        )
        for row in rows
    ]
