"""An event log in a folder: files of JSON lines, read in the order of their names, each line once.

A later file has a later name. The last file may still grow, line by line; an unfinished line at its end is not there
yet. Folders that all workers see alone: what reads here has no JVM.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from tamis.errors import OptionError
from tamis.spark.columns import EVENT, EVENT_ID
from tamis.spark.versions.storage import local_path

__all__ = ["EventLog", "Most", "Position", "Stretch"]

_ENDINGS = (".jsonl", ".json", ".ndjson")
_CHUNK_BYTES = 8 << 20
_IDS = pj.ParseOptions(explicit_schema=pa.schema([(EVENT_ID, pa.string())]), unexpected_field_behavior="ignore")


class Position(NamedTuple):
    """How far a log was read: up to a byte of a file. Before all files the name is empty."""

    file: str = ""
    byte: int = 0


class Stretch(NamedTuple):
    """Whole lines of a file, from a byte to another."""

    file: str
    start: int
    end: int


class Most(NamedTuple):
    """What may be read at once."""

    rows: int | None = None
    size: int | None = None
    files: int | None = None


class EventLog:
    """The files of a folder; an empty folder is an empty log."""

    def __init__(self, path: str) -> None:
        local = local_path(path)
        if local is None or not Path(local).is_dir():
            raise OptionError(f"{path}: expected a folder that is there, and that all workers see, found none")
        self._folder = Path(local)

    def stretches(self, start: Position, end: Position | None = None, most: Most | None = None) -> list[Stretch]:
        """What there is after a position, up to another, and no more than is wanted at once."""
        most = most or Most()
        rows, size, files = most.rows, most.size, most.files
        found: list[Stretch] = []
        names = [name for name in self._names() if name >= start.file and (end is None or name <= end.file)]
        for name in names:
            first = start.byte if name == start.file else 0
            last = end.byte if end is not None and name == end.file else self._size(name, names)
            if first >= last:
                continue
            if rows is not None or size is not None:
                last, taken = self._within(name, first, last, rows, size)
                rows = None if rows is None else rows - taken
                size = None if size is None else size - (last - first)
            found.append(Stretch(name, first, last))
            files = None if files is None else files - 1
            if 0 in (rows, files) or (size is not None and size <= 0) or last < self._size(name, names):
                break
        return found

    def _names(self) -> list[str]:
        names = (one.name for one in self._folder.iterdir() if one.name.endswith(_ENDINGS))
        return sorted(name for name in names if not name.startswith((".", "_")))

    def _size(self, name: str, names: list[str]) -> int:
        """Up to the end of the last whole line; a file that another follows is finished."""
        with (self._folder / name).open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            if name != names[-1]:
                return size
            at = size
            while at > 0:
                start = max(0, at - 65_536)
                file.seek(start)
                found = file.read(at - start).rfind(b"\n")
                if found >= 0:
                    return start + found + 1
                at = start
        return 0

    def _within(self, name: str, first: int, last: int, rows: int | None, size: int | None) -> tuple[int, int]:
        """Where the lines end that may be read at once, one at least, and how many they are."""
        at, taken = first, 0
        with (self._folder / name).open("rb") as file:
            file.seek(first)
            while at < last and (rows is None or taken < rows):
                line = len(file.readline())
                if taken and size is not None and at + line - first > size:
                    break
                at, taken = at + line, taken + 1
        return min(at, last), taken

    def split(self, stretches: list[Stretch]) -> Iterator[Stretch]:
        """The same in pieces of a task's worth."""
        for one in stretches:
            start = one.start
            while one.end - start > _CHUNK_BYTES:
                with (self._folder / one.file).open("rb") as file:
                    file.seek(start + _CHUNK_BYTES)
                    file.readline()
                    middle = min(file.tell(), one.end)
                yield Stretch(one.file, start, middle)
                start = middle
            if start < one.end:
                yield Stretch(one.file, start, one.end)

    def read(self, stretch: Stretch) -> pa.RecordBatch:
        """`event_id` and `event`. An event without an id is named by its place."""
        with (self._folder / stretch.file).open("rb") as file:
            file.seek(stretch.start)
            content = file.read(stretch.end - stretch.start)
        lines = [line.rstrip(b"\r") for line in content.split(b"\n")]
        places = stretch.start + np.concatenate([[0], np.cumsum([len(line) + 1 for line in content.split(b"\n")])[:-1]])
        kept = [at for at, line in enumerate(lines) if line.strip()]
        texts = pa.array([lines[at].decode(errors="replace") for at in kept], pa.string())
        names = pa.array([f"{stretch.file}:{places[at]}" for at in kept], pa.string())
        return pa.RecordBatch.from_pydict({EVENT_ID: pc.coalesce(_ids(texts), names), EVENT: texts})


def _ids(texts: pa.Array) -> pa.Array:
    """The ids that events have: at once if all are texts, else one by one."""
    if not len(texts):
        return texts
    joined = "\n".join(texts.to_pylist()).encode()
    try:
        found = pj.read_json(io.BytesIO(joined), parse_options=_IDS)
    except pa.ArrowInvalid:
        return pa.array([_id(text) for text in texts.to_pylist()], pa.string())
    if len(found) != len(texts):
        return pa.array([_id(text) for text in texts.to_pylist()], pa.string())
    return found[EVENT_ID].combine_chunks()


def _id(text: str) -> str | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    id = found.get(EVENT_ID) if isinstance(found, dict) else None
    return None if id is None else str(id)
