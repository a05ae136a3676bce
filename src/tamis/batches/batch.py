"""A batch of events as columns: per attribute and kind, which event has which values.

Events come as mappings (checked one by one) or as Arrow columns (checked by the column). Whatever a fast check does not
understand, or refuses, is handed to `Schema.event`, which alone decides and words the error.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.views import Types, keep_views, only_type
from tamis.errors import EventError, LimitError
from tamis.model import (
    EVENT_TYPE,
    Boolean,
    Domain,
    Event,
    Finite,
    Integer,
    Kind,
    Number,
    Schema,
    String,
    Timestamp,
    Untyped,
)
from tamis.model.events import MAX_DEPTH, MAX_VALUES

__all__ = ["Batch", "Column", "Part", "arrow_rows", "batch_of_arrow", "batch_of_columns", "batch_of_events", "read_row"]

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


@dataclass
class Batch:
    """`size` events, column by column; `event(row)` gives one back whole."""

    size: int
    parts: dict[str, list[Part]]
    source: Sequence[Event] | pa.Table
    schema: Schema
    chosen: Longs | None = None
    """Where in `source` each event is; None if they lie there in order."""
    _kept: dict[int, Event] = field(default_factory=dict)

    def event(self, row: int) -> Event:
        at = row if self.chosen is None else int(self.chosen[row])
        if not isinstance(self.source, pa.Table):
            return self.source[at]
        if row not in self._kept:
            self._kept[row] = self.schema.event(self.source.slice(at, 1).to_pylist()[0])
        return self._kept[row]

    def events(self) -> list[Event]:
        """All of them whole. Rows of Arrow are made mappings at once, which is quicker than one by one."""
        if not isinstance(self.source, pa.Table) or self.chosen is not None:
            return [self.event(row) for row in range(self.size)]
        return [self.schema.event(raw) for raw in self.source.to_pylist()]

    def select(self, chosen: Longs) -> Batch:
        """Some events, given in ascending order; no value is copied."""
        place = np.full(self.size, -1, np.int32)
        place[chosen] = np.arange(len(chosen), dtype=np.int32)
        parts = {}
        for name, listed in self.parts.items():
            if kept := [part for one in listed if len((part := one.select(place)).rows)]:
                parts[name] = kept
        at = chosen if self.chosen is None else self.chosen[chosen]
        return Batch(len(chosen), parts, self.source, self.schema, at)


def batch_of_events(events: Sequence[Event], schema: Schema) -> Batch:
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
        parts[name].append(Part(kind, np.array(rows, np.int32), _column(data, kind)))
    return Batch(len(events), dict(parts), events, schema)


def _column(data: list[Any], kind: Kind) -> Column:
    if kind is Kind.STRING:
        return pa.array(data, pa.string())
    if all(isinstance(one, int) and -(2**63) <= one < 2**63 for one in data):
        return np.array(data, np.int64)
    if all(isinstance(one, float) for one in data):
        return np.array(data, np.float64)
    column = np.empty(len(data), object)
    column[:] = data
    return column


_FITS: dict[type[Domain], Kind] = {
    Number: Kind.NUMBER, Integer: Kind.NUMBER, String: Kind.STRING, Boolean: Kind.BOOLEAN,
}  # fmt: skip


class _Unsure(Exception):
    """A column that only `Schema.event` can judge."""


def batch_of_arrow(table: pa.Table | pa.RecordBatch, schema: Schema) -> Batch:
    """A batch from Arrow: a column per attribute, lists for several values, structs for dotted names."""
    table = pa.table(table) if isinstance(table, pa.RecordBatch) else table
    found = batch_of_columns(table, schema)
    return found if found is not None else batch_of_events(list(_read_rows(table, schema)), schema)


def batch_of_columns(table: pa.Table, schema: Schema) -> Batch | None:
    """The same where whole columns show that every event is right; None where events must be looked at one by one."""
    try:
        columns = list(_flat("", table))
        if len({name for name, _ in columns}) < len(columns):
            return None  # nested and with a dot
        parts = {
            name: part
            for name, column in columns
            if (part := _read_column(name, column, schema.domain(name))) is not None
        }
        _limit_values(len(table), list(parts.values()))
        if schema.event_types and not schema.open:
            parts = _in_views(parts, len(table), schema)
    except (_Unsure, pa.ArrowException):  # Arrow joins no chunks whose dictionaries hold nulls, or too much together
        return None
    return Batch(len(table), {name: [part] for name, part in parts.items()}, table, schema)


def _in_views(parts: dict[str, Part], size: int, schema: Schema) -> dict[str, Part]:
    """The parts, where each event surely keeps the view of its types; the only type is added where it is not named."""
    if not size:
        return parts
    types = only_type(schema, size)
    if types is not None:
        name, at = types.names.dictionary, types.names.indices.to_numpy()
        parts = {**parts, EVENT_TYPE: Part(Kind.STRING, types.rows, name, at, single=True)}
    elif EVENT_TYPE in parts:
        types = Types(parts[EVENT_TYPE].rows, parts[EVENT_TYPE].values)
    else:
        raise _Unsure
    given = {name: part.rows for name, part in parts.items() if name != EVENT_TYPE}
    if not keep_views(schema, size, given, types).all():
        raise _Unsure
    return parts


def _limit_values(size: int, parts: list[Part]) -> None:
    several = [part.rows for part in parts if not part.single]
    if sum(map(len, several)) > MAX_VALUES - len(parts):
        counts = sum(np.bincount(rows, minlength=size) for rows in several)
        if np.max(counts) > MAX_VALUES - len(parts):
            raise _Unsure


def _read_rows(table: pa.Table, schema: Schema) -> Iterator[Event]:
    for row, raw in enumerate(arrow_rows(table)):
        yield read_row(schema, raw, row)


def arrow_rows(events: pa.Table | pa.RecordBatch) -> list[dict[str, object]]:
    """The rows as mappings, their values still to be checked."""
    names = events.schema.names
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise EventError(f"the Arrow table has two columns called {twice!r}", attribute=twice)
    try:
        rows: list[dict[str, object]] = events.to_pylist()
    except (pa.ArrowException, KeyError, OverflowError, ValueError) as error:  # a year 40,000, a zone nobody knows
        raise EventError(f"the Arrow table holds a value that Python cannot: {error}") from None
    return rows


def read_row(schema: Schema, raw: Mapping[str, object], row: int) -> Event:
    """One event of a batch; an error says which."""
    try:
        return schema.event(raw)
    except EventError as error:
        message = str(error).removeprefix(f"{error.rule}: ")
        raise EventError(f"event {row}: {message}", error.rule, error.attribute) from None
    except LimitError as error:
        raise LimitError(f"event {row}: {error}", error.limit, error.found) from None


def _flat(prefix: str, table: pa.Table, depth: int = 0) -> Iterator[tuple[str, pa.Array]]:
    if depth > MAX_DEPTH:
        raise _Unsure
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not name:
            raise _Unsure
        whole = column.chunk(0) if column.num_chunks == 1 else _joined(column)
        if pa.types.is_struct(whole.type):
            fields = [pc.struct_field(whole, at) for at in range(whole.type.num_fields)]
            yield from _flat(f"{prefix}{name}.", pa.table(fields, [f.name for f in whole.type]), depth + 1)
        else:
            yield prefix + name, whole


def _joined(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def _read_column(name: str, column: pa.Array, domain: Domain | None) -> Part | None:
    parents = None
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        parents = _parents(column)
        column = pc.list_flatten(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    present = _present(column)
    if not len(present):
        return None
    if domain is None:
        raise _Unsure
    kind, values = _read_values(column, present)
    rows = present if parents is None else parents[present]
    part = Part(kind, rows, values, present if len(values) > len(present) else None, single=parents is None)
    _judge(part, domain)
    return part


def _parents(lists: pa.Array) -> Ints:
    """The list of each entry that `list_flatten` gives: a null has none, whatever lies between its ends."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy()
    return np.repeat(np.arange(len(lists), dtype=np.int32), lengths)


def _present(column: pa.Array) -> Ints:
    """The entries that are not null."""
    if not column.null_count:
        return np.arange(len(column), dtype=np.int32)
    return np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).astype(np.int32)


def _read_values(column: pa.Array, present: Ints) -> tuple[Kind, Column]:
    """The values that are present; strings with the nulls between them, as leaving these out would copy the others."""
    of = column.type
    if pa.types.is_boolean(of):
        return Kind.BOOLEAN, column.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_integer(of) and not pa.types.is_uint64(of):
        return Kind.NUMBER, _numbers(column, present).astype(np.int64, copy=False)
    if pa.types.is_floating(of):
        reals = _numbers(column, present).astype(np.float64)
        if not np.isfinite(reals).all():
            raise _Unsure
        return Kind.NUMBER, reals
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        try:
            column.validate(full=True)
            return Kind.STRING, column.cast(pa.string())
        except pa.ArrowInvalid:  # not UTF-8, or more than two gigabytes
            raise _Unsure from None
    raise _Unsure


def _numbers(column: pa.Array, present: Ints) -> npt.NDArray[Any]:
    if not column.null_count:
        return column.to_numpy(zero_copy_only=False)
    last = column.offset + len(column)  # behind it a buffer may end anywhere
    return np.frombuffer(column.buffers()[1], column.type.to_pandas_dtype(), last)[column.offset :][present]


def _judge(part: Part, domain: Domain) -> None:
    """Let pass what the domain surely holds."""
    if isinstance(domain, Untyped):
        return
    if isinstance(domain, Finite):
        if part.kind is not Kind.STRING or not domain.rank.keys() >= set(pc.unique(part.values).to_pylist()):
            raise _Unsure
    elif isinstance(domain, Timestamp) or _FITS[type(domain)] is not part.kind:
        raise _Unsure
    if isinstance(domain, Integer):
        numbers = part.values
        if isinstance(numbers, pa.Array) or numbers.dtype != np.int64:
            raise _Unsure
        if domain.min is not None and numbers.min() < domain.min:
            raise _Unsure
        if domain.max is not None and numbers.max() > domain.max:
            raise _Unsure
