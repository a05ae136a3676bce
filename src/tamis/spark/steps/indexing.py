"""Index: compile subscriptions into segments, in parallel, and commit them as a version."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType, StringType

from tamis.batches.refusals import OnError, check_on_error
from tamis.errors import OptionError, SchemaError
from tamis.model import Schema
from tamis.segments.compile.statistics import Statistics
from tamis.spark.columns import COLUMN, EXPRESSION, ID, REASON
from tamis.spark.running.failures import told
from tamis.spark.steps.arguments import IndexPath, check_frame, check_schema, check_type, path_text
from tamis.spark.steps.event_frames import check_batch
from tamis.spark.versions.manifest import FOLDER, Entry, Manifest, commit, latest, read_manifest
from tamis.spark.versions.routing import KEY, selective, with_key
from tamis.spark.versions.storage import Storage, is_local, join, root_of, storage
from tamis.spark.workers.building import BUILT, COPIES, Build
from tamis.store.atomic import PRIVATE, checked_mode

__all__ = [
    "FOLDERS",
    "SEGMENT_ROWS",
    "Commit",
    "entries",
    "finish",
    "first_rejected",
    "index",
    "rejected_subscriptions",
    "subscriptions_of",
    "write_segments",
]

FOLDERS = ("segments", "removed", "rejected")
SEGMENT_ROWS = 250_000
"""Subscriptions per segment that we aim at: large enough to be worth opening, small enough for many tasks."""

_SAMPLE = 10_000
"""Subscriptions looked at to see how many have a key with a value."""

_log = logging.getLogger("tamis.spark")


class Commit(NamedTuple):
    """What became real. `rejected` of the rows given could not be read; `removed` were replaced or deleted."""

    version: int
    subscriptions: int
    segments: int
    size_bytes: int
    rejected: int
    removed: int = 0


def index(
    subscriptions: DataFrame,
    schema: Schema,
    path: IndexPath,
    *,
    statistics: Statistics | None = None,
    on_error: OnError = "collect",
    mode: int | None = None,
) -> Commit:
    """Make the subscriptions (`id`, `expression`) the next version of the index at `path`, whole.

    What cannot be read goes into a table of its own (`rejected_subscriptions`); with `on_error="skip"` it is only
    counted, and with "raise" it stops the build. An index that exists keeps its older versions, and its schema may
    only be extended. `statistics` come from `analyze` and fit the index to the events; answers do not depend on them.
    In a local folder a new index is its owner's alone unless `mode` says otherwise: 0o755 for one that everybody's
    jobs read.
    """
    check_frame(subscriptions, "subscriptions")
    check_on_error(on_error)
    check_batch(subscriptions, "index")
    check_schema(schema)
    if statistics is not None:
        check_type(statistics, Statistics, "statistics")
    path, mode = path_text(path), checked_mode(mode)
    place = storage(path)
    before = latest(place, writing=True)
    if mode is None:
        mode = before.mode if before is not None else PRIVATE
    if before is not None:
        _check_extends(before.schema, schema, path)
    elif set(place.list(".")) - {FOLDER, *FOLDERS}:  # what a build that failed has left is no obstacle
        raise OptionError(f"{path}: expected a new folder or an index, found a folder with other files")
    known = subscriptions_of(subscriptions)
    id_type = known.schema[ID].dataType.simpleString()
    found = statistics.to_json() if statistics is not None else None
    manifest = Manifest(before.version + 1 if before else 1, schema, id_type, (), statistics=found, mode=mode)
    built = write_segments(known, path, manifest)
    return finish(place, path, replace(manifest, segments=entries(built)), built, on_error)


def _check_extends(before: Schema, after: Schema, path: str) -> None:
    try:
        if before.extend(after) == after:
            return
        reason = "it lacks something that the index has"
    except SchemaError as error:
        reason = str(error)
    raise SchemaError(f"{path}: the index has a schema that this one does not extend: {reason}")


def subscriptions_of(frame: DataFrame) -> DataFrame:
    """The columns `id` (a string or a long) and `expression`."""
    missing = [name for name in (ID, EXPRESSION) if name not in frame.columns]
    if missing:
        raise OptionError(f"subscriptions: expected columns 'id' and 'expression', found {', '.join(frame.columns)}")
    kinds = {name: frame.schema[name].dataType for name in (ID, EXPRESSION)}
    whole = isinstance(kinds[ID], ByteType | ShortType | IntegerType | LongType)
    if not whole and not isinstance(kinds[ID], StringType):
        raise OptionError(f"column 'id': expected strings or integers, found {kinds[ID].simpleString()}")
    if not isinstance(kinds[EXPRESSION], StringType):
        raise OptionError(f"column 'expression': expected text, found {kinds[EXPRESSION].simpleString()}")
    return frame.select(F.col(ID).cast("bigint" if whole else "string"), EXPRESSION)


def write_segments(subscriptions: DataFrame, path: str, manifest: Manifest, *, new: bool = True) -> list[Row]:
    """Write the segments, in parallel: one row of `BUILT` for each. Texts are `new`, or the index had them already."""
    for folder in FOLDERS:
        storage(path).make(folder, manifest.mode)
    keyed = with_key(subscriptions, manifest.schema)
    with told():
        copies = subscriptions.groupBy(ID).agg(F.count("*").alias(COPIES))
        total, most = copies.agg(F.sum(COPIES), F.max(COPIES)).collect()[0]
        if not total:
            return []
        share = keyed.limit(_SAMPLE).agg(F.avg(selective(F.col(KEY)).cast("double"))).collect()[0][0]
        if most > 1:
            keyed = keyed.join(copies.filter(F.col(COPIES) > 1), ID, "left")
        else:
            keyed = keyed.withColumn(COPIES, F.lit(None).cast("bigint"))
        work = Build(root_of(path, manifest.mode), manifest.schema, manifest.known, new)
        return _spread(keyed, total, round(total * share)).mapInArrow(work, BUILT).collect()


def _spread(keyed: DataFrame, total: int, chosen: int) -> DataFrame:
    """A partition per segment: equal keys together, keys without a value apart from the others."""
    some, rest = -(-chosen // SEGMENT_ROWS), -(-(total - chosen) // SEGMENT_ROWS)
    least = keyed.sparkSession.sparkContext.defaultParallelism if total >= SEGMENT_ROWS // 10 else 1
    some, rest = max(some, least - rest, 1), max(rest, 1)
    within = F.pmod(F.xxhash64(KEY), F.lit(some))
    # Keys without a value are few; the text spreads them evenly.
    beyond = some + F.pmod(F.xxhash64(EXPRESSION), F.lit(rest))
    bucket = F.when(selective(F.col(KEY)), within).otherwise(beyond).cast("int")
    return keyed.repartitionById(some + rest, bucket)


def entries(built: Sequence[Row]) -> tuple[Entry, ...]:
    """The segments that hold anything."""
    return tuple(_entry(row) for row in built if row.subscriptions)


def _entry(row: Row) -> Entry:
    named = None if row.attributes is None else tuple(row.attributes)
    return Entry(row.path, row.subscriptions, row.size, row.checksum, bytes(row.keys), attributes=named)


def finish(place: Storage, path: str, manifest: Manifest, built: Sequence[Row], on_error: OnError) -> Commit:
    """Commit, with what was rejected now beside what the manifest has; or leave nothing of what was built."""
    refused = tuple(row.rejected for row in built if row.rejected is not None)
    count = sum(row.rejected_count for row in built)
    if on_error == "collect":
        manifest = replace(
            manifest, rejected=(*manifest.rejected, *refused), rejected_count=manifest.rejected_count + count
        )
    try:
        if on_error == "raise" and count:
            raise OptionError(f"{count} subscriptions cannot be read; {_first(path, refused)}")
        commit(place, path, manifest)
    except BaseException:
        for name in {row.path for row in built} | set(refused):
            place.delete(name)
        raise
    for name in refused if on_error == "skip" else ():
        place.delete(name)
    done = Commit(manifest.version, manifest.subscriptions, len(manifest.segments), manifest.size, count)
    _log.info("%s: version %d has %d subscriptions in %d segments, %d bytes; %d rejected", path, *done[:5])
    return done


def _first(path: str, refused: tuple[str, ...]) -> str:
    for id, reason in _some_rejected(path, refused, 1):
        return f"the first is {id!r}: {reason}"
    return ""


def first_rejected(path: str, most: int) -> list[tuple[str, str]]:
    """Ids and reasons of some that the latest version's build could not read. In a local folder that takes no Spark."""
    return _some_rejected(path, read_manifest(storage(path), path).rejected, most)


def _some_rejected(path: str, names: tuple[str, ...], most: int) -> list[tuple[str, str]]:
    if is_local(path):
        rows = [
            row for name in names for row in pq.read_table(storage(path).full(name), columns=[ID, REASON]).to_pylist()
        ]
        return sorted((str(row[ID]), row[REASON]) for row in rows)[:most]
    return [(row[ID], row[REASON]) for row in _read_rejected(path, names).orderBy(ID).limit(most).collect()]


def rejected_subscriptions(path: IndexPath, version: int | None = None) -> DataFrame:
    """The subscriptions that a version's build could not read: `id`, `expression`, `column`, `reason`."""
    path = path_text(path)
    return _read_rejected(path, read_manifest(storage(path), path, version).rejected)


def _read_rejected(path: str, names: tuple[str, ...]) -> DataFrame:
    spark = SparkSession.active()
    ddl = f"{ID} string, {EXPRESSION} string, {COLUMN} int, {REASON} string"
    if not names:
        return spark.createDataFrame([], ddl)
    summed = spark.read.schema(ddl).option("parquet.page.verify-checksum.enabled", True)
    return summed.parquet(*[join(path, name) for name in names])
