"""Columns of Arrow, with structs, maps, lists and dictionaries among them → the values of each attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.arrow_maps import fields_of_map
from tamis.model.names import Used, flatten

__all__ = ["Leaf", "is_list_of_structs", "leaf_of", "leaves", "may_hold_records", "only_used", "whole"]

Ints = npt.NDArray[np.int32]

_STRUCT = pa.struct([]).id
_MAP = pa.map_(pa.string(), pa.null()).id
_LIST_TYPES = (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)
_LISTS = frozenset(make(pa.null()).id for make in _LIST_TYPES)
_FIXED = pa.list_(pa.null(), 1).id
_DICTIONARY = pa.dictionary(pa.int8(), pa.null()).id
_RUNS = pa.run_end_encoded(pa.int16(), pa.null()).id


def leaves(events: pa.Table | pa.StructArray, used: Used | None = None) -> Iterator[tuple[str, pa.Array]]:
    """The columns that are no structs, named as within mappings; the nulls of a struct are nulls of its fields.

    Only those that are `used`, where that is given.
    """
    for name, column in flatten(_fields(events), _inside):
        if used is None or name in used.names or (name in used.inside and may_hold_records(column.type)):
            yield name, whole(column)


def may_hold_records(kind: pa.DataType, *, listed: bool = False) -> bool:
    """Whether it is lists of structs or maps, however they are encoded."""
    if kind.id in (_DICTIONARY, _RUNS):
        return may_hold_records(kind.value_type, listed=listed)
    if kind.id in _LISTS or kind.id == _FIXED:
        return not listed and may_hold_records(kind.value_type, listed=True)
    return listed and kind.id in (_STRUCT, _MAP)


def is_list_of_structs(kind: pa.DataType) -> bool:
    return (kind.id in _LISTS or kind.id == _FIXED) and kind.value_type.id == _STRUCT


def only_used(events: pa.Table | pa.StructArray, used: Used) -> pa.Table | pa.StructArray:
    """The events without the columns that nobody asks about."""
    looked_at = used.names | used.inside
    chosen = [(name, column) for name, column in _fields(events) if name in looked_at]
    if not chosen:
        chosen = [("", pa.nulls(len(events)))]
    names, columns = [str(name) for name, _ in chosen], [column for _, column in chosen]
    if isinstance(events, pa.Table):
        return pa.Table.from_arrays(columns, names)
    return pa.StructArray.from_arrays(columns, names, mask=events.is_null() if events.null_count else None)


def _fields(events: pa.Table | pa.StructArray | pa.ChunkedArray) -> Iterable[tuple[object, pa.Array]]:
    if isinstance(events, pa.Table):
        return zip(events.column_names, events.columns, strict=True)
    return zip((one.name for one in events.type), events.flatten(), strict=True)


def _inside(column: pa.Array | pa.ChunkedArray) -> Iterable[tuple[object, pa.Array]] | None:
    if column.type.id == _MAP:
        return fields_of_map(whole(column))
    return _fields(column) if column.type.id == _STRUCT else None


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    try:
        found = column.combine_chunks()
    except pa.ArrowException:
        if column.type.id != _DICTIONARY:
            raise
        return pa.concat_arrays([chunk.dictionary_decode() for chunk in column.chunks])  # they do not go together
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


class Leaf(NamedTuple):
    """Whose the values of an attribute are: entry `entries[i]` of a column is a value of event `rows[i]`."""

    entries: Ints | None
    """None if they are all of the column, one after the other."""
    rows: Ints
    single: bool
    """Whether surely no event has several."""


def leaf_of(column: pa.Array) -> tuple[pa.Array, Leaf]:
    """The values of a column, without lists and dictionaries around them, and whose they are."""
    parents = None
    if column.type.id in _LISTS:
        parents = _parents(column)
        column = pc.list_flatten(column)
    elif column.type.id == _FIXED:
        column, parents = _fixed(column)
    rows, entries = _present(column), None
    while column.type.id in (_DICTIONARY, _RUNS):
        column, at = _dictionary(column) if column.type.id == _DICTIONARY else _runs(column)
        entries = at[rows if entries is None else entries]
        if column.null_count:
            there = column.is_valid().to_numpy(zero_copy_only=False)[entries]
            rows, entries = rows[there], entries[there]
    if entries is None and len(rows) < len(column):
        entries = rows
    return column, Leaf(entries, rows if parents is None else parents[rows], parents is None)


def _parents(lists: pa.Array) -> Ints:
    """The list of each entry that `list_flatten` gives: a null has none, whatever lies between its ends."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy()
    return np.repeat(np.arange(len(lists), dtype=np.int32), lengths)


def _fixed(lists: pa.Array) -> tuple[pa.Array, Ints]:
    """All entries of lists of one size, with the list of each; a null has none."""
    size = lists.type.list_size
    values = lists.values.slice(lists.offset * size, len(lists) * size)
    parents = np.repeat(np.arange(len(lists), dtype=np.int32), size)
    if not lists.null_count:
        return values, parents
    kept = np.repeat(lists.is_valid().to_numpy(zero_copy_only=False), size)
    return values.filter(pa.array(kept)), parents[kept]


def _dictionary(column: pa.Array) -> tuple[pa.Array, Ints]:
    """The distinct values, and which each entry has; any, where it is null."""
    at = column.indices.fill_null(0) if column.null_count else column.indices
    return column.dictionary, at.to_numpy().astype(np.int32, copy=False)


def _runs(column: pa.Array) -> tuple[pa.Array, Ints]:
    """The values of the runs, and the run of each entry."""
    ends = np.clip(column.run_ends.to_numpy().astype(np.int64) - column.offset, 0, len(column))
    return column.values, np.repeat(np.arange(len(ends), dtype=np.int32), np.diff(ends, prepend=0))


def _present(column: pa.Array) -> Ints:
    """The entries that are not null."""
    if not column.null_count:
        return np.arange(len(column), dtype=np.int32)
    return column.is_valid().to_numpy(zero_copy_only=False).nonzero()[0].astype(np.int32)
