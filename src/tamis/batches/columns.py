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
import pyarrow as pa

from tamis.batches.arrow_columns import Leaf
from tamis.batches.batch import Batch, Part, Whole, batch_of_events, joined
from tamis.batches.checks import column_fits
from tamis.batches.views import Types, keep_views, only_type
from tamis.model import EVENT_TYPE, Event, Kind, Schema
from tamis.model.events import MAX_VALUES

__all__ = ["Accepted", "Columns"]

Mask: TypeAlias = npt.NDArray[np.bool_]
Accepted: TypeAlias = dict[int, Event]
"""Events that were accepted one by one, by their rows."""


@dataclass
class Columns:
    """Which events are certain so far, and the values by which they are."""

    certain: Mask
    leaves: dict[str, list[Leaf]] = field(default_factory=dict)
    only: Types | None = None
    """The single event type of a schema: a value of every event, named or not."""

    def add(self, name: str, leaf: Leaf, schema: Schema, *, validated: bool = False) -> None:
        """The values of an attribute, or those of one kind; events whose values may not fit are not certain."""
        domain = schema.domain(name)
        fits = domain is not None and column_fits(domain, leaf.of, leaf.column, validated=validated)
        if fits is False:
            self.certain[leaf.rows] = False
            return
        if fits is not True and not (there := fits[leaf.present]).all():
            self.certain[leaf.rows[~there]] = False
        self.leaves.setdefault(name, []).append(leaf)

    def check(self, schema: Schema, *, validated: bool = False) -> None:
        """When all values are there: how many an event has, R1, the counts of R2, and R3."""
        if schema.event_types and not schema.open:
            self.only = only_type(schema, len(self.certain))
        if not validated:
            self._check_counts()
            self._check_views(schema)

    def _check_counts(self) -> None:
        """An event has at most `MAX_VALUES` values."""
        leaves = [leaf for listed in self.leaves.values() for leaf in listed]
        room = MAX_VALUES - len(leaves)
        several = [leaf.rows for leaf in leaves if not leaf.single]
        if sum(map(len, several)) > room:
            counts = sum(np.bincount(rows, minlength=len(self.certain)) for rows in several)
            self.certain &= counts <= room

    def _check_views(self, schema: Schema) -> None:
        size = len(self.certain)
        if schema.open or not schema.event_types or not size:
            return
        types = self.only
        if types is None and len(self.leaves.get(EVENT_TYPE, ())) == 1:
            part = self.leaves[EVENT_TYPE][0].part()
            types = Types(part.rows, part.values)
        if types is None:
            self.certain[:] = False
            return
        given = {name: _rows(listed) for name, listed in self.leaves.items() if name != EVENT_TYPE}
        self.certain &= keep_views(schema, size, given, types)

    def batch(self, ask: Callable[[Mask], Accepted], source: Callable[[Accepted], Whole]) -> Batch:
        """All that is accepted, in order; `ask` is told which events are certain, and asks about the others."""
        good, parts = self.certain, self._parts()
        if parts is None:
            good, parts = np.zeros(len(good), bool), {}
        if good.all():
            return Batch(len(good), parts, source({}))
        found = ask(good)
        if not good.any():
            return batch_of_events(list(found.values()))
        return _merged(source(found), good, parts, found)

    def _parts(self) -> dict[str, list[Part]] | None:
        """The values as parts of a batch; None if Arrow holds more than can be held together."""
        try:
            parts = {name: joined(leaf.part() for leaf in listed) for name, listed in self.leaves.items()}
        except pa.ArrowException:
            return None
        if self.only is not None:
            names = self.only.names
            at = names.indices.to_numpy()
            parts[EVENT_TYPE] = [Part(Kind.STRING, self.only.rows, names.dictionary, at, single=True)]
        return parts


def _rows(leaves: list[Leaf]) -> npt.NDArray[np.int32]:
    if len(leaves) == 1:
        return leaves[0].rows
    return np.sort(np.concatenate([leaf.rows for leaf in leaves]))


def _merged(source: Whole, good: Mask, parts: dict[str, list[Part]], found: Accepted) -> Batch:
    """What is certain by the column and what was accepted one by one, in the order of the rows."""
    asked = np.fromiter(found, np.int64, len(found))
    chosen = np.union1d(np.flatnonzero(good), asked)
    place = np.full(len(good), -1, np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    by_column = np.where(good, place, np.int32(-1))
    one_by_one = batch_of_events(list(found.values())).parts
    together: dict[str, list[Part]] = {}
    for name in parts | one_by_one:
        listed = [part.select(by_column) for part in parts.get(name, [])]
        listed += [part.select(place[asked]) for part in one_by_one.get(name, [])]
        if kept := joined(part for part in listed if len(part.rows)):
            together[name] = kept
    return Batch(len(chosen), together, source, chosen)
