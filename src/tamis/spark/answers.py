"""What a worker does to match: events in, answers out, batch by batch, with the segments opened once per process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.segments.events import Batch
from tamis.spark.build import open_entry
from tamis.spark.columns import EVENT, EVENT_ID, MATCH_COUNT, SUBSCRIPTION_IDS
from tamis.spark.manifest import Entry, Manifest
from tamis.spark.routing import Router
from tamis.spark.segment_store import Opened, read_batch

__all__ = ["GROUP", "MOST_IDS", "SHAPES", "MatchEverywhere", "MatchGroups", "RouteToGroups"]

GROUP = "group"
MOST_IDS = 65_536
"""Ids in one row of a wide answer, and about as many in one Arrow batch: a bound on what is built at once."""

Longs = npt.NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]


class _Found(NamedTuple):
    """One segment's answer to a batch: event `i` matched the rows from `offsets[i]` to `offsets[i + 1]`."""

    offsets: Longs
    rows: npt.NDArray[np.integer]
    segment: Opened


def _found(batch: Batch, segments: list[Opened]) -> Iterator[_Found]:
    for segment in segments:
        yield _Found(*segment.match(batch), segment)


# -- the two shapes of an answer --------------------------------------------------------------------------------


def lists(event_ids: pa.Array, batch: Batch, segments: list[Opened]) -> Batches:
    """One row per event and segment that matched; more than `MOST_IDS` ids go on in further rows."""
    for one in _found(batch, segments):
        counts = np.diff(one.offsets)
        pieces = -(-counts // MOST_IDS)
        owners = np.repeat(np.arange(len(counts)), pieces)
        nth = np.arange(len(owners)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        starts = one.offsets[owners] + nth * MOST_IDS
        bounds = np.append(starts, one.offsets[-1:])
        yield from _list_batches(event_ids, one, owners, bounds)


def _list_batches(event_ids: pa.Array, one: _Found, owners: Longs, bounds: Longs) -> Batches:
    """Rows are put together until a batch holds about `MOST_IDS` ids."""
    cuts = np.flatnonzero(np.diff(bounds[:-1] // MOST_IDS)) + 1
    for part in np.split(np.arange(len(owners)), cuts):
        if len(part):
            first, last = bounds[part[0]], bounds[part[-1] + 1]
            ids = one.segment.ids(one.rows[first:last])
            offsets = pa.array((bounds[part[0] : part[-1] + 2] - first).astype(np.int32))
            columns = [event_ids.take(pa.array(owners[part])), pa.ListArray.from_arrays(offsets, ids)]
            columns.append(pa.array(np.diff(bounds[part[0] : part[-1] + 2])))
            yield pa.RecordBatch.from_arrays(columns, [EVENT_ID, SUBSCRIPTION_IDS, MATCH_COUNT])


def counts(event_ids: pa.Array, batch: Batch, segments: list[Opened]) -> Batches:
    """One row per event that matched anything here, without the ids."""
    total = np.zeros(len(event_ids), np.int64)
    for segment in segments:
        total += segment.count(batch)
    matched = np.flatnonzero(total)
    columns = [event_ids.take(pa.array(matched)), pa.array(total[matched])]
    yield pa.RecordBatch.from_arrays(columns, [EVENT_ID, MATCH_COUNT])


SHAPES: dict[str, Callable[[pa.Array, Batch, list[Opened]], Batches]] = {
    "lists": lists,
    "counts": counts,
}


def _answer(root: str, manifest: Manifest, entries: tuple[Entry, ...], events: pa.RecordBatch, shape: str) -> Batches:
    event_ids = events.column(EVENT_ID)
    batch = read_batch(events.column(EVENT), event_ids, manifest.schema)
    return SHAPES[shape](event_ids, batch, [open_entry(root, manifest, one) for one in entries])


# -- the two plans ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatchEverywhere:
    """Every task has all segments; events alone are partitioned."""

    root: str
    manifest: Manifest
    shape: str
    __name__: str = "tamis_match"  # shown by Spark's explain

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if len(batch):
                yield from _answer(self.root, self.manifest, self.manifest.segments, batch, self.shape)


@lru_cache(16)
def _router(groups: tuple[tuple[Entry, ...], ...]) -> Router:
    """A group lists what any of its segments lists."""
    united = [np.bitwise_or.reduce([np.frombuffer(one.keys, np.uint8) for one in group]) for group in groups]
    return Router([one.tobytes() for one in united])


@dataclass(frozen=True)
class RouteToGroups:
    """Events → a copy for each group of segments that may match them, marked with its number."""

    groups: tuple[tuple[Entry, ...], ...]
    __name__: str = "tamis_route"

    def __call__(self, batches: Batches) -> Batches:
        router = _router(self.groups)
        for batch in batches:
            rows, groups = np.nonzero(router.routes(batch.column(EVENT)))
            sent = batch.take(pa.array(rows))
            yield sent.append_column(GROUP, pa.array(groups.astype(np.int32)))


@dataclass(frozen=True)
class MatchGroups:
    """Every task has the segments of the groups that its events were sent to."""

    root: str
    manifest: Manifest
    groups: tuple[tuple[Entry, ...], ...]
    shape: str
    __name__: str = "tamis_match_groups"

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            numbers = batch.column(GROUP).to_numpy()
            for number in np.unique(numbers):
                part = batch.take(pa.array(np.flatnonzero(numbers == number)))
                yield from _answer(self.root, self.manifest, self.groups[number], part, self.shape)
