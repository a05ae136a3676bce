"""Events as they arrive: the files of a folder, the messages of Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StringType, StructField, StructType

from tamis.errors import OptionError
from tamis.model import Schema
from tamis.spark.columns import ARRIVED, ATTRIBUTE, EVENT, EVENT_ID, REASON, UNREAD
from tamis.spark.running.data_files import check_there, events_of_lines, file_format, typed
from tamis.spark.running.failures import told
from tamis.spark.steps.arguments import IndexPath, check_schema, path_text
from tamis.spark.steps.event_frames import as_events, quoted

__all__ = ["event_files", "feed_files", "kafka_events"]

_FORMATS = ("json", "csv", "parquet")
_BROKEN = "_broken_line"
_PLACE = "_place"
_MOST_SHOWN = 60


def event_files(
    spark: SparkSession,
    path: IndexPath,
    schema: Schema,
    *,
    format: str | None = None,
    max_files: int | None = None,
) -> DataFrame:
    """A stream of events of the schema: the files in a folder, older ones first, at most `max_files` per batch.

    They are JSON lines, CSV with a header, or Parquet; the folder shows which, or `format` says it ("json", "csv",
    "parquet"). A file must appear whole, by renaming. CSV and Parquet take their columns from what is there now. A
    line that cannot be read is rejected as an event; a file that cannot is for `Outputs.set_aside`.
    """
    check_schema(schema)
    files = _Files.at(spark, path, format, max_files)
    if files.format == "json":
        with told():
            lines = files.reader.text(files.path)
        return events_of_lines(lines.select("value", _arrival()))
    if files.format == "parquet":
        arriving = files.rows().select("*", _arrival())
        return as_events(arriving.select(*_packed(arriving)))
    return _read_lines(files.rows(StructField(_BROKEN, StringType())), schema)


def feed_files(
    spark: SparkSession, path: IndexPath, *, format: str | None = None, max_files: int | None = None
) -> DataFrame:
    """The same for a publisher's files with columns of its own, for a mapping; all take them from what is there now."""
    return _Files.at(spark, path, format, max_files).rows()


class _Files(NamedTuple):
    """A folder of files, and how they are read."""

    spark: SparkSession
    path: str
    format: str
    reader: DataStreamReader

    @classmethod
    def at(cls, spark: SparkSession, path: IndexPath, format: str | None, max_files: int | None) -> _Files:
        path = path_text(path)
        check_there(path)
        found = format or file_format(path)
        if found not in _FORMATS:
            raise OptionError(f"format: expected one of {', '.join(_FORMATS)}, found {found!r}")
        # A file that was set aside is gone when its batch is tried again.
        reader = spark.readStream.option("ignoreMissingFiles", True)
        if max_files is not None:
            reader = reader.option("maxFilesPerTrigger", max_files)
        return cls(spark, path, found, reader)

    def rows(self, *more: StructField) -> DataFrame:
        """Rows with the columns of what is there, and more."""
        columns = _columns(self.spark, self.path, self.format)
        reader = self.reader.schema(StructType([*columns, *more]))
        if self.format == "csv":
            reader = reader.option("header", True).option("escape", '"').option("columnNameOfCorruptRecord", _BROKEN)
        with told():
            return reader.load(self.path, format=self.format)


def _columns(spark: SparkSession, path: str, found: str) -> StructType:
    reader = spark.read.option("header", True).option("escape", '"').option("ignoreCorruptFiles", True)
    with told():
        columns = reader.load(path, format=found).schema
    if not len(columns):
        raise OptionError(f"{path}: expected a file at least, to see which columns there are, found none")
    return columns


def _arrival() -> Column:
    return F.col("_metadata.file_modification_time").alias(ARRIVED)


def _packed(frame: DataFrame) -> list[Column]:
    """All columns but the id and the time of arrival as one event, unless there is one already."""
    if EVENT in frame.columns:
        return [F.col("*")]
    beside = [name for name in (EVENT_ID, ARRIVED) if name in frame.columns]
    packed = [quoted(name) for name in frame.columns if name not in beside]
    return [*map(F.col, beside), F.struct(*packed).alias(EVENT)]


def _read_lines(frame: DataFrame, schema: Schema) -> DataFrame:
    """Rows of a CSV, cast; a line that has no such row is listed in `unread`, and rejected for it."""
    events = typed(frame.select("*", _arrival()), schema)
    broken = F.col(EVENT)[_BROKEN]
    shown = F.substring(broken, 1, _MOST_SHOWN)
    sentence = F.concat(F.lit("expected a line with a value for each column, found '"), shown, F.lit("'"))
    told = F.array(F.struct(F.lit(None).cast("string").alias(ATTRIBUTE), sentence.alias(REASON)))
    unread = F.when(broken.isNotNull(), told).otherwise(F.col(UNREAD))
    id = F.col(EVENT_ID) if EVENT_ID in frame.columns else F.lit(None).cast("string")
    event = F.col(EVENT).dropFields(ARRIVED, _BROKEN)
    return events.select(
        id.alias(EVENT_ID), event.alias(EVENT), unread.alias(UNREAD), F.col(EVENT)[ARRIVED].alias(ARRIVED)
    )


def kafka_events(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """A stream of Kafka's messages, each a JSON text. An event without an id is named by its topic, partition and
    offset. The options are those of Spark's connector, as `kafka.bootstrap.servers` and `subscribe`."""
    with told():
        messages = spark.readStream.format("kafka").options(**options).load()
    place = F.concat_ws(":", "topic", "partition", "offset").alias(_PLACE)
    text = messages.select(F.col("value").cast("string"), place, F.col("timestamp").alias(ARRIVED))
    events = events_of_lines(text)
    return events.withColumn(EVENT_ID, F.coalesce(EVENT_ID, _PLACE)).drop(_PLACE)
