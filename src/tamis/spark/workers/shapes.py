"""The shapes of an answer: rows of ids and counts, from what segments found, as Arrow batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.matchers.base import Rows
from tamis.spark.columns import EVENT_ID, MATCH_COUNT, SUBSCRIPTION_IDS

__all__ = ["MOST_IDS", "AnswerShape", "Asking", "SegmentAnswer", "counted", "in_lists", "in_pieces"]


class AnswerShape(Enum):
    """What a row of an answer is."""

    PIECES = auto()
    """An event and what one segment found, to be exploded."""
    LISTS = auto()
    """An event and all it matched."""
    COUNTS = auto()
    """An event and how many."""


MOST_IDS = 65_536
"""Ids in one row of a wide answer, and about as many in one Arrow batch: a bound on what is built at once."""

_LONG_RUN = 24
"""Ids per event and segment from which on copying them run by run is quicker."""

Longs = npt.NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]


class SegmentAnswer(NamedTuple):
    """A segment's answer: event `rows[i]` (or `i`, if None) matched the ids in row i of `found`."""

    rows: Longs | None
    found: Rows[pa.Array]


class Asking(NamedTuple):
    """The ids of the events that are asked about, whether those that match nothing have a row too, and the type of
    subscriptions' ids, of which there may be none."""

    ids: pa.Array
    unmatched: bool
    id_type: pa.DataType


def in_pieces(event_ids: pa.Array, one: SegmentAnswer, *, unmatched: bool = False) -> Batches:
    """A row per event that matched, or per event; more than `MOST_IDS` ids go on in further rows."""
    offsets, ids = one.found.offsets, one.found.items
    counts = one.found.counts()
    pieces = np.maximum(-(-counts // MOST_IDS), int(unmatched))
    owners = np.repeat(np.arange(len(counts)), pieces)
    nth = np.arange(len(owners)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = offsets[owners] + nth * MOST_IDS
    bounds = np.append(starts, offsets[-1:])
    events = event_ids.take(pa.array(owners if one.rows is None else one.rows[owners]))
    kind = pa.list_(pa.field("element", ids.type, nullable=False))
    # Rows are put together until a batch holds about `MOST_IDS` ids.
    cuts = [0, *(np.flatnonzero(np.diff(bounds[:-1] // MOST_IDS)) + 1).tolist(), len(owners)]
    for first, last in pairwise(cuts):
        if first < last:
            edges = bounds[first : last + 1]
            listed = ids.slice(edges[0], edges[-1] - edges[0])
            lists = pa.ListArray.from_arrays(pa.array((edges - edges[0]).astype(np.int32)), listed, type=kind)
            columns = [events.slice(first, last - first), lists, pa.array(np.diff(edges))]
            yield pa.RecordBatch.from_arrays(columns, [EVENT_ID, SUBSCRIPTION_IDS, MATCH_COUNT])


def in_lists(events: Asking, found: Sequence[SegmentAnswer]) -> Batches:
    """A row per event that any of several segments matched; more than `MOST_IDS` ids go on in further rows."""
    if len(found) == 1 and (found[0].rows is None or not events.unmatched):
        return in_pieces(events.ids, found[0], unmatched=events.unmatched)
    totals = np.zeros(len(events.ids), np.int64)
    for one in found:
        totals[_all(one.rows)] += one.found.counts()
    offsets = np.concatenate([[0], np.cumsum(totals)])
    ids = _gathered(found, offsets) if found else pa.array([], events.id_type)
    return in_pieces(events.ids, SegmentAnswer(None, Rows(offsets, ids)), unmatched=events.unmatched)


def _all(rows: Longs | None) -> Longs | slice:
    return slice(None) if rows is None else rows


def _gathered(found: Sequence[SegmentAnswer], offsets: Longs) -> pa.Array:
    """The ids of all, event by event: each segment's go behind those of the segments before it.

    Integers are moved at once; of strings the order is, and they follow it.
    """
    whole = all(pa.types.is_integer(one.found.items.type) for one in found)
    moved, filled, first = np.empty(int(offsets[-1]), np.int64), offsets[:-1].copy(), 0
    for one in found:
        ids, rows = one.found.items, _all(one.rows)
        source = ids.to_numpy() if whole else np.arange(first, first + len(ids))
        _move(Rows(one.found.offsets, source), moved, filled[rows])
        filled[rows] += one.found.counts()
        first += len(ids)
    return pa.array(moved) if whole else pa.concat_arrays([one.found.items for one in found]).take(pa.array(moved))


def _move(source: Rows[Longs], moved: Longs, places: Longs) -> None:
    """Each row of the source to its place: run by run, unless the runs are so short that this costs more."""
    offsets, counts = source.offsets, source.counts()
    matched = np.flatnonzero(counts)
    if len(source.items) < _LONG_RUN * len(matched):
        moved[np.repeat(places - offsets[:-1], counts) + np.arange(len(source.items))] = source.items
        return
    for place, first, count in zip(
        places[matched].tolist(), offsets[matched].tolist(), counts[matched].tolist(), strict=True
    ):
        moved[place : place + count] = source.items[first : first + count]


def counted(events: Asking, found: Sequence[tuple[Longs | None, Longs]]) -> Batches:
    """A row per event that matched anything, or per event, without the ids."""
    totals = np.zeros(len(events.ids), np.int64)
    for rows, counts in found:
        totals[_all(rows)] += counts
    kept = np.arange(len(totals)) if events.unmatched else np.flatnonzero(totals)
    columns = [events.ids.take(pa.array(kept)), pa.array(totals[kept])]
    yield pa.RecordBatch.from_arrays(columns, [EVENT_ID, MATCH_COUNT])
