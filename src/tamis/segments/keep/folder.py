"""A collection that survives: a folder with segments, a list of them, and a log of what came since.

    current.json      which segments count, with their dead; the schema, what is known of events (`current.py`)
    segment-N-K.seg   as `segment_file.py` writes them
    log-N.wal         one record per write since `current.json` number N was written (`log.py`)
    dropped-N-B.bin   what the last crash left of a write that never returned, at byte B of log N
    lock              held by the one process that has the folder open

A write is in the log, and the log is on disk, before the call returns; so what returned survives `kill -9` and the
loss of power. Opening maps the segments and replays the log. A checkpoint writes new segments, an empty log and a new
`current.json`, in this order, each on disk with its name before the next, and only then drops the old log and the
segments nobody lists; what a crash leaves of it is swept when the folder is opened.

An interrupt may come before any bytecode. A record counts once the log's tail says so, which is set last and in one
step; a checkpoint counts once `current.json` has its new name. What counts is seen through, what does not is undone.
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import logging
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace as with_other
from pathlib import Path
from typing import Any, NamedTuple, cast

from tamis import forks
from tamis.errors import SegmentError
from tamis.model import Schema, SubscriptionId
from tamis.registry.finishing import finish
from tamis.segments.compile.statistics import Statistics
from tamis.segments.ids import IdIndex
from tamis.segments.keep.current import NAME, Current, Listed, listed_number, read_current, write_current
from tamis.segments.keep.log import Found, Log, LogRecord, new_generation, read_log
from tamis.segments.keep.segment_file import open_listed, save_segment, sums_of
from tamis.segments.segment import Segment
from tamis.store.atomic import (
    PRIVATE,
    file_mode,
    from_the_system,
    open_file,
    read_file,
    sync_folder,
    why,
    write_atomically,
)

__all__ = ["UNREAD", "Dropped", "Folder", "Record", "is_folder", "log_bytes", "written"]

Record = list[Any]
"""["s", id, text] or ["u", id]."""

_OURS = re.compile(
    r"current\.json|lock|dropped-\d+-\d+\.bin|segment-(\d+)-\d+\.seg|log-(\d+)\.wal"
    r"|\.(current\.json|segment-.*|dropped-.*)\.[0-9a-f]{8}"
)
_NOT_FOR_US = (errno.EROFS, errno.EACCES, errno.EPERM)

_log = logging.getLogger("tamis.folder")


Replayed = tuple[int, bytes]
"""How many records of a log, and the last of them."""
UNREAD: Replayed = (-1, b"")
"""Of a log that must be read from its beginning."""


class Dropped(NamedTuple):
    """A last write that did not reach the disk, and so was never acknowledged; `kept` is the file that has it now."""

    record: int
    byte: int
    bytes: int
    kept: str | None


def is_folder(path: Path) -> bool:
    """Whether an engine lies there."""
    return (path / NAME).is_symlink() or (path / NAME).exists()


class Folder:
    """One engine's folder; one at a time may hold it, to write. Who only reads holds, makes and alters nothing."""

    def __init__(
        self, path: Path, schema: Schema | None = None, *, create: bool = False, replace: bool = False,
        read_only: bool = False, mode: int | None = None, marked: bool = False,
    ) -> None:  # fmt: skip
        """Open what is there, or make it. `replace` disregards what is there, which stays until the next checkpoint.

        A folder that we may not write to is opened as with `read_only`. `mode` is that of the folder; of its files it
        is the same without the right to enter. It is kept; without it a new folder is its owner's alone. A `marked`
        one logs nothing: its checkpoints are of a log that is kept elsewhere, each at a mark of that.
        """
        self.marked = marked
        self.path = path
        self.read_only = read_only
        self.recovered: Dropped | None = None
        self._current: Current | None = None
        self._log: Log | None = None
        self._mode = mode if mode is not None else PRIVATE
        self._number = 0
        self.replayed: Replayed = (0, b"")
        """How many records were read, and the last of them, by which a log is known to go on from there."""
        self._made = 0
        self._files: weakref.WeakKeyDictionary[IdIndex, str] = weakref.WeakKeyDictionary()
        self._handles: dict[str, io.FileIO] = {}
        self._process = os.getpid()
        forks.tell(self)
        weakref.finalize(self, _close_all, self._handles)  # an engine that nobody closed lets go when it is collected
        if (create or replace) and not read_only:
            self._make()
        elif not is_folder(path):
            raise SegmentError("expected a saved engine; create=True makes one", str(path))
        try:
            if not read_only:
                self._hold(needed=replace or not is_folder(path))
            self._open(schema, replace, mode)
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        try:
            if not self.path.is_dir():
                self.path.mkdir(PRIVATE)
                if self._mode != PRIVATE:
                    self.path.chmod(self._mode)
            if not is_folder(self.path):
                sync_folder(self.path.parent)  # also the name of a folder whose maker died before it came to this
            foreign = [path.name for path in self.path.iterdir() if not _OURS.fullmatch(path.name)]
        except (OSError, ValueError) as error:
            raise self._refused(error, self.path) from None
        if foreign:
            raise SegmentError(f"cannot write here: {min(foreign)!r} is no part of an engine", str(self.path))

    def _hold(self, *, needed: bool) -> None:
        """Take the lock; who may not is a reader, unless there is something to be made."""
        try:
            with forks.opening:
                lock = self._handles["lock"] = open_file(self.path / "lock", os.O_RDWR | os.O_CREAT, self._mode)
            if not os.access(self.path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            if needed or error.errno not in _NOT_FOR_US:
                raise self._refused(error, self.path / "lock") from None
            self.close()
            self.read_only = True
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if not from_the_system(error):
                raise
            raise SegmentError("another engine holds this folder open", str(self.path)) from None

    def _open(self, schema: Schema | None, replace: bool, mode: int | None) -> None:
        if replace or not is_folder(self.path):
            self.schema = schema if schema is not None else Schema(open=True)
            self._number = self._highest_number()
            if mode is None and is_folder(self.path):
                with suppress(SegmentError):
                    self._mode = read_current(self.path).mode
            if not replace:
                self.checkpoint((), None, 0 if self.marked else None)
            return
        current = read_current(self.path)
        self._check_marked(current)
        self.schema, self._mode = current.schema, current.mode
        if schema is not None and schema != self.schema:
            raise SegmentError("the engine was made with another schema", str(self.path))
        self._current = current
        if self.read_only:
            self._handles["list"] = open_file(self.path / NAME, os.O_RDONLY)
        elif mode is not None and mode != current.mode:
            self._mode = mode
            write_current(self.path, with_other(current, mode=mode))
            self._share()

    def _check_marked(self, current: Current) -> None:
        if self.marked and current.mark is None:
            reason = "expected a checkpoint with a mark, found an engine with a log of its own"
            raise SegmentError(reason, str(self.path))
        if current.mark is not None and not self.marked and not self.read_only:
            reason = f"this is a checkpoint, at {current.mark}, of a log that is kept elsewhere"
            raise SegmentError(f"{reason}; it opens with marked=True, or with read_only=True", str(self.path))

    def _share(self) -> None:
        """Give everything the folder's mode; what is made later has it from the start."""
        try:
            self.path.chmod(self._mode)
            for path in self.path.iterdir():
                if _OURS.fullmatch(path.name) and not path.is_symlink():
                    path.chmod(file_mode(self._mode))
        except OSError as error:
            raise self._refused(error, self.path) from None

    def close(self) -> None:
        _close_all(self._handles)

    @property
    def number(self) -> int:
        """How many lists there were; it grows when a checkpoint took place."""
        return self._current.number if self._current is not None else self._number

    @property
    def mark(self) -> int | None:
        return self._current.mark if self._current is not None else None

    @property
    def statistics(self) -> Statistics | None:
        return self._current.statistics if self._current is not None else None

    @property
    def closed(self) -> bool:
        return not self._handles or (self._log is not None and self._log.file.closed)

    def _refused(self, error: Exception, path: Path) -> Exception:
        if isinstance(error, OSError) and not from_the_system(error):
            return error
        return SegmentError(f"cannot write here: {why(error)}", str(path))

    def after_fork(self) -> None:
        """A child closes its copies of what is open. The lock stays with the process that took it, and goes with it."""
        _let_go(self._handles)

    @property
    def foreign(self) -> bool:
        """Whether another process opened it, of which this one is a child."""
        return self._process != os.getpid()

    def check_process(self) -> None:
        """Only the process that opened the folder writes to it: two would each have a log of their own in mind."""
        if self.foreign:
            reason = "the engine was opened in another process, which alone may write; open it in this one to write"
            raise SegmentError(reason, str(self.path))

    def _highest_number(self) -> int:
        names = (_OURS.fullmatch(path.name) for path in self.path.iterdir())
        return max((int(name[1] or name[2]) for name in names if name and (name[1] or name[2])), default=0)

    # -- segments -----------------------------------------------------------------------------------------------

    def segments(self, *, verify: str = "full") -> Iterator[Segment]:
        assert self._current is not None
        for listed in self._current.segments:
            segment = open_listed(self.path, listed, self.schema, verify=verify)
            self._files[segment.index] = listed.file
            yield segment

    def keep(self, segments: Iterable[Segment]) -> None:
        """Write those that are not on disk yet. They count from the next checkpoint on, which then need not do it."""
        self.check_process()
        for segment in segments:
            if segment.index not in self._files:
                self._made += 1
                name = f"segment-{self.number + 1}-{self._made}.seg"
                save_segment(segment, self.path / name, self.schema)
                self._files[segment.index] = name
                if self._mode != PRIVATE:
                    self._share()

    def checkpoint(
        self, segments: Sequence[Segment], statistics: Statistics | None = None, mark: int | None = None
    ) -> None:
        """Make these segments the truth and start an empty log. A segment on disk already is not written again."""
        self.check_process()
        first = self._current is None
        self.keep(segments)
        names = [self._files[segment.index] for segment in segments]
        listed = [
            Listed(name, sums_of(self.path / name), segment.buried().tolist())
            for name, segment in zip(names, segments, strict=True)
        ]
        current = Current(new_generation(self.number + 1), self.schema, listed, statistics, self._mode, mark)
        log = self._new_log(current)
        try:
            write_current(self.path, current)
            self._adopt(current, log)
        except SegmentError:
            log.file.close()
            self._reread(current.number)
            raise
        except BaseException:
            finish(self._decide, current, log)
            raise
        self._sweep()
        if first and self._mode != PRIVATE:
            self._share()

    def _new_log(self, current: Current) -> Log:
        """An empty log. Its name is on disk before a list can name it."""
        path = self.path / current.log
        try:
            log = Log.create(path, current.generation, self._mode)
        except OSError as error:
            raise self._refused(error, path) from None
        try:
            sync_folder(self.path)
        except BaseException as error:
            log.file.close()
            if isinstance(error, OSError):
                raise self._refused(error, path) from None
            raise
        return log

    def _adopt(self, current: Current, log: Log) -> None:
        self._current = current
        self._use_log(log)

    def _decide(self, current: Current, log: Log) -> None:
        """An interrupted checkpoint took place if the list has its new name."""
        if listed_number(self.path) == current.number:
            self._adopt(current, log)
            sync_folder(self.path)
        else:
            log.file.close()

    def _reread(self, number: int) -> None:
        """A failed checkpoint changed nothing, unless it failed at the very last: then the old log counts no more."""
        try:
            changed = listed_number(self.path) == number
        except (OSError, ValueError, KeyError):
            changed = True
        if changed:
            self.close()

    def _sweep(self) -> None:
        """Drop what no longer counts, or never did. What cannot be dropped is no reason to fail."""
        assert self._current is not None
        kept = {NAME, "lock", self._current.log, *(one.file for one in self._current.segments)}
        if self.recovered is None or self.recovered.kept is None:
            kept |= {path.name for path in self.path.glob("dropped-*.bin")}
        else:
            kept.add(self.recovered.kept)  # one such file is kept, the last
        for index, name in list(self._files.items()):
            if name not in kept:
                del self._files[index]
        try:
            for path in self.path.iterdir():
                if path.name not in kept and _OURS.fullmatch(path.name):
                    path.unlink(missing_ok=True)
        except OSError as error:
            if not from_the_system(error):
                raise

    # -- the log ------------------------------------------------------------------------------------------------

    @property
    def log_bytes(self) -> int:
        """The log's length: of what is behind it nothing counts."""
        return self._log.tail.end if self._log is not None else 0

    def _use_log(self, log: Log) -> None:
        old = self._handles.get("log")
        self._log = log
        self._handles["log"] = log.file
        if old is not None and old is not log.file:
            old.close()

    def append(self, records: Iterable[Record]) -> None:
        """Put records in the log as one: after a crash all of them are there or none is."""
        assert self._log is not None
        self.check_process()
        content = json.dumps(list(records), ensure_ascii=False).encode()
        try:
            self._log.append(content)
        except BaseException as error:
            if self._log.file.closed:  # what is on disk now nobody knows
                self.close()
            if from_the_system(error):
                path = self.path / self._current.log if self._current is not None else self.path
                raise self._refused(cast(OSError, error), path) from None
            raise

    def replay(self) -> Iterator[list[tuple[str, SubscriptionId, str]]]:
        """The records since the last checkpoint, write by write; then the log is ready to be written."""
        assert self._current is not None
        content = log_bytes(self.path, self._current)
        found = read_log(content, self._current.generation, self.path / self._current.log)
        for record in found.records:
            yield written(content[record.start : record.end])
        self.replayed = _last(content, found.records)
        if found.torn:
            self.recovered = self._drop(content, found)
            _log.warning("%s: %s", self.path, told(self.recovered))
        if not self.read_only:
            try:
                sync_folder(self.path)  # the list that was read may have a name that is not on disk: its writer died
                self._use_log(Log.open(self.path / self._current.log, self._current.generation, found))
            except OSError as error:
                raise self._refused(error, self.path / self._current.log) from None
            self._sweep()

    def more(self) -> tuple[list[list[tuple[str, SubscriptionId, str]]], Replayed] | None:
        """What a writer put in the log since it was read, and what is `replayed` then; None if there is another list,
        or the log does not go on from there, so that everything must be read again."""
        assert self._current is not None
        if read_current(self.path).generation != self._current.generation:
            return None
        content = log_bytes(self.path, self._current)
        found = read_log(content, self._current.generation, self.path / self._current.log)
        count = self.replayed[0]
        if _last(content, found.records[:count]) != self.replayed:
            return None
        news = [written(content[record.start : record.end]) for record in found.records[count:]]
        return news, _last(content, found.records)

    def _drop(self, content: bytes, found: Found) -> Dropped:
        """Keep aside what is about to be cut off."""
        assert self._current is not None
        kept = None
        if not self.read_only:
            with suppress(SegmentError):  # a full disk is no reason not to open
                name = f"dropped-{self._current.number}-{found.end}.bin"
                write_atomically(self.path / name, [content[found.end :]], self._mode)
                kept = name
        return Dropped(len(found.records) + 1, found.end, found.torn, kept)


def _last(content: bytes, records: Sequence[LogRecord]) -> Replayed:
    return len(records), content[records[-1].at : records[-1].end] if records else b""


def told(dropped: Dropped) -> str:
    """A sentence."""
    where = f"; they are kept in {dropped.kept}" if dropped.kept is not None else ""
    return (
        f"left out the last {dropped.bytes:,} bytes of the log, from byte {dropped.byte:,} on: record {dropped.record} "
        f"did not reach the disk whole, so its write never returned{where}"
    )


def log_bytes(folder: Path, current: Current) -> bytes:
    """The bytes of the log that counts."""
    path = folder / current.log
    try:
        return read_file(path)
    except FileNotFoundError:
        raise SegmentError("the log is missing", str(path)) from None
    except OSError as error:
        raise SegmentError(f"expected a log: {why(error)}", str(path)) from None


def written(content: bytes) -> list[tuple[str, SubscriptionId, str]]:
    """What a record says: verb, id and text of each of its parts."""
    return [(one[0], one[1], one[2] if len(one) > 2 else "") for one in json.loads(content)]


def _close_all(handles: dict[str, io.FileIO]) -> None:
    try:
        _let_go(handles)
    except BaseException:
        finish(_let_go, handles)
        raise


def _let_go(handles: dict[str, io.FileIO]) -> None:
    for handle in list(handles.values()):
        handle.close()
    handles.clear()
