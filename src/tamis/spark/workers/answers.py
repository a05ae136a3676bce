"""What a worker does to match: events in, answers out, batch by batch, with the segments opened once per process.

A batch is read once. Each segment is asked about those of its events that it may match (`routing`), in runs short
enough that a wide answer is never held whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch
from tamis.spark.columns import EVENT, EVENT_ID, MATCH_COUNT, VERSION
from tamis.spark.versions.manifest import Entry, Manifest, read_manifest
from tamis.spark.versions.routing import Router
from tamis.spark.versions.storage import Root, Storage
from tamis.spark.workers.building import open_entries
from tamis.spark.workers.event_reading import Checking, Read, read_batch
from tamis.spark.workers.segment_store import Opened, opened_so_far
from tamis.spark.workers.shapes import AnswerShape, Asking, SegmentAnswer, counted, in_lists, in_pieces
from tamis.spark.workers.tally import LocalTally, Tally

__all__ = ["GROUP", "SHAPES", "MatchEverywhere", "MatchGroups", "MatchVersions", "RouteToGroups"]

GROUP = "group"
_FIRST_RUN = 512
_MOST_FOUND = 1 << 22
"""Matches of a run of events, about: some 100 MB while they become arrays."""

_SPARE = 0.2
"""A segment is asked about the whole batch, unless so many of the events can be left out: choosing costs a little."""

_ARROW_IDS = {"bigint": pa.int64(), "string": pa.string()}
"""Arrow's type of the ids of an index, by Spark's."""

Longs = npt.NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]
SegmentGroups = tuple[tuple[Entry, ...], ...]


class _Asked(NamedTuple):
    """A segment with the events that it is asked about: all of them, if `rows` is None."""

    segment: Opened
    batch: Batch
    rows: Longs | None

    def found(self) -> SegmentAnswer:
        return SegmentAnswer(self.rows, self.segment.match(self.batch))


def _list_pieces(events: Asking, asked: list[_Asked]) -> Batches:
    for one in asked:
        yield from in_pieces(events.ids, one.found())


def _list_whole(events: Asking, asked: list[_Asked]) -> Batches:
    return in_lists(events, [one.found() for one in asked])


def _count(events: Asking, asked: list[_Asked]) -> Batches:
    return counted(events, [(one.rows, one.segment.count(one.batch)) for one in asked])


SHAPES: dict[AnswerShape, Callable[[Asking, list[_Asked]], Batches]] = {
    AnswerShape.PIECES: _list_pieces,
    AnswerShape.LISTS: _list_whole,
    AnswerShape.COUNTS: _count,
}


@lru_cache(16)
def _router(groups: SegmentGroups) -> Router:
    """A group lists what any of its segments lists."""
    united = [np.bitwise_or.reduce([np.frombuffer(one.keys, np.uint8) for one in group]) for group in groups]
    return Router([one.tobytes() for one in united])


def _read(events: pa.RecordBatch, manifest: Manifest, checking: Checking) -> Read:
    return read_batch(events.column(EVENT), events.column(EVENT_ID), manifest.schema, checking)


@dataclass(frozen=True)
class _Matching:
    """How to answer: an index, a shape, whether events without matches have a row, where to count."""

    root: Root
    manifest: Manifest
    shape: AnswerShape
    unmatched: bool = False
    tally: Tally | LocalTally | None = None
    checking: Checking = field(default_factory=Checking)

    def answer(self, entries: tuple[Entry, ...], events: pa.RecordBatch) -> Batches:
        """Runs of a batch: the first tells how long the next may be."""
        first, length, found = 0, _FIRST_RUN, 0
        while first < len(events):
            run = events.slice(first, length)
            batch, rows = _read(run, self.manifest, self.checking)
            before = opened_so_far()
            asked = self._asked(entries, batch)
            opened = opened_so_far() - before
            ids = run.column(EVENT_ID) if rows is None else run.column(EVENT_ID).take(pa.array(rows))
            events_asked = Asking(ids, self.unmatched, _ARROW_IDS[self.manifest.id_type])
            matches = 0
            for answer in SHAPES[self.shape](events_asked, asked):
                matches += int(answer.column(MATCH_COUNT).to_numpy().sum())
                yield answer
            if self.tally is not None:
                pairs = sum(one.batch.size for one in asked)
                self.tally.add(0, matches, pairs, len(entries) * len(run) - pairs, opened)
            first, found = first + len(run), found + matches
            length = len(events) if self.shape is AnswerShape.COUNTS else max(16, _MOST_FOUND * first // max(found, 1))

    def _asked(self, entries: tuple[Entry, ...], batch: Batch) -> list[_Asked]:
        if not entries:
            return []
        routes = _router(tuple((one,) for one in entries)).routes(batch)
        chosen = [(entry, np.flatnonzero(routes[:, at])) for at, entry in enumerate(entries) if routes[:, at].any()]
        opened = open_entries(self.root, self.manifest, [entry for entry, _ in chosen])
        return [
            _Asked(segment, batch, None)
            if len(rows) > (1 - _SPARE) * batch.size
            else _Asked(segment, batch.select(rows), rows)
            for segment, (_, rows) in zip(opened, chosen, strict=True)
        ]


# -- the two plans ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatchEverywhere(_Matching):
    """Every task has all segments; events alone are partitioned."""

    __name__: str = field(default="tamis_match", kw_only=True)  # shown by Spark's explain

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            yield from self.answer(self.manifest.segments, batch)
            if self.tally is not None:
                self.tally.add(len(batch))


@lru_cache(8)
def _version(uri: str, version: int) -> Manifest:
    """A version of an index in a folder that this worker sees."""
    return read_manifest(Storage(uri), uri, version)


@dataclass(frozen=True)
class MatchVersions:
    """Every event against the version that stands beside its id, all segments of it."""

    root: Root
    shape: AnswerShape
    unmatched: bool = False
    tally: Tally | None = None
    checking: Checking = field(default_factory=Checking)
    __name__: str = "tamis_match_versions"

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            numbers = batch.column(EVENT_ID).field(VERSION).to_numpy(zero_copy_only=False)
            for number in np.unique(numbers).tolist():
                manifest = _version(self.root.uri, int(number))
                part = batch.take(pa.array(np.flatnonzero(numbers == number)))
                checking = replace(self.checking, used=manifest.used)
                work = _Matching(self.root, manifest, self.shape, self.unmatched, self.tally, checking)
                yield from work.answer(manifest.segments, part)
            if self.tally is not None:
                self.tally.add(len(batch))


@dataclass(frozen=True)
class RouteToGroups:
    """Events → a copy for each group of segments that may match them, marked with its number."""

    manifest: Manifest
    groups: SegmentGroups
    tally: Tally | None = None
    checking: Checking = field(default_factory=Checking)
    unmatched: bool = False
    """Whether an event that nobody may match is sent somewhere all the same, to have its row."""
    __name__: str = "tamis_route"

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            if len(batch) and self.groups:
                read, accepted = _read(batch, self.manifest, self.checking)
                routes = _router(self.groups).routes(read)
                if self.unmatched:
                    routes[~routes.any(axis=1), 0] = True
                rows, groups = np.nonzero(routes)
                rows = rows if accepted is None else accepted[rows]
                if self.tally is not None:
                    self.tally.add(len(batch), skipped=int(((~routes).sum(axis=0) * [*map(len, self.groups)]).sum()))
                sent = batch.take(pa.array(rows))
                yield sent.append_column(GROUP, pa.array(groups.astype(np.int32)))


@dataclass(frozen=True)
class MatchGroups(_Matching):
    """Every task has the segments of the groups that its events were sent to."""

    groups: SegmentGroups = field(kw_only=True)
    __name__: str = field(default="tamis_match_groups", kw_only=True)

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            numbers = batch.column(GROUP).to_numpy()
            for number in np.unique(numbers):
                part = batch.take(pa.array(np.flatnonzero(numbers == number)))
                yield from self.answer(self.groups[number], part)
