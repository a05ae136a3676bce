"""Events as Arrow columns: a column per attribute, lists for several values, structs for dotted names.

Whole columns show which events are certainly right. Only the others are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.arrow_columns import Leaf, leaf_of, leaves
from tamis.batches.arrow_rows import ArrowEvents, check_names, raws
from tamis.batches.asking import Raw, Refuse, ask
from tamis.batches.batch import Batch, Part, batch_of_events, joined
from tamis.batches.checks import column_fits
from tamis.batches.views import Types, keep_views, only_type
from tamis.errors import EventError, LimitError
from tamis.model import EVENT_TYPE, Event, Kind, Schema
from tamis.model.events import MAX_VALUES

__all__ = ["Arrow", "batch_of_arrow", "certain", "doubtful_rows"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Arrow: TypeAlias = pa.Table | pa.StructArray


def batch_of_arrow(
    events: Arrow, schema: Schema, refuse: Refuse, *, validated: bool = False, text: bool = False
) -> Batch:
    """The events that are accepted, in order. With `text` all strings are known to be UTF-8."""
    columns = _look_at(events, schema, validated, text)
    good, parts = columns.certain, columns.parts()
    if parts is None:
        good, parts = np.zeros(len(events), bool), {}
    if good.all():
        return Batch(len(events), parts, ArrowEvents(events, schema, {}))
    found = dict(ask(doubtful_rows(events, good), schema, refuse, validated=validated))
    if not good.any():
        return batch_of_events(list(found.values()))
    return _merged(events, schema, good, parts, found)


def certain(events: Arrow, schema: Schema) -> Mask:
    """True for events that certainly keep R1-R3 and whose values all lie in their domains."""
    return _look_at(events, schema).certain


def doubtful_rows(events: Arrow, good: Mask) -> Iterator[tuple[int, Raw]]:
    """The other events as mappings, with their rows."""
    rows = np.flatnonzero(~good)
    return zip(rows.tolist(), raws(events) if len(rows) == len(events) else _chosen(events, rows), strict=True)


def _chosen(events: Arrow, rows: Longs) -> Iterator[Raw]:
    try:
        return raws(events.take(pa.array(rows)))
    except pa.ArrowException:  # chunks whose dictionaries do not go together
        return chain.from_iterable(raws(events.slice(row, 1)) for row in rows.tolist())


def _merged(events: Arrow, schema: Schema, good: Mask, parts: dict[str, list[Part]], found: dict[int, Event]) -> Batch:
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
    return Batch(len(chosen), together, ArrowEvents(events, schema, found), chosen)


# -- what the columns show ----------------------------------------------------------------------------------------


@dataclass
class _Columns:
    """Which events are certain so far, and the values by which they are."""

    certain: Mask
    leaves: dict[str, Leaf] = field(default_factory=dict)
    only: Types | None = None
    """The single event type of a schema: a value of every event, named or not."""

    def doubt(self, leaf: Leaf, fits: Mask | bool) -> None:
        if fits is False:
            self.certain[leaf.rows] = False
        elif fits is not True and not (there := fits[leaf.present]).all():
            self.certain[leaf.rows[~there]] = False

    def parts(self) -> dict[str, list[Part]] | None:
        """The values as parts of a batch; None if Arrow holds more than can be held together."""
        try:
            parts = {name: [leaf.part()] for name, leaf in self.leaves.items()}
        except pa.ArrowException:
            return None
        if self.only is not None:
            names = self.only.names
            at = names.indices.to_numpy()
            parts[EVENT_TYPE] = [Part(Kind.STRING, self.only.rows, names.dictionary, at, single=True)]
        return parts


def _look_at(events: Arrow, schema: Schema, validated: bool = False, text: bool = False) -> _Columns:
    if isinstance(events, pa.Table):
        check_names(events.column_names)
    columns = _distinct(events)
    if columns is None:
        return _Columns(np.zeros(len(events), bool))
    found = _Columns(_there(events))
    for name, column in columns.items():
        leaf, domain = leaf_of(column), schema.domain(name)
        if leaf is not None:
            fits = domain is not None and column_fits(domain, leaf.of, leaf.column, validated=validated, text=text)
            found.doubt(leaf, fits)
            if fits is not False:
                found.leaves[name] = leaf
    if schema.event_types and not schema.open:
        found.only = only_type(schema, len(events))
    if not validated:
        _check_counts(found)
        _check_views(found, schema)
    return found


def _distinct(events: Arrow) -> dict[str, pa.Array] | None:
    """The columns by name; None if only rows can say what is wrong with them, or whether anything is."""
    try:
        columns = list(leaves(events))
    except (EventError, LimitError, pa.ArrowException):  # Arrow joins no chunks whose dictionaries hold nulls
        return None
    found = dict(columns)
    return found if len(found) == len(columns) else None  # nested and with a dot


def _there(events: Arrow) -> Mask:
    """Whether there is an event at all."""
    if isinstance(events, pa.Table) or not events.null_count:
        return np.ones(len(events), bool)
    return events.is_valid().to_numpy(zero_copy_only=False)


def _check_counts(found: _Columns) -> None:
    """An event has at most `MAX_VALUES` values."""
    room = MAX_VALUES - len(found.leaves)
    several = [leaf.rows for leaf in found.leaves.values() if not leaf.single]
    if sum(map(len, several)) > room:
        counts = sum(np.bincount(rows, minlength=len(found.certain)) for rows in several)
        found.certain &= counts <= room


def _check_views(found: _Columns, schema: Schema) -> None:
    """R1, the counts of R2, and R3."""
    size = len(found.certain)
    if schema.open or not schema.event_types or not size:
        return
    types = found.only
    if types is None and EVENT_TYPE in found.leaves:
        part = found.leaves[EVENT_TYPE].part()
        types = Types(part.rows, part.values)
    if types is None:
        found.certain[:] = False
        return
    given = {name: leaf.rows for name, leaf in found.leaves.items() if name != EVENT_TYPE}
    found.certain &= keep_views(schema, size, given, types)
