"""Events as Arrow columns: a column per attribute, lists for several values, structs for dotted names.

Whole columns show which events are certainly right. Only the others are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.arrow_columns import is_list_of_structs, leaf_of, leaves, may_hold_records, only_used
from tamis.batches.arrow_records import add_records, record_column
from tamis.batches.arrow_rows import ArrowEvents, check_names, raws
from tamis.batches.arrow_types import read_values
from tamis.batches.asking import Raw, Refuse, ask
from tamis.batches.batch import Batch
from tamis.batches.columns import Accepted, Columns
from tamis.errors import EventError, LimitError
from tamis.model import Schema
from tamis.model.names import MAX_DEPTH, Used

__all__ = ["Arrow", "batch_of_arrow", "certain", "doubtful_rows"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Arrow: TypeAlias = pa.Table | pa.StructArray


def batch_of_arrow(
    events: Arrow,
    schema: Schema,
    refuse: Refuse,
    *,
    validated: bool = False,
    used: Used | None = None,
    text: bool = False,
) -> Batch:
    """The events that are accepted, in order; only what is `used` of them, where that is given. With `text` all strings
    are known to be UTF-8."""
    if used is not None:
        _check_names(events)
        events = only_used(events, used)
    columns = _look_at(events, schema, _Asked(validated, used, text))

    def asked(good: Mask) -> Accepted:
        return dict(ask(doubtful_rows(events, good), schema, refuse, validated=validated, used=used))

    return columns.batch(asked, partial(ArrowEvents, events, schema, used=used))


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


class _Asked(NamedTuple):
    """What is asked of events: as in `batch_of_arrow`, and how many lists are around them."""

    validated: bool = False
    used: Used | None = None
    text: bool = False
    depth: int = 0


_ALL = _Asked()


def _look_at(events: Arrow, schema: Schema, asked: _Asked = _ALL) -> Columns:
    _check_names(events)
    columns = _distinct(events, asked.used)
    if columns is None:
        return Columns(np.zeros(len(events), bool))
    found = Columns(_there(events))
    lists = {name: column for name, column in columns.items() if may_hold_records(column.type)}
    for name, column in columns.items() if not lists else [one for one in columns.items() if one[0] not in lists]:
        held, leaf = leaf_of(column)
        if len(leaf.rows):
            found.add(name, leaf, read_values(held, text=asked.text), schema, validated=asked.validated)
    for name, column in lists.items():
        _look_into(found, name, column, schema, asked)
    found.check(schema, validated=asked.validated)
    return found


def _look_into(found: Columns, name: str, column: pa.Array, schema: Schema, asked: _Asked) -> None:
    """Of lists of structs the records are looked at by the column, too."""
    inner, used = schema.records(name), asked.used
    if inner is None or not is_list_of_structs(column.type) or asked.depth == MAX_DEPTH:
        found.certain[leaf_of(column)[1].rows] = False
        return
    records = record_column(column)
    if not len(records.rows):
        return
    within = None if used is None else used.within(name)
    structs = records.structs if within is None else only_used(records.structs, within)
    looked_at = _look_at(structs, inner, asked._replace(used=within, depth=asked.depth + 1))
    source = ArrowEvents(structs, inner, {}, used=within) if used is None or name in used.names else None
    add_records(found, name, records, looked_at, source)


def _check_names(events: Arrow) -> None:
    if isinstance(events, pa.Table):
        check_names(events.column_names)


def _distinct(events: Arrow, used: Used | None) -> dict[str, pa.Array] | None:
    """The columns by name; None if only rows can say what is wrong with them, or whether anything is."""
    try:
        columns = list(leaves(events, used))
    except (EventError, LimitError, pa.ArrowException):  # Arrow joins no chunks whose dictionaries hold nulls
        return None
    found = dict(columns)
    return found if len(found) == len(columns) else None  # nested and with a dot


def _there(events: Arrow) -> Mask:
    """Whether there is an event at all."""
    if isinstance(events, pa.Table) or not events.null_count:
        return np.ones(len(events), bool)
    return events.is_valid().to_numpy(zero_copy_only=False)
