"""Rows of Arrow as mappings, and as events for those who ask for one after all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from tamis.batches.asking import Raw, ask, raise_by_row
from tamis.errors import EventError
from tamis.model import Event, Schema
from tamis.model.names import Wanted

__all__ = ["ArrowEvents", "check_names", "only_wanted", "raws"]

_NOT_PYTHON = (pa.ArrowException, KeyError, OverflowError, ValueError)
"""A year 40,000, a zone nobody knows, a key of a map that comes twice."""


def raws(events: pa.Table | pa.StructArray) -> Iterator[Raw]:
    """The rows as mappings, their values still to be checked. Maps are mappings as well."""
    if isinstance(events, pa.Table):
        check_names(events.column_names)
    try:
        return map(_found, events.to_pylist(maps_as_pydicts="strict"))
    except _NOT_PYTHON:
        return (_one(events.slice(row, 1)) for row in range(len(events)))


def check_names(names: list[str]) -> None:
    """`to_pylist` would keep one of two columns."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise EventError(f"the Arrow table has two columns called {twice!r}", attribute=twice)


def _one(event: Any) -> Raw:
    try:
        return _found(event.to_pylist(maps_as_pydicts="strict")[0])
    except _NOT_PYTHON as error:
        return EventError(f"the event holds a value that Python cannot: {error}")


def _found(row: dict[str, object] | None) -> Raw:
    return EventError("expected an event, found nothing") if row is None else row


def only_wanted(found: Iterator[Raw], wanted: Wanted | None) -> Iterator[Raw]:
    """The events without what nobody wants."""
    if wanted is None:
        return found
    return (wanted.only(raw) if isinstance(raw, Mapping) else raw for raw in found)


class ArrowEvents:
    """Events that were accepted, by their rows; each is read when it is first asked for."""

    def __init__(self, events: pa.Table | pa.StructArray, schema: Schema, wanted: Wanted | None) -> None:
        self._events = events
        self._schema = schema
        self._wanted = wanted
        self.known: dict[int, Event] = {}

    def __getitem__(self, row: int) -> Event:
        if row not in self.known:
            self._read(self._events.slice(row, 1), row)
        return self.known[row]

    def read_all(self) -> None:
        """Rows become mappings at once, which is quicker than one by one."""
        self._read(self._events, 0)

    def _read(self, events: pa.Table | pa.StructArray, first: int) -> None:
        rows = enumerate(only_wanted(raws(events), self._wanted), first)
        self.known |= ask(rows, self._schema, raise_by_row, validated=True)
