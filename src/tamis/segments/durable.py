"""A collection that survives: a folder with the schema, segments, a list of them, and a log of what came since.

    schema.toml       what the segments were compiled under
    segment-N.seg     as `segments.file` writes them
    current.json      which segments count, with their dead; replaced atomically
    log-N.wal         one record per write since `current.json` number N was written

A write is in the log, and the log is on disk, before the call returns; so what returned survives `kill -9` and the
loss of power. Opening maps the segments and replays the log; a record cut short at its end never returned and is
dropped, one that is damaged elsewhere is an error. A checkpoint freezes the delta, writes new segments and a new
`current.json`, and only then drops the old log and the segments nobody lists.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from tamis.errors import SchemaError, SegmentError
from tamis.model import Schema, SubscriptionId
from tamis.segments.file import open_segment, save_segment, write_atomically
from tamis.segments.segment import Segment

__all__ = ["Folder", "Record"]

Record = list[Any]
"""["s", id, text] or ["u", id]."""

_HEAD_BYTES = 12


class Folder:
    """One engine's folder; one process at a time may hold it."""

    def __init__(self, path: Path, schema: Schema | None, create: bool) -> None:
        self.path = path
        if not (path / "current.json").exists():
            if not create:
                raise SegmentError("expected a saved engine; create=True makes one", str(path))
            self._create(schema if schema is not None else Schema(open=True))
        self._hold()
        self.schema = self._read_schema(schema)
        self._current = self._read_current()
        self._log = self._open_log()
        self._files: dict[int, str] = {}

    def _create(self, schema: Schema) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SegmentError(f"cannot be made: {error.strerror}", str(self.path)) from None
        write_atomically(self.path / "schema.toml", [schema.dumps().encode()])
        write_atomically(self.path / "current.json", [json.dumps({"number": 0, "segments": []}).encode()])

    def _hold(self) -> None:
        self._lock = (self.path / "lock").open("a")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise SegmentError("another process holds this engine open", str(self.path)) from None

    def _read_schema(self, given: Schema | None) -> Schema:
        try:
            kept = Schema.load(self.path / "schema.toml")
        except SchemaError as error:
            raise SegmentError(str(error), str(self.path)) from None
        if given is not None and given != kept:
            raise SegmentError("the engine was made with another schema", str(self.path))
        return kept

    def _read_current(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.path / "current.json").read_text())
            return {"number": int(found["number"]), "segments": list(found["segments"])}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SegmentError(f"current.json cannot be read: {error}", str(self.path)) from None

    # -- segments -----------------------------------------------------------------------------------------------

    def segments(self, *, verify: bool = True) -> Iterator[Segment]:
        for listed in self._current["segments"]:
            segment = open_segment(self.path / listed["file"], self.schema, verify=verify)
            fresh = np.setdiff1d(np.array(listed["dead"], np.int64), segment.buried())
            if len(fresh):
                segment = segment.bury(fresh)
            self._files[id(segment.index)] = listed["file"]
            yield segment

    def checkpoint(self, segments: Iterable[Segment]) -> None:
        """Make these segments the truth and start an empty log. A segment on disk already is not written again."""
        number = self._current["number"] + 1
        listed, files = [], {}
        for at, segment in enumerate(segments):
            name = self._files.get(id(segment.index))
            if name is None:
                name = f"segment-{number}-{at}.seg"
                save_segment(segment, self.path / name, self.schema)
                listed.append({"file": name, "dead": []})
            else:
                listed.append({"file": name, "dead": segment.buried().tolist()})
            files[id(segment.index)] = name
        self._current = {"number": number, "segments": listed}
        write_atomically(self.path / "current.json", [json.dumps(self._current).encode()])
        self._log.close()
        self._files = files
        self._log = self._open_log()
        self._sweep()

    def _sweep(self) -> None:
        kept = {one["file"] for one in self._current["segments"]} | {self._log_path().name}
        for path in [*self.path.glob("segment-*.seg"), *self.path.glob("log-*.wal"), *self.path.glob(".*.seg.*")]:
            if path.name not in kept:
                path.unlink(missing_ok=True)

    # -- the log ------------------------------------------------------------------------------------------------

    def _log_path(self) -> Path:
        return self.path / f"log-{self._current['number']}.wal"

    def _open_log(self) -> Any:
        return self._log_path().open("ab", buffering=0)

    def append(self, records: Iterable[Record]) -> None:
        """Put records in the log as one: after a crash all of them are there or none is."""
        text = json.dumps(list(records), ensure_ascii=False).encode()
        self._log.write(len(text).to_bytes(4, "little") + xxhash.xxh3_64_digest(text) + text)
        os.fdatasync(self._log.fileno())

    def replay(self) -> Iterator[list[tuple[str, SubscriptionId, str]]]:
        """The records since the last checkpoint, write by write."""
        content = self._log_path().read_bytes()
        at = 0
        while at < len(content):
            head = content[at : at + _HEAD_BYTES]
            length = int.from_bytes(head[:4], "little")
            text = content[at + _HEAD_BYTES : at + _HEAD_BYTES + length]
            if len(head) < _HEAD_BYTES or len(text) < length:
                break  # cut short: the write never returned
            if xxhash.xxh3_64_digest(text) != head[4:]:
                raise SegmentError(f"the log is damaged at byte {at:,}", str(self._log_path()))
            yield [(one[0], one[1], one[2] if len(one) > 2 else "") for one in json.loads(text)]
            at += _HEAD_BYTES + length
        if at < len(content):
            os.truncate(self._log_path(), at)

    def close(self) -> None:
        self._log.close()
        self._lock.close()
