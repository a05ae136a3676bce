"""A collection that survives: a folder with segments, a list of them, and a log of what came since.

    current.json      the schema, what is known of events, which segments count, with their dead; replaced atomically
    segment-N-K.seg   as `segments.file` writes them
    log-N.wal         one record per write since `current.json` number N was written
    lock              held by the one process that has the folder open

A write is in the log, and the log is on disk, before the call returns; so what returned survives `kill -9` and the
loss of power. Opening maps the segments and replays the log; a record cut short at its end never returned and is
dropped, one that is damaged is an error. A checkpoint writes new segments, an empty log and a new `current.json`, in
this order, and only then drops the old log and the segments nobody lists.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash

from tamis.errors import SchemaError, SegmentError
from tamis.model import Schema, SubscriptionId
from tamis.segments.compile.statistics import Statistics
from tamis.segments.ids import IdIndex
from tamis.segments.keep.segment_file import open_segment, save_segment, sums_of
from tamis.segments.segment import Segment
from tamis.store.atomic import sync_folder, why, write_atomically

__all__ = ["Folder", "Record"]

Record = list[Any]
"""["s", id, text] or ["u", id]."""

_FORMAT = 1
_OURS = re.compile(
    r"current\.json|lock|segment-(\d+)-\d+\.seg|log-(\d+)\.wal|\.(current\.json|segment-.*)\.[0-9a-f]{8}"
)
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
        self._made = 0
        self._listed: list[_Listed] = []
        self._files: weakref.WeakKeyDictionary[IdIndex, str] = weakref.WeakKeyDictionary()
        self._handles: dict[str, int] = {}
        weakref.finalize(self, _close_all, self._handles)  # an engine that nobody closed lets go when it is collected
        if create or replace:
            self._make()
        elif not (path / "current.json").exists():
            raise SegmentError("expected a saved engine; create=True makes one", str(path))
        self._hold()
        try:
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
        self._handles["lock"] = self._handle("lock", os.O_RDWR)
        try:
            fcntl.flock(self._handles["lock"], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
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
    def closed(self) -> bool:
        return not self._handles

    def _handle(self, name: str, flags: int) -> int:
        try:
            return os.open(self.path / name, flags | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise SegmentError(f"cannot write here: {why(error)}", str(self.path / name)) from None

    # -- the list -----------------------------------------------------------------------------------------------

    def _read_current(self) -> None:
        path = self.path / "current.json"
        try:
            found: dict[str, Any] = json.loads(path.read_bytes())
            if found["format"] != _FORMAT:
                reason = f"expected format {_FORMAT}, found {found['format']}; a newer Tamis may have written it"
                raise SegmentError(reason, str(path))
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
        log = self._handle(f"log-{number}.wal", os.O_RDWR | os.O_TRUNC)
        try:
            self._write_current(number, listed, statistics)  # syncs the folder, and with it the name of the new log
        except BaseException:
            os.close(log)
            self._reread(number)
            raise
        self._number, self._listed, self.statistics = number, listed, statistics
        self._use_log(log, 0)
        self._sweep()

    def _reread(self, number: int) -> None:
        """A failed checkpoint changed nothing, unless it failed at the very last: then the old log counts no more."""
        try:
            changed = json.loads((self.path / "current.json").read_bytes())["number"] == number
        except FileNotFoundError:
            changed = False
        except (OSError, ValueError, KeyError):
            changed = True
        if changed:
            self.close()

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
        handle = self._handle(self._log_path().name, os.O_RDWR)
        self._use_log(handle, os.fstat(handle).st_size)

    def _use_log(self, handle: int, size: int) -> None:
        if "log" in self._handles:
            os.close(self._handles["log"])
        self._handles["log"] = handle
        self._log_bytes = size

    def append(self, records: Iterable[Record]) -> None:
        """Put records in the log as one: after a crash all of them are there or none is."""
        text = json.dumps(list(records), ensure_ascii=False).encode()
        head = _length_head(len(text), self._log_bytes) + xxhash.xxh3_64_digest(text)
        handle = self._handles["log"]
        try:
            _write_all(handle, head + text, self._log_bytes)
            os.fdatasync(handle)
        except BaseException as error:
            self._cut_log()
            if isinstance(error, OSError):
                raise SegmentError(f"cannot write here: {why(error)}", str(self._log_path())) from None
            raise
        self._log_bytes += _HEAD_BYTES + len(text)

    def _cut_log(self) -> None:
        """Take back a write that failed. If even that fails, nothing more is written."""
        try:
            os.ftruncate(self._handles["log"], self._log_bytes)
        except OSError:
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
            os.ftruncate(self._handles["log"], at)
        self._log_bytes = at

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


def _close_all(handles: dict[str, int]) -> None:
    while handles:
        os.close(handles.popitem()[1])
