"""Arrow's types: of which kind their values are, which entries surely are values, and the values as a column.

A type that is not in the table, or an entry that is no value for sure, is not wrong: `Schema.event` looks at it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.arrow_decimals import read_decimals
from tamis.batches.batch import Column
from tamis.model import Kind
from tamis.model.values import FIRST_INSTANT, LAST_INSTANT, MAX_DIGITS

__all__ = ["Values", "Verdict", "every", "read_values"]

Verdict: TypeAlias = npt.NDArray[np.bool_] | bool
"""Of each entry of a column, or of all alike; of an entry that is null it says nothing."""

_FAR = 2**63
_DAY = 86_400 * 10**9
_STRING = pa.string().id


def every(mask: npt.NDArray[np.bool_]) -> Verdict:
    """The mask, or the one word for it."""
    return True if mask.all() else mask


class Values(NamedTuple):
    """The values of a column, entry by entry, with anything where a null is."""

    kind: Kind
    column: Column
    """Numbers (int64, doubles or objects), strings of Arrow, truths and instants as int64 or objects."""
    sound: Verdict = True
    """Which entries certainly are values."""


def read_values(column: pa.Array, *, text: bool = False) -> Values | None:
    """What a column holds; None if only somebody more careful can read it. With `text` strings are surely UTF-8."""
    found = _TYPES.get(column.type.id)
    try:
        if found is _texts and text:
            return Values(Kind.STRING, _plain(column))
        return found(column) if found is not None else None
    except pa.ArrowException:  # more than Arrow can hold together
        return None


def _numbers_of(column: pa.Array) -> npt.NDArray[Any]:
    """The numbers as they lie there, without a copy; anything where a null is."""
    if not column.null_count:
        return column.to_numpy()
    last = column.offset + len(column)  # behind it a buffer may end anywhere
    return np.frombuffer(column.buffers()[1], column.type.to_pandas_dtype(), last)[column.offset :]


# -- numbers, truths and texts ------------------------------------------------------------------------------------


def _wholes(column: pa.Array) -> Values:
    numbers = _numbers_of(column)
    far = numbers.dtype == np.uint64 and int(numbers.max(initial=0)) >= _FAR
    return Values(Kind.NUMBER, numbers.astype(object if far else np.int64, copy=False))


def _reals(column: pa.Array) -> Values:
    numbers = _numbers_of(column).astype(np.float64, copy=False)
    return Values(Kind.NUMBER, numbers, every(np.isfinite(numbers)))


def _decimals(column: pa.Array) -> Values | None:
    of = column.type
    return Values(Kind.NUMBER, read_decimals(column)) if of.precision - of.scale <= MAX_DIGITS else None


def _truths(column: pa.Array) -> Values:
    filled = column.fill_null(False) if column.null_count else column
    return Values(Kind.BOOLEAN, filled.to_numpy(zero_copy_only=False).astype(np.int64))


def _texts(column: pa.Array) -> Values | None:
    """Arrow's strings are bytes that nobody has checked."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return Values(Kind.STRING, _plain(column))


def _plain(column: pa.Array) -> pa.Array:
    return column if column.type.id == _STRING else column.cast(pa.string())


# -- instants -----------------------------------------------------------------------------------------------------

_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""In nanoseconds."""


def _instants(counts: npt.NDArray[np.int64], unit: int, spare: int = 0) -> Values:
    """Counts of a unit since 1970. `spare` is how near to the ends of time nothing is certain."""
    first, last = (FIRST_INSTANT + spare) // unit, (LAST_INSTANT - spare) // unit
    low, high = int(counts.min(initial=0)), int(counts.max(initial=0))
    sound = (first <= low and high <= last) or every((counts >= first) & (counts <= last))
    near = max(-low, high) * unit < _FAR
    return Values(Kind.TIMESTAMP, counts * unit if near else counts.astype(object) * unit, sound)


def _timestamps(column: pa.Array) -> Values | None:
    zone = column.type.tz
    if zone is not None and not _is_zone(zone):
        return None
    spare = 0 if zone in (None, "UTC") else _DAY  # in other zones the first and the last hours of time do not exist
    return _instants(_counts(column), _UNITS[column.type.unit], spare)


def _counts(column: pa.Array) -> npt.NDArray[np.int64]:
    """Zero where a null is: pandas leaves the least of all numbers there, which would seem far away."""
    counts = column.view(pa.int64())
    return (counts.fill_null(0) if counts.null_count else counts).to_numpy()


@lru_cache(256)
def _is_zone(name: str) -> bool:
    try:
        pa.lib.string_to_tzinfo(name)
    except (pa.ArrowException, ValueError, KeyError):
        return False
    return True


def _dates(column: pa.Array) -> Values:
    return _instants(_numbers_of(column.view(pa.int32())).astype(np.int64), _DAY)


def _long_dates(column: pa.Array) -> Values:
    """Milliseconds, of which a date has only whole days."""
    return _instants(_counts(column) // (_DAY // _UNITS["ms"]), _DAY)


_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_DECIMALS = [getattr(pa.lib, f"Type_DECIMAL{bits}", -1) for bits in (32, 64, 128, 256)]  # the short ones are new
_TEXTS = (pa.string(), pa.large_string(), pa.string_view())

_TYPES: dict[int, Callable[[pa.Array], Values | None]] = {
    pa.bool_().id: _truths,
    **{of.id: _wholes for of in _INTEGERS},
    **{of.id: _reals for of in (pa.float16(), pa.float32(), pa.float64())},
    **{of.id: _texts for of in _TEXTS},
    **dict.fromkeys(_DECIMALS, _decimals),
    pa.date32().id: _dates,
    pa.date64().id: _long_dates,
    pa.timestamp("us").id: _timestamps,
}
"""By the number that Arrow gives a type, whatever its parameters."""
