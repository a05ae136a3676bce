"""Events as Arrow columns: a column per attribute, lists for several values, structs for dotted names.

Whole columns show which events are certainly right. Only the others are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.arrow_columns import Leaf, leaf_of, leaves
from tamis.batches.arrow_rows import ArrowEvents, check_names, only_wanted, raws
from tamis.batches.arrow_types import Values, read_values
from tamis.batches.asking import Raw, Refuse, ask
from tamis.batches.batch import Batch, Part, batch_of_events, joined
from tamis.batches.checks import values_in
from tamis.batches.views import Types, keep_views, only_type
from tamis.errors import EventError, LimitError
from tamis.model import EVENT_TYPE, Domain, Event, Kind, Schema
from tamis.model.events import MAX_VALUES
from tamis.model.names import Wanted

__all__ = ["Arrow", "batch_of_arrow", "certain", "doubtful_rows"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Arrow: TypeAlias = pa.Table | pa.StructArray


def batch_of_arrow(
    events: Arrow, schema: Schema, refuse: Refuse, *, validated: bool = False, wanted: Wanted | None = None
) -> Batch:
    """The events that are accepted, in order."""
    columns = _look_at(events, schema, validated, wanted)
    good, parts = columns.certain, columns.parts
    whole = ArrowEvents(events, schema, wanted)
    if good.all():
        return Batch(len(events), parts, whole, None, wanted)
    found = dict(ask(doubtful_rows(events, good, wanted), schema, refuse, validated=validated))
    if not good.any():
        return batch_of_events(list(found.values()), wanted)
    whole.known |= found
    return replace(_merged(good, parts, found, whole), wanted=wanted)


def certain(events: Arrow, schema: Schema) -> Mask:
    """True for events that certainly keep R1-R3 and whose values all lie in their domains."""
    return _look_at(events, schema, validated=False).certain


def doubtful_rows(events: Arrow, good: Mask, wanted: Wanted | None = None) -> Iterator[tuple[int, Raw]]:
    """The other events as mappings, with their rows."""
    rows = np.flatnonzero(~good)
    found = raws(events) if len(rows) == len(events) else _chosen(events, rows)
    return zip(rows.tolist(), only_wanted(found, wanted), strict=True)


def _chosen(events: Arrow, rows: Longs) -> Iterator[Raw]:
    try:
        return raws(events.take(pa.array(rows)))
    except pa.ArrowException:  # chunks whose dictionaries do not go together
        return chain.from_iterable(raws(events.slice(row, 1)) for row in rows.tolist())


def _merged(good: Mask, parts: dict[str, list[Part]], found: dict[int, Event], whole: ArrowEvents) -> Batch:
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
    return Batch(len(chosen), together, whole, chosen)


# -- what the columns show ----------------------------------------------------------------------------------------


@dataclass
class _Columns:
    """Which events are certain so far, and the values by which they are."""

    certain: Mask
    parts: dict[str, list[Part]] = field(default_factory=dict)

    def add(self, name: str, leaf: Leaf, found: Values | None) -> None:
        """The values of an attribute; without any of them, or where they are not sound, nothing is certain."""
        if found is None or found.sound is False:
            self.certain[leaf.rows] = False
            return
        if found.sound is not True and not (there := found.sound[leaf.entries]).all():
            self.certain[leaf.rows[~there]] = False
        entries = None if leaf.in_order else leaf.entries
        self.parts[name] = [Part(found.kind, leaf.rows, found.column, entries, leaf.single)]


def _look_at(events: Arrow, schema: Schema, validated: bool, wanted: Wanted | None = None) -> _Columns:
    if isinstance(events, pa.Table):
        check_names(events.column_names)
    columns = _distinct(events, wanted)
    if columns is None:
        return _Columns(np.zeros(len(events), bool))
    found = _Columns(_there(events))
    for name, column in columns.items():
        if (leaf := leaf_of(column)) is not None:
            found.add(name, leaf, _values(schema.domain(name), leaf, validated))
    if not validated:
        _check_counts(found)
    only = only_type(schema, len(events)) if schema.event_types and not schema.open else None
    if not validated:
        _check_views(found, schema, only)
    if only is not None:
        at = only.names.indices.to_numpy()
        found.parts[EVENT_TYPE] = [Part(Kind.STRING, only.rows, only.names.dictionary, at, single=True)]
    return found


def _values(domain: Domain | None, leaf: Leaf, validated: bool) -> Values | None:
    """None where only rows can be read: a kind that does not fit, or more than Arrow can hold together."""
    try:
        found = read_values(leaf.column)
    except pa.ArrowException:
        return None
    return None if domain is None or found is None else values_in(domain, found, validated=validated)


def _distinct(events: Arrow, wanted: Wanted | None) -> dict[str, pa.Array] | None:
    """The columns by name; None if only rows can say what is wrong with them, or whether anything is."""
    try:
        columns = list(leaves(events, wanted))
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
    parts = [part for listed in found.parts.values() for part in listed]
    room = MAX_VALUES - len(parts)
    several = [part.rows for part in parts if not part.single]
    if sum(map(len, several)) > room:
        counts = sum(np.bincount(rows, minlength=len(found.certain)) for rows in several)
        found.certain &= counts <= room


def _check_views(found: _Columns, schema: Schema, types: Types | None) -> None:
    """R1, the counts of R2, and R3."""
    size = len(found.certain)
    if schema.open or not schema.event_types or not size:
        return
    if types is None and EVENT_TYPE in found.parts:
        [part] = found.parts[EVENT_TYPE]
        types = Types(part.rows, part.values)
    if types is None:
        found.certain[:] = False
        return
    given = {name: part.rows for name, [part] in found.parts.items() if name != EVENT_TYPE}
    found.certain &= keep_views(schema, size, given, types)
