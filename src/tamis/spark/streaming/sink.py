"""Rows written in two phases: workers stage files, the driver gives all of a batch its name at once.

<path>/batch_id=3/…        a stream's batch; done again, it takes its own place
<path>/part=<uuid>/…       what one batch job wrote
<path>/_stream=<id>        whose folder it is
<path>/_staged/…           drafts
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from tamis.errors import OptionError
from tamis.spark.versions.storage import local_path
from tamis.store.atomic import sync_folder
from tamis.store.batch_rows import BATCH_ID

__all__ = ["FolderWriter", "StreamFolderWriter"]

_STAGED = "_staged"


@dataclass
class Staged(WriterCommitMessage):
    """A file that a task has written; none, if it had no rows."""

    file: str | None


def _stage(root: Path, batches: Iterator[pa.RecordBatch]) -> Staged:
    """In a worker. A task that is run again writes another file, and nobody names the first."""
    writer, file = None, f"{uuid4().hex}.parquet"
    for batch in batches:
        if writer is None:
            (root / _STAGED).mkdir(parents=True, exist_ok=True)
            writer = pq.ParquetWriter(root / _STAGED / file, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()
    return Staged(None if writer is None else file)


def _publish(root: Path, messages: list[WriterCommitMessage | None], name: str) -> None:
    """All files of a batch under one name, in the place of what has it."""
    draft = root / _STAGED / f"{name}-{uuid4().hex}"
    draft.mkdir(parents=True)
    for file in _files(messages):
        (root / _STAGED / file).rename(draft / file)
    sync_folder(draft)
    target = root / name
    if target.exists():
        target.rename(root / _STAGED / f"old-{uuid4().hex}")
    draft.rename(target)
    sync_folder(root)
    shutil.rmtree(root / _STAGED, ignore_errors=True)


def _discard(root: Path, messages: list[WriterCommitMessage | None]) -> None:
    for file in _files(messages):
        (root / _STAGED / file).unlink(missing_ok=True)


def _files(messages: list[WriterCommitMessage | None]) -> list[str]:
    return [one.file for one in messages if isinstance(one, Staged) and one.file is not None]


class FolderWriter(DataSourceArrowWriter):
    """A batch job's rows in a folder of their own."""

    def __init__(self, path: str) -> None:
        self._root = Path(str(local_path(path)))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _stage(self._root, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        _publish(self._root, messages, f"part={uuid4().hex}")

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        _discard(self._root, messages)


class StreamFolderWriter(DataSourceStreamArrowWriter):
    """A stream's batches, each once: the same query and the same number take the same place."""

    def __init__(self, path: str, checkpoint: str) -> None:
        self._root = Path(str(local_path(path)))
        self._owner = f"_stream={xxhash.xxh3_128_hexdigest(checkpoint.encode())}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _stage(self._root, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        self._claim()
        _publish(self._root, messages, f"{BATCH_ID}={batchId}")

    def _claim(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        if (self._root / self._owner).exists():
            return
        if others := [one.name for one in self._root.iterdir() if one.name != _STAGED]:
            raise OptionError(
                f"{self._root}: expected a folder of this query, found {others[0]}; batches of another checkpoint have "
                "the same numbers: name another folder, or remove this one"
            )
        (self._root / self._owner).mkdir()

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        _discard(self._root, messages)
