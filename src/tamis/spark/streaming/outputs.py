"""Where a stream's batches go: folders, tables, or a function of the user's.

A batch that is done again, because the driver died before Spark had noted it as done, takes its own place in a folder
and in a table. A function is called again, and must bear it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias
from urllib.parse import urlsplit
from uuid import uuid4

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it
from pyspark.sql.types import BooleanType, DataType, DoubleType, FloatType, IntegralType, StringType, VariantType

from tamis.errors import OptionError
from tamis.model.values import show_raw
from tamis.spark.steps.event_frames import quoted
from tamis.spark.versions.storage import join
from tamis.store.batch_rows import BATCH_ID, SCHEMES, BatchTable

__all__ = ["BatchKey", "Files", "FolderJvm", "Function", "Output", "Sql", "Target", "as_output"]


class BatchKey(NamedTuple):
    """A batch of a stream; batches of another checkpoint have the same numbers."""

    stream: str
    number: int


class Output(Protocol):
    """Takes a batch's rows, in the place of those it had: the number of rows, if that is known."""

    def write(self, rows: DataFrame, key: BatchKey) -> int | None: ...


@dataclass(frozen=True)
class Files:
    """Parquet under `path/batch_id=N/`, which readers see whole or not at all."""

    path: str

    def write(self, rows: DataFrame, key: BatchKey) -> int:
        folder = FolderJvm(rows.sparkSession, self.path)
        folder.claim(key.stream)
        staged, counted = f"_staged/{key.number}-{uuid4().hex}", Observation()
        rows.observe(counted, F.count(F.lit(1)).alias("rows")).write.parquet(join(self.path, staged))
        self.commit(folder, staged, key)
        return int(counted.get["rows"])

    def commit(self, folder: FolderJvm, staged: str, key: BatchKey) -> None:
        folder.put(staged, f"{BATCH_ID}={key.number}")


class FolderJvm:
    """A folder on any file system that Spark knows: what takes renaming, which `Storage` does without."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm: Any = spark._jvm
        self._root = path
        self._conf: Any = spark.sparkContext._jsc.hadoopConfiguration()
        self._fs: Any = self._path(".").getFileSystem(self._conf)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root if name == "." else join(self._root, name))

    def claim(self, stream: str) -> None:
        """Make it the folder of a stream; `OptionError` if it is another's."""
        owner = f"_stream={stream}"
        if self._fs.exists(self._path(owner)):
            return
        names = [one.getPath().getName() for one in self._fs.listStatus(self._path("."))] if self.exists() else []
        if names:
            raise OptionError(
                f"{self._root}: expected a folder of this stream, or none yet, found other files in it; batches of "
                "another checkpoint have the same numbers: name another folder, or remove this one"
            )
        self._fs.mkdirs(self._path(owner))

    def exists(self) -> bool:
        return bool(self._fs.exists(self._path(".")))

    def put(self, staged: str, name: str) -> None:
        """Give a draft its name, in the place of what has it: that goes first, whole, and the draft comes, whole."""
        target = self._path(name)
        if self._fs.exists(target):
            self._rename(target, self._path(f"_staged/old-{uuid4().hex}"))
        self._rename(self._path(staged), target)
        self._fs.delete(self._path("_staged"), True)

    def _rename(self, old: Any, new: Any) -> None:
        if not self._fs.rename(old, new):
            raise OSError(f"{old} cannot be renamed to {new}")

    def take_in(self, file: str, name: str) -> bool:
        """Move a file from anywhere to here; False if it is gone already."""
        source = self._jvm.org.apache.hadoop.fs.Path(file)
        fs = source.getFileSystem(self._conf)
        if not fs.exists(source):
            return False
        self._fs.mkdirs(self._path("."))
        moved = self._jvm.org.apache.hadoop.fs.FileUtil.copy(fs, source, self._fs, self._path(name), True, self._conf)
        return bool(moved)


@dataclass(frozen=True)
class Sql:
    """Rows in a table of a database: SQLite, DuckDB, PostgreSQL (`tamis.store.batch_rows`). They go through the
    driver. What is neither text, number nor truth is written as JSON."""

    url: str
    table: str

    def write(self, rows: DataFrame, key: BatchKey) -> int:
        kinds = {field.name: _sql_type(field.dataType) for field in rows.schema}
        plain = rows.select(*[_plain(name, rows.schema[name].dataType) for name in rows.columns])
        return self.commit(BatchTable(self.url, self.table, kinds), plain, key)

    def commit(self, table: BatchTable, rows: DataFrame, key: BatchKey) -> int:
        return table.replace(key.stream, key.number, map(tuple, rows.toLocalIterator(prefetchPartitions=True)))


def _sql_type(kind: DataType) -> str:
    if isinstance(kind, IntegralType):
        return "BIGINT"
    if isinstance(kind, BooleanType):
        return "BOOLEAN"
    return "DOUBLE PRECISION" if isinstance(kind, DoubleType | FloatType) else "TEXT"


def _plain(name: str, kind: DataType) -> Column:
    column = F.col(quoted(name))
    if _sql_type(kind) != "TEXT" or isinstance(kind, StringType):
        return column
    nested = hasattr(kind, "elementType") or hasattr(kind, "fields") or hasattr(kind, "keyType")
    told = F.to_json(column) if nested or isinstance(kind, VariantType) else column.cast("string")
    return told.alias(name)


@dataclass(frozen=True)
class Function:
    """Whatever a function does with the rows and the batch's number. It is called again for a batch done again."""

    call: Callable[[DataFrame, int], object]

    def write(self, rows: DataFrame, key: BatchKey) -> None:
        self.call(rows, key.number)


Target: TypeAlias = str | Path | Output | Callable[[DataFrame, int], object]


def as_output(name: str, target: Target) -> Output:
    """A path is a folder, the URL of a database its table of the output's name, a function itself."""
    if isinstance(target, str | os.PathLike):
        text = os.fspath(target)
        return Sql(text, name) if urlsplit(text).scheme in SCHEMES else Files(text)
    if hasattr(target, "write"):
        return target
    if callable(target):
        return Function(target)
    raise OptionError(f"{name}: expected a folder, the URL of a database or a function, found {show_raw(target)}")
