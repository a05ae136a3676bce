"""A run of stored events against the subscriptions of a registry: which handles each position met.

An event that cannot be matched is found by halving, and set aside with the reason; it is never in the way of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.batches.batch import Batch
from tamis.batches.edge import read_batch
from tamis.batches.json_bytes import JsonText, read_json
from tamis.batches.refusals import Refusing
from tamis.matches import Matches
from tamis.model import Schema
from tamis.model.names import Used
from tamis.segments.segment_registry import SegmentRegistry
from tamis.service.door import event_body, table_of
from tamis.store.log import Record

__all__ = ["Found", "ask_run", "runs_of"]

Longs = npt.NDArray[np.int64]

_COUNT_FROM = 1 << 25
"""Events times subscriptions from which on matches are counted before they are listed."""


@dataclass
class Found:
    """Matches in any order, one handle for each position; and what failed."""

    positions: list[Longs] = field(default_factory=list)
    handles: list[Longs] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)

    def matches(self) -> tuple[Longs, Longs]:
        if not self.positions:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if len(self.positions) == 1:
            return self.positions[0], self.handles[0]
        return np.concatenate(self.positions), np.concatenate(self.handles)


def runs_of(records: Sequence[Record]) -> Iterator[tuple[Longs, list[Record]]]:
    """Records of events that can be read together, with the positions of their events."""
    together: list[Record] = []
    for record in records:
        if together and (record.codec != "json" or together[0].codec != "json"):
            yield _positions(together), together
            together = []
        together.append(record)
    if together:
        yield _positions(together), together


def _positions(records: list[Record]) -> Longs:
    return np.concatenate([np.arange(record.first, record.last + 1) for record in records])


def ask_run(registry: SegmentRegistry, records: list[Record], positions: Longs, most: int, found: Found) -> None:
    """Add what a run met. `most` bounds the matches that are listed at once, unless a single event has more."""
    refusing = Refusing("collect")
    held: list[Batch] = []

    def read(used: Used) -> Batch:
        if not held:  # what is used is known to the registry alone
            held.append(_read(records, registry.schema, refusing, used))
        return held[0]

    try:
        matches = registry.match_many(read) if _fits(registry, len(positions), most) else None
        if matches is None:
            registry.count_many(lambda used: read(used).select(np.empty(0, np.int64)))
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not stop the log
        if not held:
            _ask_events(registry, records, positions, found, error)
            return
        matches = None
    for one in refusing.errors:
        found.failed[int(positions[one.row])] = one.reason
    if len(refusing.rows):
        positions = positions[np.setdiff1d(np.arange(len(positions)), refusing.rows, assume_unique=True)]
    if matches is not None:
        _add(matches, positions, found)
    else:
        _ask(registry, held[0], positions, most, found)


def _ask_events(
    registry: SegmentRegistry, records: list[Record], positions: Longs, found: Found, error: Exception
) -> None:
    """Events that cannot even be read together: each on its own."""
    if len(positions) == 1:
        found.failed[int(positions[0])] = _told(error)
        return
    for record in records:
        for position in range(record.first, record.last + 1):
            body = event_body(record, position)
            alone = record._replace(first=position, last=position, body=body)
            ask_run(registry, [alone], np.array([position]), 1, found)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _fits(registry: SegmentRegistry, events: int, most: int) -> bool:
    """Whether the matches of so many events can be listed without counting them first."""
    return events * len(registry) <= max(most, _COUNT_FROM)


def _add(matches: Matches[Any], positions: Longs, found: Found) -> None:
    handles = matches.ids.column(matches.codes).to_numpy(zero_copy_only=False)
    found.positions.append(np.repeat(positions, matches.counts()))
    found.handles.append(handles.astype(np.int64, copy=False))


def _read(records: list[Record], schema: Schema, refusing: Refusing, used: Used) -> Batch:
    if records[0].codec == "arrow":
        return read_batch(table_of(records[0].body), schema, refusing, used=used)
    text = b"\n".join(record.body for record in records)
    return read_json(JsonText(memoryview(text)), schema, refusing, used=used)


def _ask(registry: SegmentRegistry, batch: Batch, positions: Longs, most: int, found: Found) -> None:
    if not batch.size:
        return
    try:
        for first, last in _pieces(registry, batch, most):
            whole = last - first == batch.size
            piece = batch if whole else batch.select(np.arange(first, last))
            _add(registry.match_many(partial(_given, piece)), positions[first:last], found)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not stop the log
        if batch.size == 1:
            found.failed[int(positions[0])] = _told(error)
            return
        _ask_halves(registry, batch, positions, most, found)


def _ask_halves(registry: SegmentRegistry, batch: Batch, positions: Longs, most: int, found: Found) -> None:
    """What was listed before something failed is listed again."""
    asked = set(positions.tolist())
    for at in range(len(found.positions) - 1, -1, -1):
        if len(found.positions[at]) and int(found.positions[at][0]) in asked:
            del found.positions[at], found.handles[at]
    half = batch.size // 2
    for first, last in ((0, half), (half, batch.size)):
        _ask(registry, batch.select(np.arange(first, last)), positions[first:last], most, found)


def _given(batch: Batch, used: Used) -> Batch:
    return batch


def _pieces(registry: SegmentRegistry, batch: Batch, most: int) -> Iterator[tuple[int, int]]:
    """First and last of events whose matches can be listed at once."""
    if _fits(registry, batch.size, most):
        yield 0, batch.size
        return
    ends = np.cumsum(registry.count_many(partial(_given, batch)))
    first = 0
    while first < batch.size:
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + most, "right")), first + 1)
        yield first, last
        first = last
