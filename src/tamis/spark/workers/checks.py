"""Which struct events of a batch are certainly right? Whole columns at a time, in the worker.

The check is sound, not complete: an event that it passes is one that `Schema.event` accepts, and whatever it does not
pass is put to `Schema.event`, which alone decides and has the sentence. So a case that is not thought of here costs
time and never a wrong answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.views import Types, keep_views, only_type
from tamis.model import EVENT_TYPE, Boolean, Domain, Finite, Integer, Number, Schema, String, Timestamp
from tamis.model.events import MAX_VALUES
from tamis.model.values import FIRST_INSTANT, LAST_INSTANT

__all__ = ["certain", "leaves"]

_FIRST_US, _LAST_US = FIRST_INSTANT // 1000, LAST_INSTANT // 1000

Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


def leaves(events: pa.StructArray, prefix: str = "") -> Iterator[tuple[str, pa.Array]]:
    """The columns of a struct with dotted names; the nulls of a struct are nulls of its fields."""
    for field, column in zip(events.type, events.flatten(), strict=True):
        if pa.types.is_struct(field.type):
            yield from leaves(column, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, column


def certain(schema: Schema, events: pa.StructArray) -> Mask:
    """True for events that certainly keep R1-R3 and whose values all lie in their domains."""
    columns = list(leaves(events))
    good = _mask(events.is_valid())
    names = [name for name, _ in columns]
    if schema.open or len(set(names)) < len(names):
        return np.zeros(len(events), bool)
    columns = [(name, column) for name, column in columns if column.null_count < len(column)]
    given: dict[str, Ints] = {}
    for name, column in columns:
        domain = schema.domain(name)
        if domain is None or pa.types.is_map(column.type):
            good &= ~_mask(column.is_valid())
            continue
        given[name], fits = _column_fits(domain, column, MAX_VALUES // len(columns))
        good &= fits
    if schema.event_types:
        good &= _keep_views(schema, dict(columns), given, len(events))
    return good


def _mask(values: pa.Array) -> Mask:
    found: Mask = values.fill_null(False).to_numpy(zero_copy_only=False).astype(bool)
    return found


def _column_fits(domain: Domain, column: pa.Array, most_values: int) -> tuple[Ints, Mask]:
    """The events of the values; and per event, are there not too many and all of them in the domain?"""
    if not pa.types.is_list(column.type):
        present = _mask(column.is_valid())
        return np.flatnonzero(present).astype(np.int32), ~present | _values_fit(domain, column)
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    owners = np.repeat(np.arange(len(column), dtype=np.int32), lengths)  # a null owns nothing
    values = column.flatten()
    given = _mask(values.is_valid())
    wrong = owners[given & ~_values_fit(domain, values)]
    fits = lengths <= most_values
    fits[wrong] = False
    return owners[given], fits


def _values_fit(domain: Domain, values: pa.Array) -> Any:
    """Certainly in the domain; what stands for null means nothing."""
    kind, never = values.type, np.zeros(len(values), bool)
    match domain:
        case Integer(low, high) if pa.types.is_signed_integer(kind):
            numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
            return (numbers >= (-np.inf if low is None else low)) & (numbers <= (np.inf if high is None else high))
        case Number() if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
            return ~never
        case Number() if pa.types.is_floating(kind):
            return np.isfinite(values.fill_null(0).to_numpy(zero_copy_only=False))
        case Boolean() if pa.types.is_boolean(kind):
            return ~never
        case String() if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return ~never if _is_utf8(values) else never
        case Finite() if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return _mask(pc.is_in(values, pa.array(domain.names, kind)))
        case Timestamp() if pa.types.is_date(kind):
            values = values.cast(pa.timestamp("s")).cast(pa.timestamp("us"))
            return _instants_fit(values)
        case Timestamp() if pa.types.is_timestamp(kind) and kind.unit == "us":
            return _instants_fit(values)
    return never


def _instants_fit(values: pa.Array) -> Mask:
    micros = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    found: Mask = (micros >= _FIRST_US) & (micros <= _LAST_US)
    return found


def _is_utf8(values: pa.Array) -> bool:
    """Spark's strings are bytes that nobody has checked."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _keep_views(schema: Schema, columns: dict[str, pa.Array], given: dict[str, Ints], count: int) -> Mask:
    """R1, the counts of R2, and R3."""
    types = only_type(schema, count)
    if types is None:
        column = columns[EVENT_TYPE] if EVENT_TYPE in given else pa.nulls(count)
        names = column.flatten() if pa.types.is_list(column.type) else column
        if not pa.types.is_string(names.type) or not _is_utf8(names):
            return np.zeros(count, bool)
        types = Types(given[EVENT_TYPE], names.drop_null())
    return keep_views(schema, count, {name: rows for name, rows in given.items() if name != EVENT_TYPE}, types)
