"""`format("tamis")`: an event log in a folder as a source, with the version of an index in its offsets; a folder of
batches as a sink.

The version that a batch is matched against is part of the offset at which the batch ends. Spark writes offsets to its
log before a batch runs, so that a batch that comes again has the same version, and matching may stay in the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from tamis.errors import OptionError
from tamis.spark.columns import EVENT, EVENT_ID, VERSION
from tamis.spark.streaming.event_log import EventLog, Most, Position, Stretch
from tamis.spark.streaming.sink import FolderWriter, StreamFolderWriter
from tamis.spark.versions.holding import Watch, hold, release
from tamis.spark.versions.manifest import Manifest, read_manifest
from tamis.spark.versions.storage import is_local, storage

__all__ = ["FORMAT", "TamisSource", "register_source"]

FORMAT = "tamis"
_LIMITS = {"maxRows": ReadMaxRows, "maxBytes": ReadMaxBytes, "maxFiles": ReadMaxFiles}


def register_source(spark: SparkSession) -> None:
    """Let a session know `format("tamis")`."""
    spark.dataSource.register(TamisSource)


class TamisSource(DataSource):
    """Options of reading: `path`; `index`, whose newest whole version each row carries; `version` of it, for a batch;
    one of `maxRows`, `maxBytes`, `maxFiles` per micro-batch. Of writing: `path`, and a stream's checkpoint."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        version = f", {VERSION} int" if self._option("index") else ""
        return f"{EVENT_ID} string, {EVENT} string{version}"

    def reader(self, schema: StructType) -> DataSourceReader:
        return LogReader(EventLog(self._path()), self._pinned())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        return LogStreamReader(self._path(), self._option("index"), self._limit())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        if overwrite:
            raise OptionError("format tamis: expected mode 'append', found 'overwrite'; remove the folder yourself")
        return FolderWriter(self._path())

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802  # Spark's name
        checkpoint = self._option("checkpointLocation")
        if checkpoint is None:
            raise OptionError("format tamis: expected an option 'checkpointLocation', found none")
        return StreamFolderWriter(self._path(), checkpoint)

    def _option(self, name: str) -> str | None:
        found = {key.lower(): one for key, one in self.options.items()}.get(name.lower())
        return None if found is None else str(found)

    def _path(self) -> str:
        path = self._option("path")
        if path is None or not is_local(path):
            raise OptionError(f"format tamis: expected the path of a folder that all workers see, found {path!r}")
        return path

    def _pinned(self) -> Manifest | None:
        index, version = self._option("index"), self._option("version")
        if index is None:
            return None
        return Watch(index).newest() if version is None else read_manifest(storage(index), index, int(version))

    def _limit(self) -> ReadLimit:
        given = {name: found for name in _LIMITS if (found := self._option(name)) is not None}
        if len(given) > 1:
            raise OptionError(f"format tamis: expected one limit, found {' and '.join(given)}")
        for name, text in given.items():
            if not text.isdecimal() or not int(text):
                raise OptionError(f"{name}: expected a whole number from 1 on, found {text!r}")
            return _LIMITS[name](int(text))
        return ReadAllAvailable()


@dataclass(frozen=True)
class LogPart(InputPartition):
    """A piece of the log, and the version that its rows carry."""

    stretch: Stretch
    version: int | None

    def rows(self, log: EventLog) -> Iterator[pa.RecordBatch]:
        batch = log.read(self.stretch)
        if self.version is not None:
            batch = batch.append_column(VERSION, pa.array(np.full(len(batch), self.version, np.int32)))
        yield batch


class LogReader(DataSourceReader):
    """All of the log as it is now."""

    def __init__(self, log: EventLog, pinned: Manifest | None) -> None:
        self._log = log
        self._version = None if pinned is None else pinned.version

    def partitions(self) -> Sequence[InputPartition]:
        return [LogPart(one, self._version) for one in self._log.split(self._log.stretches(Position()))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, LogPart)
        return partition.rows(self._log)


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The log as it grows. An offset is `{"file", "byte", "version", "stream"}`; the last is the stream's id, made
    when it first starts, under which it holds the versions it may need again."""

    def __init__(self, path: str, index: str | None, limit: ReadLimit) -> None:
        if index is not None and not is_local(index):
            raise OptionError(f"{index}: expected an index in a folder that all workers see; others are for ts.stream")
        self._log = EventLog(path)
        self._index = index
        self._limit = limit
        self._watch: Watch | None = None
        self._end: Position | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  # Spark's name, as the others here
        return {"file": "", "byte": 0, "version": 0, "stream": uuid4().hex}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return self._limit

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What comes from now on is for the next run."""
        self._end = _end_of(self._log.stretches(Position()), Position())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """If no event has come, the start: a new version alone is no reason for a batch."""
        before = Position(start["file"], start["byte"])
        end = _end_of(self._log.stretches(before, self._end, _most(limit)), before)
        if end == before:
            return start
        return {
            "file": end.file,
            "byte": end.byte,
            "version": self._version(start["stream"]),
            "stream": start["stream"],
        }

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        end = _end_of(self._log.stretches(Position()), Position())
        return {"file": end.file, "byte": end.byte, "version": 0, "stream": ""}

    def _version(self, stream: str) -> int:
        if self._index is None:
            return 0
        self._watch = self._watch or Watch(self._index)
        manifest = self._watch.newest()
        hold(storage(self._index), stream, manifest, "a stream with the source `tamis` needs this version")
        return manifest.version

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        found = self._log.stretches(Position(start["file"], start["byte"]), Position(end["file"], end["byte"]))
        version = None if self._index is None else int(end["version"])
        return [LogPart(one, version) for one in self._log.split(found)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, LogPart)
        return partition.rows(self._log)

    def commit(self, end: dict[str, Any]) -> None:
        if self._index is not None:
            release(storage(self._index), end["stream"], below=int(end["version"]))

    def stop(self) -> None:
        """Nothing is left open."""


def _end_of(stretches: list[Stretch], start: Position) -> Position:
    return Position(stretches[-1].file, stretches[-1].end) if stretches else start


def _most(limit: ReadLimit) -> Most:
    if isinstance(limit, ReadMaxRows):
        return Most(rows=limit.max_rows)
    if isinstance(limit, ReadMaxBytes):
        return Most(size=limit.max_bytes)
    return Most(files=limit.max_files) if isinstance(limit, ReadMaxFiles) else Most()
