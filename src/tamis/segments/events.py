"""A batch of events as columns: per attribute and kind, which event has which values.

Events come as mappings (checked one by one) or as Arrow columns (checked by the column). Whatever a fast check does not
understand, or refuses, is handed to `Schema.event`, which alone decides and words the error.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import EventError, LimitError
from tamis.model import Boolean, Domain, Event, Finite, Integer, Kind, Number, Schema, String, Timestamp, Untyped
from tamis.model.events import MAX_VALUES
from tamis.segments.constraints import Column

__all__ = ["Batch", "Part", "arrow_rows", "batch_of_arrow", "batch_of_events", "read_row"]


@dataclass(frozen=True, slots=True)
class Part:
    """Values of one attribute and kind; `rows` are their events, ascending, repeated where an event has several."""

    kind: Kind
    rows: npt.NDArray[np.int32]
    values: Column
    whole: bool = False
    """Whether every event has just one."""


@dataclass
class Batch:
    """`size` events, column by column; `event(row)` gives one back whole."""

    size: int
    parts: dict[str, list[Part]]
    source: Sequence[Event] | pa.Table
    schema: Schema
    _kept: dict[int, Event] = field(default_factory=dict)

    def event(self, row: int) -> Event:
        if not isinstance(self.source, pa.Table):
            return self.source[row]
        if row not in self._kept:
            self._kept[row] = self.schema.event(self.source.slice(row, 1).to_pylist()[0])
        return self._kept[row]


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


class _Unsure(Exception):
    """A column that only `Schema.event` can judge."""


def batch_of_arrow(table: pa.Table | pa.RecordBatch, schema: Schema) -> Batch:
    """A batch from Arrow: a column per attribute, lists for several values, structs for dotted names."""
    table = pa.table(table) if isinstance(table, pa.RecordBatch) else table
    try:
        if schema.event_types and not schema.open:
            raise _Unsure
        columns = list(_flat("", table))
        if len({name for name, _ in columns}) < len(columns):
            raise _Unsure  # nested and with a dot
        parts = {
            name: part
            for name, column in columns
            if (part := _read_column(name, column, schema.domain(name))) is not None
        }
        _limit_values(len(table), list(parts.values()))
    except _Unsure:
        return batch_of_events(list(_read_rows(table, schema)), schema)
    return Batch(len(table), {name: [part] for name, part in parts.items()}, table, schema)


def _limit_values(size: int, parts: list[Part]) -> None:
    several = [part.rows for part in parts if len(part.rows) > size]
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


def _flat(prefix: str, table: pa.Table) -> Iterator[tuple[str, pa.Array]]:
    for name, column in zip(table.column_names, table.columns, strict=True):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
        if not name:
            raise _Unsure
        if pa.types.is_struct(whole.type):
            fields = [pc.struct_field(whole, at) for at in range(whole.type.num_fields)]
            yield from _flat(f"{prefix}{name}.", pa.table(fields, [f.name for f in whole.type]))
        else:
            yield prefix + name, whole


def _read_column(name: str, column: pa.Array, domain: Domain | None) -> Part | None:
    rows = np.arange(len(column), dtype=np.int32)
    size, several = len(column), pa.types.is_nested(column.type)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        rows = pc.list_parent_indices(column).to_numpy().astype(np.int32)
        column = pc.list_flatten(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    whole = len(column) == size and not several and not column.null_count
    if column.null_count:
        present = pc.is_valid(column)
        rows = rows[present.to_numpy(zero_copy_only=False)]
        column = column.filter(present)
    if not len(column):
        return None
    if domain is None:
        raise _Unsure
    kind, values = _read_values(column)
    _judge(kind, values, domain)
    return Part(kind, rows, values, whole)


def _read_values(column: pa.Array) -> tuple[Kind, Column]:
    of = column.type
    if pa.types.is_boolean(of):
        return Kind.BOOLEAN, column.to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_integer(of) and not pa.types.is_uint64(of):
        return Kind.NUMBER, column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    if pa.types.is_floating(of):
        reals = column.to_numpy(zero_copy_only=False).astype(np.float64)
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


def _judge(kind: Kind, values: Column, domain: Domain) -> None:
    """Let pass what the domain surely holds."""
    if isinstance(domain, Untyped):
        return
    fits = {Number: Kind.NUMBER, String: Kind.STRING, Boolean: Kind.BOOLEAN, Integer: Kind.NUMBER}
    if isinstance(domain, Timestamp) or (not isinstance(domain, Finite) and fits[type(domain)] is not kind):
        raise _Unsure
    if isinstance(domain, Integer):
        whole = not isinstance(values, pa.Array) and values.dtype == np.int64
        if not whole or (domain.min is not None and values.min() < domain.min):
            raise _Unsure
        if domain.max is not None and values.max() > domain.max:
            raise _Unsure
    if isinstance(domain, Finite) and not (
        isinstance(values, pa.Array) and set(domain.names).issuperset(pc.unique(values).to_pylist())
    ):
        raise _Unsure
