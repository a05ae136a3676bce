"""Where an index lies: a local folder, or any path that Spark's Hadoop file systems know.

What is asked of a file system, and no more: a file that was closed is seen whole by everybody afterwards; a name can be
created exclusively (the second who tries is told so); names can be listed and deleted. Nothing is ever renamed or
overwritten. HDFS creates exclusively. Of an object store's connector ask whether `create(path, overwrite=false)` is
atomic there (for S3 that takes conditional writes); where it is not, let one writer at a time update an index.

The driver speaks to local folders directly and to the rest through its JVM. Workers have no JVM: they write and fetch
files with Hadoop's shell (`hadoop`), and memory-map a copy that the workers of an executor share.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.sql import SparkSession

from tamis.errors import OptionError, SegmentError
from tamis.spark.workers.hadoop import Settings, copies_of, put
from tamis.store.atomic import PRIVATE, file_mode, open_file, read_file, sync_folder, why, write_all

__all__ = ["Root", "Storage", "fetch", "is_local", "join", "local_path", "root_of", "storage", "writing"]


class Storage:
    """A local folder, as the driver sees it. Paths are relative to the root."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def list(self, folder: str) -> dict[str, float]:
        """The names in a folder, each with the time of its last change in seconds; none if it does not exist."""
        try:
            return {entry.name: entry.stat().st_mtime for entry in (self._root / folder).iterdir()}
        except FileNotFoundError:
            return {}
        except NotADirectoryError:
            raise OptionError(f"{self._root}: expected a folder, found a file") from None

    def full(self, path: str) -> str:
        """The path as messages name it."""
        return str(self._root / path)

    def read(self, path: str) -> bytes:
        try:
            return read_file(self._root / path)
        except OSError as error:
            raise SegmentError(f"cannot be read: {why(error)}", self.full(path)) from None

    def create(self, path: str, content: bytes, mode: int = PRIVATE) -> bool:
        """Write a new file, on disk with its name when this returns; False if the name is taken."""
        target = self._root / path
        self.make(str(Path(path).parent), mode)
        try:
            with open_file(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode) as file:
                write_all(file.fileno(), content, 0)
                os.fsync(file.fileno())
        except FileExistsError:
            return False
        sync_folder(target.parent)
        return True

    def delete(self, path: str) -> None:
        (self._root / path).unlink(missing_ok=True)

    def names(self) -> tuple[str, ...]:
        """What is here: the names in the folder, or the file's own; none if there is nothing."""
        if self._root.is_dir():
            return tuple(sorted(entry.name for entry in self._root.iterdir()))
        return (self._root.name,) if self._root.exists() else ()

    def exists(self) -> bool:
        return self._root.exists()

    def make(self, folder: str, mode: int | None = None) -> None:
        """A folder, with those above it; of those that are new the root and what is in it have the mode, if given."""
        target = self._root / folder
        missing = [one for one in (target, *target.parents) if not one.exists()]
        for one in reversed(missing):
            one.mkdir(exist_ok=True)
            if mode is not None and one.is_relative_to(self._root):
                one.chmod(mode)
            sync_folder(one.parent)

    def clear(self) -> None:
        """Delete everything here."""
        shutil.rmtree(self._root, ignore_errors=True)


class HadoopStorage(Storage):
    """Any other file system, through the driver's JVM."""

    def __init__(self, root: str) -> None:
        spark: Any = SparkSession.getActiveSession()
        if spark is None:
            raise OptionError(f"{root}: expected a running Spark session, which knows such paths, found none")
        self._uri = root
        self._jvm = spark._jvm
        path = self._jvm.org.apache.hadoop.fs.Path(root)
        try:
            self._fs = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        except Py4JJavaError as error:
            raise OptionError(f"{root}: {_sentence(error)}") from None

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(join(self._uri, path))

    def list(self, folder: str) -> dict[str, float]:
        path = self._path(folder)
        found = self._fs.listStatus(path) if self._fs.exists(path) else []
        return {one.getPath().getName(): one.getModificationTime() / 1000 for one in found}

    def full(self, path: str) -> str:
        return join(self._uri, path)

    def read(self, path: str) -> bytes:
        try:
            stream = self._fs.open(self._path(path))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise SegmentError(f"cannot be read: {_sentence(error)}", self.full(path)) from None

    def create(self, path: str, content: bytes, mode: int = PRIVATE) -> bool:
        """Here the file system's own rules say who may read."""
        try:
            stream = self._fs.create(self._path(path), False)
        except Py4JJavaError as error:
            if "FileAlreadyExists" in error.java_exception.getClass().getName():
                return False
            raise OptionError(f"{join(self._uri, path)}: {_sentence(error)}") from None
        stream.write(content)
        stream.close()
        return True

    def delete(self, path: str) -> None:
        self._fs.delete(self._path(path), False)

    def names(self) -> tuple[str, ...]:
        path = self._jvm.org.apache.hadoop.fs.Path(self._uri)
        found = self._fs.listStatus(path) if self._fs.exists(path) else []
        return tuple(sorted(one.getPath().getName() for one in found))

    def exists(self) -> bool:
        return bool(self._fs.exists(self._jvm.org.apache.hadoop.fs.Path(self._uri)))

    def make(self, folder: str, mode: int | None = None) -> None:
        self._fs.mkdirs(self._path(folder))

    def clear(self) -> None:
        self._fs.delete(self._jvm.org.apache.hadoop.fs.Path(self._uri), True)


def _sentence(error: Py4JJavaError) -> str:
    return str(error.java_exception.getMessage()).split("\n")[0]


def storage(root: str) -> Storage:
    """The storage at a path or URI; all but local folders need a running session."""
    local = local_path(root)
    return HadoopStorage(root) if local is None else Storage(local)


def is_local(path: str) -> bool:
    return local_path(path) is not None


def join(root: str, path: str) -> str:
    return f"{root.rstrip('/')}/{path}"


def local_path(uri: str) -> str | None:
    """The plain path that a path or a file: URI stands for."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return unquote(parts.path)
    return None if parts.scheme and "://" in uri else uri


# -- in a worker ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Root:
    """A path as it is sent to workers, with what they need to reach it."""

    uri: str
    settings: Settings = ()
    mode: int = PRIVATE


def root_of(path: str, mode: int = PRIVATE) -> Root:
    """On the driver: a path for its workers; what they write in a local folder is for those that the mode says."""
    spark = SparkSession.getActiveSession() if local_path(path) is None else None
    known = spark.sparkContext.getConf().getAll() if spark is not None else []
    prefix = "spark.hadoop."
    settings = tuple((name.removeprefix(prefix), found) for name, found in known if name.startswith(prefix))
    return Root(path, settings, mode)


@contextmanager
def writing(root: Root, name: str) -> Iterator[Path]:
    """A local file to write; afterwards it lies under its name. The name is new and nobody knows it until a manifest
    does, so it need not appear at once."""
    target = local_path(join(root.uri, name))
    if target is not None:
        Storage(str(local_path(root.uri))).make(str(Path(name).parent), root.mode)
        yield Path(target)
        _settle(Path(target), root.mode)
        return
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder, name.rpartition("/")[2])
        yield draft
        put(draft, join(root.uri, name), root.settings)


def _settle(path: Path, mode: int) -> None:
    """Who may read a file that was written, and the file on disk with its name: a manifest will name it."""
    with open_file(path, os.O_RDWR) as file:
        os.fchmod(file.fileno(), file_mode(mode))
        os.fsync(file.fileno())
    sync_folder(path.parent)


def fetch(root: Root, names: Sequence[str]) -> list[Path]:
    """Local files with the content: the files themselves, or copies that all workers of an executor share."""
    uris = [join(root.uri, name) for name in names]
    if local_path(root.uri) is None:
        return copies_of(uris, root.settings)
    return [Path(local) for uri in uris if (local := local_path(uri)) is not None]
