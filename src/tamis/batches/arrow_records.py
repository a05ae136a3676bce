"""Lists of structs: their records as columns of their own, and what the events around them have of these.

variants   [{size: M, stock: 1}, {size: L}], [{size: M}]

the records       size M, L, M      stock 1, -, -       rows 0, 0, 1
of the events     variants.size M and L, M     variants.stock 1, -     variants two records, one record
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.arrow_columns import leaf_of
from tamis.batches.batch import Batch, Listed, Part, Whole, joined
from tamis.batches.columns import Columns
from tamis.model import Kind

__all__ = ["RecordColumn", "add_records", "record_column"]

Ints = npt.NDArray[np.int32]

_LONG_NAME = 160
"""Longer names are added up by somebody more careful."""


class RecordColumn(NamedTuple):
    """The records of a column of lists, and the event of each, ascending."""

    structs: pa.StructArray
    rows: Ints


def record_column(column: pa.Array) -> RecordColumn:
    """Records that are null are none."""
    structs, leaf = leaf_of(column)
    return RecordColumn(structs if leaf.entries is None else structs.take(pa.array(leaf.entries)), leaf.rows)


def add_records(events: Columns, name: str, column: RecordColumn, records: Columns, source: Whole | None) -> None:
    """What a list's records, as columns of their own, give the events; with a `source` they are asked about, too."""
    rows = column.rows
    events.certain[rows[~records.certain]] = False
    parts = {f"{name}.{field}": [_of_events(rows, part) for part in parts] for field, parts in records.parts.items()}
    lists = {
        f"{name}.{field}": [Listed(rows[one.rows], one.source) for one in listed]
        for field, listed in records.lists.items()
    }
    new = {name, *parts, *lists}
    if any(len(one) > _LONG_NAME or one in events.parts or one in events.lists for one in new):
        events.certain[rows] = False
        return
    events.parts |= parts
    events.lists |= lists
    if source is not None:
        events.parts[name] = [Part(Kind.RECORD, rows, _ordinals(rows))]
        inner = {field: joined(parts) for field, parts in records.parts.items()}
        events.lists[name] = [Listed(rows, Batch(len(rows), inner, source, lists=records.lists))]


def _of_events(rows: Ints, part: Part) -> Part:
    """Values of records as those of the events around them."""
    around = rows[part.rows]
    if part.kind is Kind.RECORD:
        return Part(part.kind, around, _ordinals(around))
    return Part(part.kind, around, part.column, part.entries)


def _ordinals(rows: Ints) -> npt.NDArray[np.int64]:
    """The place of each record in its list."""
    places = np.arange(len(rows))
    first = np.r_[True, rows[1:] != rows[:-1]]
    return places - np.maximum.accumulate(np.where(first, places, 0))
