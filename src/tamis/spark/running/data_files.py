"""Files in and out: Parquet, JSON lines and CSV by their ending, a folder by what is in it."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

from tamis.errors import OptionError
from tamis.model import Boolean, Integer, Number, Schema
from tamis.spark.columns import EVENT, EVENT_ID
from tamis.spark.running.failures import told
from tamis.spark.steps.event_frames import as_events
from tamis.spark.steps.integration import integrate
from tamis.spark.steps.mapping import Mapping, Source
from tamis.spark.versions.storage import is_local, storage

__all__ = [
    "CSV_TYPES",
    "check_new",
    "check_there",
    "events_of_lines",
    "file_format",
    "read_events",
    "read_feed",
    "read_subscriptions",
    "typed",
    "write",
]

_FORMATS = {"parquet": "parquet", "jsonl": "json", "json": "json", "ndjson": "json", "csv": "csv"}
CSV_TYPES: dict[type, str] = {Integer: "bigint", Number: "double", Boolean: "boolean"}


def file_format(path: str) -> str:
    """Spark's name for what the files are."""
    names = [name for name in storage(path).names() if not name.startswith(("_", "."))]
    endings = [name.removesuffix(".gz").rpartition(".")[2] for name in names]
    for ending in endings:
        if ending in _FORMATS:
            return _FORMATS[ending]
    raise OptionError(f"{path}: expected a file, or a folder of files, ending in .parquet, .jsonl or .csv")


def read_feed(spark: SparkSession, path: str) -> DataFrame:
    """A publisher's file with its own columns. CSV has a header; its values are text until a mapping casts them."""
    check_there(path)
    found = file_format(path)
    # A quote within quotes is doubled, as everybody but Spark writes it.
    reader = spark.read.option("header", True).option("escape", '"') if found == "csv" else spark.read
    with told():
        return reader.load(path, format=found)


def read_subscriptions(spark: SparkSession, path: str) -> DataFrame:
    """`id` and `expression`, with whatever other columns there are."""
    return read_feed(spark, path)


def read_events(spark: SparkSession, path: str, schema: Schema) -> DataFrame:
    """Events of the schema itself. JSON lines are read as they stand; CSV is cast to the schema's types."""
    check_there(path)
    found = file_format(path)
    if found == "json":
        with told():
            lines = events_of_lines(spark.read.text(path))
        return lines.withColumn(EVENT_ID, F.coalesce(EVENT_ID, F.uuid()))
    feed = read_feed(spark, path)
    return as_events(feed) if found == "parquet" else typed(feed, schema)


def events_of_lines(lines: DataFrame) -> DataFrame:
    """Lines of JSON (`value`) as events, without those that are blank; the id is null where the event has none."""
    named = F.get_json_object("value", f"$.{EVENT_ID}")
    beside = [name for name in lines.columns if name != "value"]
    return lines.filter(F.trim("value") != "").select(named.alias(EVENT_ID), F.col("value").alias(EVENT), *beside)


def typed(feed: DataFrame, schema: Schema) -> DataFrame:
    """Columns of text cast to the schema's types; what cannot be cast stands in `unread`."""
    types = {name: CSV_TYPES.get(type(schema.domain(name))) for name in feed.columns if name != EVENT_ID}
    sources = {name: Source(column=name, type=kind) for name, kind in types.items()}
    return integrate(feed, Mapping(sources, event_id=EVENT_ID if EVENT_ID in feed.columns else None))


def check_there(path: str) -> None:
    """An input must exist. Of what is not local, a session must run to know."""
    if (is_local(path) or SparkSession.getActiveSession()) and not storage(path).exists():
        raise OptionError(f"{path}: no such file or folder")


def check_new(path: str) -> None:
    """An output must not exist: whoever finds it later must know which job wrote it.

    Of what is not local, a session must run to know.
    """
    if (is_local(path) or SparkSession.getActiveSession()) and storage(path).exists():
        raise OptionError(f"{path}: exists already; name another output, or remove it")


def write(frame: DataFrame, path: str) -> None:
    """As Parquet. Spark's file `_SUCCESS` comes last; a job that fails leaves no file of rows behind."""
    with told():
        frame.write.parquet(path, mode="error")
