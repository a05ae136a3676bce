"""Whole jobs: what the commands run, from files to files, with the figures they print."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.batches.refusals import OnError
from tamis.errors import OptionError
from tamis.spark.columns import EVENT_ID, MATCH_COUNT, REASON, RULE
from tamis.spark.running.data_files import check_new, read_events, write
from tamis.spark.running.failures import told
from tamis.spark.running.progress import progress
from tamis.spark.steps.matching import match
from tamis.spark.steps.validation import validate
from tamis.spark.versions.manifest import read_manifest
from tamis.spark.versions.storage import join, storage
from tamis.spark.workers.tally import Tally

__all__ = ["MatchJob", "Matched", "new_folder", "refused_events"]


@dataclass(frozen=True)
class Matched:
    """What a job did. `examples` are (event id, rule, reason) of the first rejected events.

    `asked` and `skipped` count pairs of an event and a segment: those looked into, and those that could be left out.
    """

    events: int
    rejected: int
    matches: int
    asked: int
    skipped: int
    seconds: float
    version: int
    examples: list[tuple[str, str | None, str]]


@contextmanager
def new_folder(path: str) -> Iterator[str]:
    """A folder for results, made now; gone again if what follows fails, so that no half of a result is left."""
    check_new(path)
    place = storage(path)
    place.make(".")
    try:
        yield path
    except BaseException:
        place.clear()
        raise


@dataclass(frozen=True)
class MatchJob:
    """Events in a file against an index: `matches` and `rejected` as Parquet in a folder."""

    events: str
    index: str
    version: int | None = None
    wide: bool = False
    plan: str = "auto"
    on_error: OnError = "collect"
    """Of events; "skip" writes no table of those that are rejected."""

    def run(self, spark: SparkSession, out: str) -> Matched:
        manifest = read_manifest(storage(self.index), self.index, self.version)
        start = time.perf_counter()
        seen, found, tally = Observation(), Observation(), Tally(spark)
        read = read_events(spark, self.events, manifest.schema)
        events = read.observe(seen, F.count("*").alias("rows")).cache()
        valid, rejected = validate(events, manifest.schema)
        with progress(spark, "validating"):
            write(rejected, join(out, "rejected"))
            examples = _examples(spark, join(out, "rejected"))
            refused = _count(spark, join(out, "rejected"))
        if self.on_error == "raise" and refused:
            raise refused_events(refused, examples[0])
        if self.on_error == "skip":
            storage(join(out, "rejected")).clear()
        with progress(spark, "matching", tally):
            matches = match(
                valid,
                self.index,
                version=manifest.version,
                explode=not self.wide,
                plan=self.plan,
                tally=tally,
                validated=True,
            )
            many = F.sum(MATCH_COUNT) if self.wide else F.count("*")
            write(matches.observe(found, many.alias("matches")), join(out, "matches"))
        events.unpersist()
        return Matched(
            events=int(seen.get["rows"]),
            rejected=refused,
            matches=int(found.get["matches"] or 0),
            asked=tally.asked,
            skipped=tally.skipped,
            seconds=time.perf_counter() - start,
            version=manifest.version,
            examples=examples,
        )


def refused_events(count: int, first: tuple[str, str | None, str]) -> OptionError:
    """What stops a job that is to stop."""
    id, rule, reason = first
    return OptionError(f"{count} events are refused; the first is {id}: {rule + ': ' if rule else ''}{reason}")


def _count(spark: SparkSession, folder: str) -> int:
    with told():
        return spark.read.parquet(folder).count()


def _examples(spark: SparkSession, folder: str, most: int = 3) -> list[tuple[str, str | None, str]]:
    with told():
        rows = _first(spark.read.parquet(folder), most)
    return [(str(row[EVENT_ID]), row[RULE], row[REASON]) for row in rows]


def _first(rejected: DataFrame, most: int) -> list[dict[str, str]]:
    return [row.asDict() for row in rejected.select(EVENT_ID, RULE, REASON).limit(most).collect()]
