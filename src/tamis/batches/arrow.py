"""Events as Arrow columns: a column per attribute, lists for several values, structs for dotted names.

Whole columns show which events are certainly right. Only the others are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.arrow_columns import leaf_of, leaves, only_used
from tamis.batches.arrow_rows import ArrowEvents, check_names, raws
from tamis.batches.arrow_types import read_values
from tamis.batches.asking import Raw, Refuse, ask
from tamis.batches.batch import Batch
from tamis.batches.columns import Accepted, Columns
from tamis.errors import EventError, LimitError
from tamis.model import Schema
from tamis.model.names import Used

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
    columns = _look_at(events, schema, validated, used, text)

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


def _look_at(
    events: Arrow, schema: Schema, validated: bool = False, used: Used | None = None, text: bool = False
) -> Columns:
    _check_names(events)
    columns = _distinct(events, used)
    if columns is None:
        return Columns(np.zeros(len(events), bool))
    found = Columns(_there(events))
    for name, column in columns.items():
        held, leaf = leaf_of(column)
        if len(leaf.rows):
            found.add(name, leaf, read_values(held, text=text), schema, validated=validated)
    found.check(schema, validated=validated)
    return found


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
