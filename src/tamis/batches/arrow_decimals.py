"""Decimals of Arrow → numbers: each the nearest double, or the whole number itself where no double is that number.

A decimal is a whole number of up to 256 bits, of which the last `scale` digits stand behind the point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.model import value_of

__all__ = ["read_decimals"]

Longs = npt.NDArray[np.int64]

_EXACT = 2**53
_EXACT_POWER = 22
"""Up to it a power of ten is a double, and so one division by it gives the nearest double."""
_SAMPLE = 64


def read_decimals(column: pa.Array) -> npt.NDArray[Any]:
    """The values of a column, with anything where a null is; objects, if some are whole and too large for doubles."""
    column = column.fill_null(0) if column.null_count else column
    near = _by_division(column)
    if near is None and (shorter := _shortened(column)) is not None:
        near = _by_division(shorter)
    numbers = column.cast(pa.string()).cast(pa.float64()).to_numpy() if near is None else near
    far = np.flatnonzero(np.abs(numbers) >= _EXACT)
    if not len(far):
        return numbers
    found = numbers.astype(object)
    found[far] = [value_of(one).data for one in column.take(pa.array(far)).to_pylist()]
    return found


def _by_division(column: pa.Array) -> npt.NDArray[np.float64] | None:
    """The quick way, for whole numbers that are doubles, all of them."""
    if not 0 <= column.type.scale <= _EXACT_POWER:
        return None
    digits = _short(column)
    if digits is None or (len(digits) and max(-int(digits.min()), int(digits.max())) > _EXACT):
        return None
    return digits / 10.0**column.type.scale


def _short(column: pa.Array) -> Longs | None:
    """The whole numbers, if all have 64 bits."""
    width = column.type.byte_width
    held = column.buffers()[1]
    if held is None:
        return np.empty(0, np.int64)
    last = column.offset + len(column)
    if width == 4:
        return np.frombuffer(held, np.int32, last)[column.offset :].astype(np.int64)
    words = np.frombuffer(held, np.int64, last * width // 8).reshape(-1, width // 8)[column.offset :]
    lowest = words[:, 0]
    return lowest if (words[:, 1:] == (lowest >> 63)[:, None]).all() else None


def _shortened(column: pa.Array) -> pa.Array | None:
    """The same numbers without the zeros that all of them end with, as a short sample has it; None if that is wrong.

    Spark gives a decimal 18 digits behind the point unless it is told otherwise.
    """
    exponents = [one.normalize().as_tuple().exponent for one in column.slice(0, _SAMPLE).to_pylist()]
    scale = max([0, *(-int(one) for one in exponents)])
    if scale >= column.type.scale:
        return None
    make = pa.decimal256 if column.type.bit_width > 128 else pa.decimal128
    try:
        return column.cast(make(column.type.precision, scale))
    except pa.ArrowInvalid:
        return None
