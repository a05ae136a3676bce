"""Arrow's types: of which kind their values are, which entries surely are values, and the values as a column.

A type that is not in the table, or an entry that is no value for sure, is not wrong: `Schema.event` looks at it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Column, column_of
from tamis.model import Kind, value_of
from tamis.model.values import FIRST_INSTANT, LAST_INSTANT, MAX_DIGITS

__all__ = [
    "CERTAIN_REAL",
    "CERTAIN_TEXT",
    "CERTAIN_TRUTH",
    "CERTAIN_WHOLE",
    "INSTANT",
    "ArrowType",
    "Verdict",
    "arrow_type",
    "every",
    "numbers_of",
]

Ints = npt.NDArray[np.int32]
Verdict: TypeAlias = npt.NDArray[np.bool_] | bool
"""Of each entry of a column, or of all alike; of an entry that is null it says nothing."""

_FAR = 2**63
_STRING = pa.string().id


def every(mask: npt.NDArray[np.bool_]) -> Verdict:
    """The mask, or the one word for it."""
    return True if mask.all() else mask


class ArrowType(NamedTuple):
    """What we know of the columns of one type; the functions take a column with its nulls."""

    kind: Kind
    sound: Callable[[pa.Array], Verdict]
    """Which entries certainly are values."""
    read: Callable[[pa.Array, Ints], Column]
    """The values of the entries that are not null; of strings all entries, as leaving some out would copy."""
    whole: bool = False
    """Whether all are whole numbers."""


def arrow_type(of: pa.DataType) -> ArrowType | None:
    """What is known of a type, if anything is."""
    found = _TYPES.get(of.id)
    return found(of) if callable(found) else found


def numbers_of(column: pa.Array) -> npt.NDArray[Any]:
    """The numbers as they lie there, without a copy; anything where a null is."""
    if not column.null_count:
        return column.to_numpy()
    last = column.offset + len(column)  # behind it a buffer may end anywhere
    return np.frombuffer(column.buffers()[1], column.type.to_pandas_dtype(), last)[column.offset :]


# -- which entries are values -------------------------------------------------------------------------------------


def _always(_: pa.Array) -> Verdict:
    return True


def _finite(column: pa.Array) -> Verdict:
    return every(np.isfinite(numbers_of(column)))


def _is_utf8(column: pa.Array) -> Verdict:
    """Arrow's strings are bytes that nobody has checked."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


# -- the values ---------------------------------------------------------------------------------------------------


def _present(column: pa.Array, present: Ints) -> npt.NDArray[Any]:
    numbers = numbers_of(column)
    return numbers if len(present) == len(numbers) else numbers[present]


def _truths(column: pa.Array, present: Ints) -> Column:
    return column.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)


def _texts(column: pa.Array, present: Ints) -> Column:
    return column if column.type.id == _STRING else column.cast(pa.string())


def _decimals(column: pa.Array, present: Ints) -> Column:
    return column_of([value_of(one).data for one in column.drop_null().to_pylist()], Kind.NUMBER)


def _wholes(column: pa.Array, present: Ints) -> Column:
    numbers = _present(column, present)
    far = numbers.dtype == np.uint64 and int(numbers.max()) >= _FAR
    return numbers.astype(object if far else np.int64, copy=False)


def _reals(column: pa.Array, present: Ints) -> Column:
    return _present(column, present).astype(np.float64, copy=False)


# -- the table ----------------------------------------------------------------------------------------------------


def _instant(stored: pa.DataType, unit: int) -> ArrowType:
    """Counts of a unit, which is given in nanoseconds."""
    first, last = FIRST_INSTANT // unit, LAST_INSTANT // unit

    def sound(column: pa.Array) -> Verdict:
        counts = numbers_of(column.view(stored))
        return every((counts >= first) & (counts <= last))

    def read(column: pa.Array, present: Ints) -> Column:
        counts = _present(column.view(stored), present).astype(np.int64, copy=False)
        near = max(-int(counts.min()), int(counts.max())) * unit < _FAR
        return counts * unit if near else counts.astype(object) * unit

    return ArrowType(Kind.TIMESTAMP, sound, read)


_UNITS = {unit: _instant(pa.int64(), size) for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3))}
"""Finer instants are left to `Schema.event`: Python has no such datetime."""


def _timestamp(of: pa.DataType) -> ArrowType | None:
    return _UNITS.get(of.unit) if of.tz in (None, "UTC") else None


def _decimal(of: pa.DataType) -> ArrowType | None:
    return _DECIMAL if of.precision - of.scale <= MAX_DIGITS else None


_DECIMAL = ArrowType(Kind.NUMBER, _always, _decimals)
_TEXT = ArrowType(Kind.STRING, _is_utf8, _texts)
_WHOLE = ArrowType(Kind.NUMBER, _always, _wholes, whole=True)
_REAL = ArrowType(Kind.NUMBER, _finite, _reals)
CERTAIN_TEXT = ArrowType(Kind.STRING, _always, _texts)
CERTAIN_WHOLE, CERTAIN_REAL = _WHOLE, _REAL
CERTAIN_TRUTH = ArrowType(Kind.BOOLEAN, _always, _truths)
INSTANT = ArrowType(Kind.TIMESTAMP, _always, _wholes)
"""Of columns that we made ourselves: texts are UTF-8, instants are counts of nanoseconds."""
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())

_TYPES: dict[int, ArrowType | Callable[[pa.DataType], ArrowType | None]] = {
    pa.bool_().id: CERTAIN_TRUTH,
    **{of.id: _WHOLE for of in _INTEGERS},
    **{of.id: _REAL for of in (pa.float16(), pa.float32(), pa.float64())},
    _STRING: _TEXT,
    pa.large_string().id: _TEXT,
    pa.date32().id: _instant(pa.int32(), 86_400 * 10**9),
    pa.timestamp("us").id: _timestamp,
    pa.decimal128(1).id: _decimal,
    pa.decimal256(1).id: _decimal,
}
"""By the number that Arrow gives a type, whatever its parameters."""
