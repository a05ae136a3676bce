"""Columns of values → which events are certainly right, and a batch of them with those that were asked about.

Whatever the columns do not show to be right is put to `Schema.event`, event by event; so a case not thought of here
costs time and never a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.batches.arrow_columns import Leaf
from tamis.batches.arrow_types import Values
from tamis.batches.batch import Batch, Listed, Part, Whole, batch_of_events, joined, select_lists
from tamis.batches.checks import values_in
from tamis.batches.views import Types, keep_views, only_type
from tamis.model import EVENT_TYPE, Event, Kind, Schema
from tamis.model.given import MAX_VALUES
from tamis.model.names import MAX_DEPTH

__all__ = ["Accepted", "Columns"]

Mask: TypeAlias = npt.NDArray[np.bool_]
Accepted: TypeAlias = dict[int, Event]
"""Events that were accepted one by one, by their rows."""


@dataclass
class Columns:
    """Which events are certain so far, and the values by which they are."""

    certain: Mask
    parts: dict[str, list[Part]] = field(default_factory=dict)
    lists: dict[str, list[Listed]] = field(default_factory=dict)
    only: Types | None = None
    """The single event type of a schema: a value of every event, named or not."""

    def add(self, name: str, leaf: Leaf, found: Values | None, schema: Schema, *, validated: bool = False) -> None:
        """The values of an attribute, or those of one kind; events whose values may not fit are not certain."""
        domain = schema.domain(name)
        if found is not None:
            found = None if domain is None else values_in(domain, found, validated=validated)
        if found is None or found.sound is False or schema.is_field(name):
            self.certain[leaf.rows] = False
            return
        if found.sound is not True:
            there = found.sound if leaf.entries is None else found.sound[leaf.entries]
            self.certain[leaf.rows[~there]] = False
        part = Part(found.kind, leaf.rows, found.column, leaf.entries, leaf.single)
        self.parts.setdefault(name, []).append(part)

    def check(self, schema: Schema, *, validated: bool = False) -> None:
        """When all values are there: how many an event has, R1, the counts of R2, and R3."""
        if schema.event_types and not schema.open:
            self.only = only_type(schema, len(self.certain))
        if not validated:
            self._check_counts()
            self._check_views(schema)

    def _check_counts(self) -> None:
        """An event has at most `MAX_VALUES` values."""
        parts = [part for listed in self.parts.values() for part in listed]
        room = MAX_VALUES - len(parts)
        if any(part.kind is Kind.RECORD for part in parts) or self.lists:
            room //= 2 * MAX_DEPTH  # what lies within lists counts for each of them
        several = [part.rows for part in parts if not part.single]
        if sum(map(len, several)) > room:
            counts = sum(np.bincount(rows, minlength=len(self.certain)) for rows in several)
            self.certain &= counts <= room

    def _check_views(self, schema: Schema) -> None:
        size = len(self.certain)
        if schema.open or not schema.event_types or not size:
            return
        types = self.only
        if types is None and len(self.parts.get(EVENT_TYPE, ())) == 1:
            part = self.parts[EVENT_TYPE][0]
            types = Types(part.rows, part.values)
        if types is None:
            self.certain[:] = False
            return
        given = {
            name: _rows(listed)
            for name, listed in self.parts.items()
            if name != EVENT_TYPE and not schema.is_field(name)
        }
        self.certain &= keep_views(schema, size, given, types)

    def batch(self, ask: Callable[[Mask], Accepted], source: Callable[[Accepted], Whole]) -> Batch:
        """All that is accepted, in order; `ask` is told which events are certain, and asks about the others."""
        good, parts = self.certain, {name: joined(listed) for name, listed in self.parts.items()}
        if self.only is not None:
            at = self.only.names.indices.to_numpy()
            parts[EVENT_TYPE] = [Part(Kind.STRING, self.only.rows, self.only.names.dictionary, at, single=True)]
        if good.all():
            return Batch(len(good), parts, source({}), lists=self.lists)
        found = ask(good)
        if not good.any():
            return batch_of_events(list(found.values()))
        return _merged(good, Batch(len(good), parts, source(found), lists=self.lists), found)


def _rows(parts: list[Part]) -> npt.NDArray[np.int32]:
    if len(parts) == 1:
        return parts[0].rows
    return np.sort(np.concatenate([part.rows for part in parts]))


def _merged(good: Mask, columns: Batch, found: Accepted) -> Batch:
    """What is certain by the column and what was accepted one by one, in the order of the rows."""
    asked = np.fromiter(found, np.int64, len(found))
    chosen = np.union1d(np.flatnonzero(good), asked)
    place = np.full(len(good), -1, np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    by_column = np.where(good, place, np.int32(-1))
    read = batch_of_events(list(found.values()))
    parts, one_by_one = columns.parts, read.parts
    together: dict[str, list[Part]] = {}
    for name in parts | one_by_one:
        listed = [part.select(by_column) for part in parts.get(name, [])]
        listed += [part.select(place[asked]) for part in one_by_one.get(name, [])]
        if kept := joined(part for part in listed if len(part.rows)):
            together[name] = kept
    lists = select_lists(columns.lists, by_column)
    for name, records in select_lists(read.lists, place[asked]).items():
        lists[name] = [*lists.get(name, []), *records]
    return Batch(len(chosen), together, columns.source, chosen, lists)
