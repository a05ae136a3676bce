"""A batch of events as columns: per attribute and kind, which event has which values. What the engine is asked with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.model import Event, Kind
from tamis.model.caching import cached_property
from tamis.model.names import Used

__all__ = ["Batch", "Column", "Part", "Readable", "Whole", "batch_of_events", "column_of", "joined"]
__all__ += ["Listed", "ReadBatch", "select_lists"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Column: TypeAlias = npt.NDArray[Any] | pa.Array


@dataclass(frozen=True)
class Part:
    """Values of one attribute and kind; `rows` are their events, ascending, repeated where an event has several."""

    kind: Kind
    rows: Ints
    column: Column
    entries: Ints | None = None
    """Where in `column` the value of each row is; None if they lie there in order."""
    single: bool = False
    """Whether surely no event has several."""

    @cached_property
    def values(self) -> Column:
        """The values, one for every row."""
        if self.entries is None:
            return self.column
        return self.column.take(pa.array(self.entries) if isinstance(self.column, pa.Array) else self.entries)

    def select(self, place: Ints) -> Part:
        """The values of those events whose new number `place` has; -1 for the others."""
        rows = place[self.rows]
        kept = np.flatnonzero(rows >= 0).astype(np.int32)
        entries = kept if self.entries is None else self.entries[kept]
        return Part(self.kind, rows[kept], self.column, entries, self.single)


class Whole(Protocol):
    """Events one by one, by their place."""

    def __getitem__(self, at: int, /) -> Event: ...


@runtime_checkable
class Readable(Protocol):
    """A source that reads events as they are asked for, and quicker all at once."""

    def read_all(self) -> None: ...


@dataclass(frozen=True)
class Batch:
    """`size` events, column by column; `event(row)` gives one back whole."""

    size: int
    parts: dict[str, list[Part]]
    source: Whole
    chosen: Longs | None = None
    """Where in `source` each event is; None if they lie there in order."""
    lists: dict[str, list[Listed]] = field(default_factory=dict)
    """The records of lists that somebody asks about."""

    def event(self, row: int) -> Event:
        return self.source[row if self.chosen is None else int(self.chosen[row])]

    def events(self) -> list[Event]:
        """All of them whole."""
        if self.chosen is None and isinstance(self.source, Readable):
            self.source.read_all()
        return [self.event(row) for row in range(self.size)]

    def select(self, chosen: Longs) -> Batch:
        """Some events, given in ascending order; no value is copied."""
        place = np.full(self.size, -1, np.int32)
        place[chosen] = np.arange(len(chosen), dtype=np.int32)
        parts = {}
        for name, listed in self.parts.items():
            if kept := [part for one in listed if len((part := one.select(place)).rows)]:
                parts[name] = kept
        at = chosen if self.chosen is None else self.chosen[chosen]
        return Batch(len(chosen), parts, self.source, at, select_lists(self.lists, place))


@dataclass(frozen=True)
class Listed:
    """Records of one list, as events of their own: `rows` are the events that they belong to, ascending."""

    rows: Ints
    source: Sequence[Event] | Batch

    @cached_property
    def batch(self) -> Batch:
        """The records as columns."""
        return self.source if isinstance(self.source, Batch) else batch_of_events(self.source)

    def select(self, place: Ints) -> Listed:
        """The records of those events whose new number `place` has; -1 for the others."""
        rows = place[self.rows]
        kept = np.flatnonzero(rows >= 0)
        if len(kept) == len(rows):
            return Listed(rows, self.source)
        if isinstance(self.source, Batch):
            return Listed(rows[kept], self.source.select(kept))
        return Listed(rows[kept], [self.source[at] for at in kept.tolist()])


def select_lists(lists: dict[str, list[Listed]], place: Ints) -> dict[str, list[Listed]]:
    """The same of all lists of a batch."""
    found = {name: [one.select(place) for one in listed] for name, listed in lists.items()}
    return {name: [one for one in listed if len(one.rows)] for name, listed in found.items()}


ReadBatch: TypeAlias = Callable[[Used], Batch]
"""Reads what is used of some events: whoever is asked knows what that is, at the moment that the answer is of."""


def batch_of_events(events: Sequence[Event]) -> Batch:
    """A batch of events that were checked already."""
    lists: dict[tuple[str, Kind], tuple[list[int], list[Any]]] = defaultdict(lambda: ([], []))
    for row, event in enumerate(events):
        for name, values in event.values.items():
            for value in values:
                rows, data = lists[name, value.kind]
                rows.append(row)
                data.append(value.data)
    parts: dict[str, list[Part]] = defaultdict(list)
    for (name, kind), (rows, data) in lists.items():
        parts[name].append(Part(kind, np.array(rows, np.int32), column_of(data, kind)))
    return Batch(len(events), dict(parts), events, lists=_lists_of(events))


def _lists_of(events: Sequence[Event]) -> dict[str, list[Listed]]:
    found: dict[str, tuple[list[int], list[Event]]] = defaultdict(lambda: ([], []))
    for row, event in enumerate(events):
        for name, records in event.records.items():
            rows, listed = found[name]
            rows += [row] * len(records)
            listed += records
    return {name: [Listed(np.array(rows, np.int32), listed)] for name, (rows, listed) in found.items()}


def column_of(data: list[Any], kind: Kind) -> Column:
    """Values of one kind, in the narrowest form that is exact."""
    if kind is Kind.STRING:
        return pa.array(data, pa.string())
    if all(isinstance(one, int) and -(2**63) <= one < 2**63 for one in data):
        return np.array(data, np.int64)
    if all(isinstance(one, float) for one in data):
        return np.array(data, np.float64)
    column = np.empty(len(data), object)
    column[:] = data
    return column


def joined(parts: Iterable[Part]) -> list[Part]:
    """Parts with the values of a kind together."""
    kinds: dict[Kind, list[Part]] = defaultdict(list)
    for part in parts:
        kinds[part.kind].append(part)
    return [listed[0] if len(listed) == 1 else _join(kind, listed) for kind, listed in kinds.items()]


def _join(kind: Kind, parts: list[Part]) -> Part:
    rows = np.concatenate([part.rows for part in parts])
    order = rows.argsort(kind="stable")
    columns = [part.values for part in parts]
    if kind is Kind.STRING:
        return Part(kind, rows[order], pa.concat_arrays(columns).take(pa.array(order)))
    if len({column.dtype for column in columns}) > 1:  # numpy would make doubles of all
        columns = [column.astype(object) for column in columns]
    return Part(kind, rows[order], np.concatenate(columns)[order])
