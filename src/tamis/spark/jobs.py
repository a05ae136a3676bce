"""Whole jobs: what the commands run, from files to files, with the figures they print."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.errors import OptionError
from tamis.spark.columns import EVENT_ID, MATCH_COUNT, REASON, RULE
from tamis.spark.failures import told
from tamis.spark.files import check_new, read_events, write
from tamis.spark.manifest import read_manifest
from tamis.spark.matching import match
from tamis.spark.progress import progress
from tamis.spark.storage import storage
from tamis.spark.validation import validate

__all__ = ["MatchJob", "Matched", "new_folder"]


@dataclass(frozen=True)
class Matched:
    """What a job did. `examples` are (event id, rule, reason) of the first rejected events."""

    events: int
    rejected: int
    matches: int
    seconds: float
    version: int
    examples: list[tuple[str, str | None, str]]


@contextmanager
def new_folder(path: str) -> Iterator[Path]:
    """A folder for results, made now; gone again if what follows fails, so that no half of a result is left."""
    check_new(path)
    folder = Path(path)
    folder.mkdir(parents=True)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@dataclass(frozen=True)
class MatchJob:
    """Events in a file against an index: `matches` and `rejected` as Parquet in a folder."""

    events: str
    index: str
    version: int | None = None
    wide: bool = False
    plan: str = "auto"
    strict: bool = False

    def run(self, spark: SparkSession, out: Path) -> Matched:
        manifest = read_manifest(storage(self.index), self.index, self.version)
        start = time.perf_counter()
        seen, found = Observation(), Observation()
        read = read_events(spark, self.events, manifest.schema)
        events = read.observe(seen, F.count("*").alias("rows")).cache()
        valid, rejected = validate(events, manifest.schema)
        with progress(spark, "matching"):
            write(rejected, str(out / "rejected"))
            examples = _examples(spark, out / "rejected")
            refused = _count(spark, out / "rejected")
            if self.strict and refused:
                raise OptionError(f"{refused} events are refused, and strict allows none; the first is {examples[0]}")
            matches = match(valid, self.index, version=manifest.version, explode=not self.wide, plan=self.plan)
            many = F.sum(MATCH_COUNT) if self.wide else F.count("*")
            write(matches.observe(found, many.alias("matches")), str(out / "matches"))
        events.unpersist()
        seconds = time.perf_counter() - start
        total = int(seen.get["rows"])
        return Matched(total, refused, int(found.get["matches"] or 0), seconds, manifest.version, examples)


def _count(spark: SparkSession, folder: Path) -> int:
    with told():
        return spark.read.parquet(str(folder)).count()


def _examples(spark: SparkSession, folder: Path, most: int = 3) -> list[tuple[str, str | None, str]]:
    with told():
        rows = _first(spark.read.parquet(str(folder)), most)
    return [(str(row[EVENT_ID]), row[RULE], row[REASON]) for row in rows]


def _first(rejected: DataFrame, most: int) -> list[dict[str, str]]:
    return [row.asDict() for row in rejected.select(EVENT_ID, RULE, REASON).limit(most).collect()]
