"""Rows of Arrow as mappings, and as events for those who ask for one after all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tamis.batches.asking import Raw, ask, raise_by_row
from tamis.errors import EventError
from tamis.model import Event, Schema
from tamis.model.names import Used

__all__ = ["ArrowEvents", "check_names", "raws"]

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


class ArrowEvents:
    """Events that were accepted, by their rows; each is read when it is first asked for."""

    def __init__(
        self, events: pa.Table | pa.StructArray, schema: Schema, known: dict[int, Event], used: Used | None = None
    ) -> None:
        self._events = events
        self._schema = schema
        self._known = known
        self._used = used

    def __getitem__(self, row: int) -> Event:
        if row not in self._known:
            one = zip([row], raws(self._events.slice(row, 1)), strict=True)
            self._known |= ask(one, self._schema, raise_by_row, validated=True, used=self._used)
        return self._known[row]

    def read_all(self) -> None:
        """Rows become mappings at once, which is quicker than one by one."""
        every = enumerate(raws(self._events))
        self._known |= ask(every, self._schema, raise_by_row, validated=True, used=self._used)
