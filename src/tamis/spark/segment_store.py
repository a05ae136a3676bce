"""A segment as the pipeline sees it: written once by one task, opened by many. The one place that knows the engine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.engine import Engine
from tamis.errors import EventError, LanguageError, LimitError, SegmentError, TamisError
from tamis.model import Schema
from tamis.spark.events import raw_events

__all__ = ["Opened", "Rejected", "open_segment", "write_segment"]


class Rejected(NamedTuple):
    """A row that is no subscription."""

    row: int
    error: TamisError


def write_segment(path: Path, ids: pa.Array, texts: pa.Array, schema: Schema) -> list[Rejected]:
    """Compile and write; rows that cannot be read are left out and told."""
    engine = Engine(schema)
    rejected = []
    for row, (id, text) in enumerate(zip(ids.to_pylist(), texts.to_pylist(), strict=True)):
        try:
            if id is None:
                raise LanguageError("expected a subscription id, found nothing", 1, text or "")
            engine.subscribe(id, text)
        except (LanguageError, LimitError) as error:
            rejected.append(Rejected(row, error))
    engine.save(path)
    return rejected


class Opened:
    """An open segment. `ids[row]` is the id of the subscription in that row."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        ids = engine.ids()
        self.ids = pa.array(ids) if ids else pa.array([], pa.string())
        self._rows = {id: row for row, id in enumerate(ids)}

    def match(self, events: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Compressed sparse rows: offsets per event, and the rows of `ids`."""
        matches = self._engine.match_many(list(_readable(events)))
        rows = np.array([self._rows[id] for id in matches.ids], np.int64)
        return matches.offsets, rows[matches.codes]


def _readable(events: pa.Array) -> Iterator[dict[str, object]]:
    for raw in raw_events(events):
        if isinstance(raw, EventError):
            raise raw
        yield dict(raw)


@lru_cache(64)
def open_segment(path: str) -> Opened:
    """Opened once per process: names of segments never come twice, so the name is all the key that is needed."""
    return Opened(Engine.open(path))


def check_segment(path: Path, checksum: str) -> None:
    """The file must be the one that was committed."""
    if file_checksum(path) != checksum:
        raise SegmentError("the checksum does not fit the manifest: the file is damaged or cut short", str(path))


def file_checksum(path: Path) -> str:
    import xxhash

    state = xxhash.xxh3_64()
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                state.update(chunk)
    except OSError as error:
        raise SegmentError(f"cannot be read: {error.strerror}", str(path)) from None
    return state.hexdigest()
