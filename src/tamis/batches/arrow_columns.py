"""Columns of Arrow, with structs, lists and dictionaries among them → the values of each attribute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.arrow_types import ArrowType, arrow_type
from tamis.batches.batch import Part
from tamis.model.names import Used, flatten

__all__ = ["Leaf", "leaf_of", "leaves", "only_used"]

Ints = npt.NDArray[np.int32]

_STRUCT = pa.struct([]).id
_LISTS = (pa.list_(pa.null()).id, pa.large_list(pa.null()).id)
_DICTIONARY = pa.dictionary(pa.int8(), pa.null()).id


def leaves(events: pa.Table | pa.StructArray, used: Used | None = None) -> Iterator[tuple[str, pa.Array]]:
    """The columns that are no structs, named as within mappings; the nulls of a struct are nulls of its fields.

    Only those that are `used`, where that is given.
    """
    found = flatten(_fields(events), _inside)
    return ((name, _whole(column)) for name, column in found if used is None or name in used.names)


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
    return _fields(column) if column.type.id == _STRUCT else None


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


class Leaf(NamedTuple):
    """The values of one attribute: entry `present[i]` of the column is a value of event `rows[i]`."""

    of: ArrowType | None
    """None where only somebody more careful can read them."""
    column: pa.Array
    present: Ints
    rows: Ints
    single: bool
    """Whether surely no event has several."""

    def part(self) -> Part:
        assert self.of is not None
        values = self.of.read(self.column, self.present)
        entries = self.present if len(values) > len(self.present) else None
        return Part(self.of.kind, self.rows, values, entries, self.single)


def leaf_of(column: pa.Array) -> Leaf | None:
    """The values of a column; None if it has none."""
    parents = None
    if column.type.id in _LISTS:
        parents = _parents(column)
        column = pc.list_flatten(column)
    if column.type.id == _DICTIONARY:
        column = column.dictionary_decode()
    present = _present(column)
    if not len(present):
        return None
    rows = present if parents is None else parents[present]
    return Leaf(arrow_type(column.type), column, present, rows, single=parents is None)


def _parents(lists: pa.Array) -> Ints:
    """The list of each entry that `list_flatten` gives: a null has none, whatever lies between its ends."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy()
    return np.repeat(np.arange(len(lists), dtype=np.int32), lengths)


def _present(column: pa.Array) -> Ints:
    """The entries that are not null."""
    if not column.null_count:
        return np.arange(len(column), dtype=np.int32)
    return column.is_valid().to_numpy(zero_copy_only=False).nonzero()[0].astype(np.int32)
