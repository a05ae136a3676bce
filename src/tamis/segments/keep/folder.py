"""A collection that survives: a folder with segments, a list of them, and a log of what came since.

    current.json      the schema, what is known of events, which segments count, with their dead; replaced atomically
    segment-N-K.seg   as `segments.file` writes them
    log-N.wal         one record per write since `current.json` number N was written
    lock              held by the one process that has the folder open

A write is in the log, and the log is on disk, before the call returns; so what returned survives `kill -9` and the
loss of power. Opening maps the segments and replays the log; a record cut short at its end never returned and is
dropped, one that is damaged is an error. A checkpoint writes new segments, an empty log and a new `current.json`, in
this order, and only then drops the old log and the segments nobody lists.

An interrupt may come before any bytecode. A record counts once the log's length says so, which is set last and in one
step; a checkpoint counts once `current.json` has its new name. What counts is seen through, what does not is undone.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import xxhash

from tamis.errors import SchemaError, SegmentError
from tamis.language.door import LANGUAGE_VERSION
from tamis.model import Schema, SubscriptionId
from tamis.registry.finishing import finish
from tamis.segments.compile.statistics import Statistics
from tamis.segments.ids import IdIndex
from tamis.segments.keep.segment_file import open_segment, save_segment, sums_of
from tamis.segments.segment import Segment
from tamis.store.atomic import from_the_system, sync_folder, why, write_atomically

__all__ = ["Folder", "Record"]

Record = list[Any]
"""["s", id, text] or ["u", id]."""

_FORMAT = 1
_OURS = re.compile(
    r"current\.json|lock|segment-(\d+)-\d+\.seg|log-(\d+)\.wal|\.(current\.json|segment-.*)\.[0-9a-f]{8}"
)
_MADE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
_HEAD_BYTES = 20
"""Of a record: its length (8 bytes), a sum of the length (4 bytes), a sum of its text (8 bytes)."""


class _Listed(NamedTuple):
    """A segment that counts, its sums, and the rows that died since it was written."""

    file: str
    sums: str
    dead: list[int]


class Folder:
    """One engine's folder; one engine at a time may hold it."""

    def __init__(
        self, path: Path, schema: Schema | None = None, *, create: bool = False, replace: bool = False
    ) -> None:
        """Open what is there, or make it. `replace` disregards what is there, which stays until the next checkpoint."""
        self.path = path
        self.statistics: Statistics | None = None
        self.log_bytes = 0
        """The log's length: of what is behind it nothing counts."""
        self._made = 0
        self._listed: list[_Listed] = []
        self._files: weakref.WeakKeyDictionary[IdIndex, str] = weakref.WeakKeyDictionary()
        self._handles: dict[str, io.FileIO] = {}
        weakref.finalize(self, _close_all, self._handles)  # an engine that nobody closed lets go when it is collected
        if create or replace:
            self._make()
        elif not (path / "current.json").exists():
            raise SegmentError("expected a saved engine; create=True makes one", str(path))
        try:
            self._hold()
            self._open(schema, replace)
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        try:
            if not self.path.is_dir():
                self.path.mkdir()
                sync_folder(self.path.parent)
            foreign = [path.name for path in self.path.iterdir() if not _OURS.fullmatch(path.name)]
        except (OSError, ValueError) as error:
            raise SegmentError(f"cannot write here: {why(error)}", str(self.path)) from None
        if foreign:
            raise SegmentError(f"cannot write here: {min(foreign)!r} is no part of an engine", str(self.path))

    def _hold(self) -> None:
        self._handles["lock"] = self._handle("lock")
        try:
            fcntl.flock(self._handles["lock"], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if not from_the_system(error):
                raise
            raise SegmentError("another engine holds this folder open", str(self.path)) from None

    def _open(self, schema: Schema | None, replace: bool) -> None:
        if replace or not (self.path / "current.json").exists():
            self.schema = schema if schema is not None else Schema(open=True)
            self._number = self._highest_number()
            if not replace:
                self.checkpoint(())
            return
        self._read_current()
        if schema is not None and schema != self.schema:
            raise SegmentError("the engine was made with another schema", str(self.path))
        self._open_log()

    def close(self) -> None:
        _close_all(self._handles)

    @property
    def number(self) -> int:
        """How many lists there were; it grows when a checkpoint took place."""
        return self._number

    @property
    def closed(self) -> bool:
        return not self._handles

    def _handle(self, name: str, flags: int = 0) -> io.FileIO:
        """An open file. As an object it can be closed twice, and is closed if an interrupt leaves it to nobody."""
        try:
            return io.FileIO(self.path / name, "r+", opener=lambda path, _: os.open(path, flags | _MADE, 0o666))
        except OSError as error:
            if not from_the_system(error):
                raise
            raise SegmentError(f"cannot write here: {why(error)}", str(self.path / name)) from None

    # -- the list -----------------------------------------------------------------------------------------------

    def _read_current(self) -> None:
        path = self.path / "current.json"
        try:
            found: dict[str, Any] = json.loads(path.read_bytes())
            if found["format"] != _FORMAT:
                reason = f"expected format {_FORMAT}, found {found['format']}; a newer Tamis may have written it"
                raise SegmentError(reason, str(path))
            if found.get("language", 1) > LANGUAGE_VERSION:
                reason = f"expected version {LANGUAGE_VERSION} of the language at most, found {found['language']}"
                raise SegmentError(f"{reason}; a newer Tamis may have written it", str(path))
            if found.pop("sum") != _sum_of(found):
                raise SegmentError("the checksum does not fit: the file is damaged", str(path))
            self._number = int(found["number"])
            self._listed = [_Listed(*one) for one in found["segments"]]
            known = found.get("statistics")
            self.statistics = Statistics.from_json(known) if known is not None else None
            self.schema = Schema.loads(found["schema"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError, SchemaError) as error:
            raise SegmentError(f"expected a saved engine, found one that cannot be read: {error}", str(path)) from None

    def _write_current(self, number: int, listed: list[_Listed], statistics: Statistics | None) -> None:
        found = {"format": _FORMAT, "number": number, "schema": self.schema.dumps(), "segments": listed}
        found["language"] = LANGUAGE_VERSION
        found |= {"statistics": statistics.to_json()} if statistics is not None else {}
        text = json.dumps(found | {"sum": _sum_of(found)}, ensure_ascii=False)
        write_atomically(self.path / "current.json", [text.encode()])

    def _highest_number(self) -> int:
        names = (_OURS.fullmatch(path.name) for path in self.path.iterdir())
        return max((int(name[1] or name[2]) for name in names if name and (name[1] or name[2])), default=0)

    # -- segments -----------------------------------------------------------------------------------------------

    def segments(self, *, verify: bool = True) -> Iterator[Segment]:
        for file, sums, dead in self._listed:
            if sums_of(self.path / file) != sums:
                raise SegmentError("this is damaged, or another segment than the one listed", str(self.path / file))
            segment = open_segment(self.path / file, self.schema, verify=verify)
            fresh = np.setdiff1d(np.array(dead, np.int64), segment.buried())
            if len(fresh):
                segment = segment.bury(fresh)
            self._files[segment.index] = file
            yield segment

    def keep(self, segments: Iterable[Segment]) -> None:
        """Write those that are not on disk yet. They count from the next checkpoint on, which then need not do it."""
        for segment in segments:
            if segment.index not in self._files:
                self._made += 1
                name = f"segment-{self._number + 1}-{self._made}.seg"
                save_segment(segment, self.path / name, self.schema)
                self._files[segment.index] = name

    def checkpoint(self, segments: Sequence[Segment], statistics: Statistics | None = None) -> None:
        """Make these segments the truth and start an empty log. A segment on disk already is not written again."""
        self.keep(segments)
        number = self._number + 1
        names = [self._files[segment.index] for segment in segments]
        listed = [
            _Listed(name, sums_of(self.path / name), segment.buried().tolist())
            for name, segment in zip(names, segments, strict=True)
        ]
        log = self._handle(f"log-{number}.wal", os.O_TRUNC)
        try:
            self._write_current(number, listed, statistics)  # syncs the folder, and with it the name of the new log
            self._adopt(number, listed, statistics, log)
        except SegmentError:
            log.close()
            self._reread(number)
            raise
        except BaseException:
            finish(self._decide, number, listed, statistics, log)
            raise
        self._sweep()

    def _adopt(self, number: int, listed: list[_Listed], statistics: Statistics | None, log: io.FileIO) -> None:
        self._number, self._listed, self.statistics = number, listed, statistics
        self._use_log(log, 0)

    def _decide(self, number: int, listed: list[_Listed], statistics: Statistics | None, log: io.FileIO) -> None:
        """An interrupted checkpoint took place if the list has its new name."""
        if self._listed_number() == number:
            self._adopt(number, listed, statistics, log)
            sync_folder(self.path)
        else:
            log.close()

    def _reread(self, number: int) -> None:
        """A failed checkpoint changed nothing, unless it failed at the very last: then the old log counts no more."""
        try:
            changed = self._listed_number() == number
        except (OSError, ValueError, KeyError):
            changed = True
        if changed:
            self.close()

    def _listed_number(self) -> int | None:
        """The number of the list that counts; None if there is none yet."""
        try:
            found: int = json.loads((self.path / "current.json").read_bytes())["number"]
        except FileNotFoundError:
            return None
        return found

    def _sweep(self) -> None:
        kept = {"current.json", "lock", self._log_path().name, *(one.file for one in self._listed)}
        for index, name in list(self._files.items()):
            if name not in kept:
                del self._files[index]
        for path in self.path.iterdir():
            if path.name not in kept and _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)

    # -- the log ------------------------------------------------------------------------------------------------

    def _log_path(self) -> Path:
        return self.path / f"log-{self._number}.wal"

    def _open_log(self) -> None:
        if not self._log_path().exists():
            raise SegmentError("the log is missing", str(self._log_path()))
        handle = self._handle(self._log_path().name)
        self._use_log(handle, os.fstat(handle.fileno()).st_size)

    def _use_log(self, handle: io.FileIO, size: int) -> None:
        old = self._handles.get("log")
        self._handles["log"] = handle
        self.log_bytes = size
        if old is not None and old is not handle:
            old.close()

    def append(self, records: Iterable[Record]) -> None:
        """Put records in the log as one: after a crash all of them are there or none is."""
        text = json.dumps(list(records), ensure_ascii=False).encode()
        before = self.log_bytes
        head = _length_head(len(text), before) + xxhash.xxh3_64_digest(text)
        end = before + _HEAD_BYTES + len(text)
        handle = self._handles["log"].fileno()
        try:
            _write_all(handle, head + text, before)
            os.fdatasync(handle)
            self.log_bytes = end
        except BaseException as error:
            if self.log_bytes == before:
                finish(self._cut_log)
            if from_the_system(error):
                raise SegmentError(f"cannot write here: {why(cast(OSError, error))}", str(self._log_path())) from None
            raise

    def _cut_log(self) -> None:
        """Take back a write that failed. If even that fails, nothing more is written."""
        try:
            os.ftruncate(self._handles["log"].fileno(), self.log_bytes)
        except OSError as error:
            if not from_the_system(error):
                raise
            self.close()

    def replay(self) -> Iterator[list[tuple[str, SubscriptionId, str]]]:
        """The records since the last checkpoint, write by write."""
        content = self._log_path().read_bytes()
        at = 0
        while (end := self._end_of_record(content, at)) is not None:
            yield [
                (one[0], one[1], one[2] if len(one) > 2 else "") for one in json.loads(content[at + _HEAD_BYTES : end])
            ]
            at = end
        if at < len(content):
            os.ftruncate(self._handles["log"].fileno(), at)
        self.log_bytes = at

    def _end_of_record(self, content: bytes, at: int) -> int | None:
        """Where the record ends that begins there; None if it is cut short, or there is none."""
        head = content[at : at + _HEAD_BYTES]
        if len(head) < _HEAD_BYTES or (not any(head) and not any(content[at:])):
            return None  # zeros are bytes that the file was given and that were not written
        length = int.from_bytes(head[:8], "little")
        end = at + _HEAD_BYTES + length
        text = content[at + _HEAD_BYTES : end]
        if head[:12] == _length_head(length, at):
            if end > len(content) or (end == len(content) and text.endswith(b"\0")):
                return None
            if head[12:] == xxhash.xxh3_64_digest(text):
                return end
        raise SegmentError(f"the log is damaged at byte {at:,}", str(self._log_path()))


def _length_head(length: int, at: int) -> bytes:
    """A length and its sum; the record's place in the log is in the sum, so that no record can stand in another's."""
    size = length.to_bytes(8, "little")
    return size + xxhash.xxh32_digest(size + at.to_bytes(8, "little"))


def _write_all(handle: int, content: bytes, at: int) -> None:
    left = memoryview(content)
    while left:
        written = os.pwrite(handle, left, at)
        left, at = left[written:], at + written


def _sum_of(found: dict[str, Any]) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(found, sort_keys=True).encode())


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
