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
_MOST_ZEROS = 18
_ESTIMATED = 2**50
"""Up to it a whole number is estimated to within one: with 18 zeros, to within less than 64 bits."""
_SAMPLE = 16


def read_decimals(column: pa.Array) -> npt.NDArray[Any]:
    """The values of a column, with anything where a null is: whole numbers if all are, else doubles; objects, if some
    are whole and too large for doubles."""
    column = column.fill_null(0) if column.null_count else column
    near = _by_division(column)
    if near is None:
        near = _without_zeros(column)
    numbers = column.cast(pa.string()).cast(pa.float64()).to_numpy() if near is None else near
    far = np.flatnonzero(np.abs(numbers) >= _EXACT)
    if not len(far):
        return numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() else numbers
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


def _without_zeros(column: pa.Array) -> npt.NDArray[np.float64] | None:
    """The quick way for numbers that all end with zeros, as many as a short sample has it; None if that is wrong.

    Spark gives a decimal 18 digits behind the point unless it is told otherwise. The digits without the zeros are
    estimated. With the zeros put back they have the column's last 64 bits, and are less than that away: they are the
    digits.
    """
    zeros = _zeros(column)
    if column.type.byte_width != 16 or not 0 < zeros <= _MOST_ZEROS:
        return None
    scale = column.type.scale - zeros
    words = np.frombuffer(column.buffers()[1], np.int64, 2 * (column.offset + len(column))).reshape(-1, 2)
    low, high = words[column.offset :].T
    estimate = np.rint((high * 2.0**64 + low.view(np.uint64)) / 10.0**zeros)
    if np.abs(estimate).max(initial=0) > _ESTIMATED or not 0 <= scale <= _EXACT_POWER:
        return None
    digits = estimate.astype(np.int64)
    with np.errstate(over="ignore"):
        same = digits * np.int64(10**zeros) == low
    return digits / 10.0**scale if same.all() else None


def _zeros(column: pa.Array) -> int:
    exponents = [int(one.normalize().as_tuple().exponent) for one in column.slice(0, _SAMPLE).to_pylist() if one]
    return column.type.scale + min(exponents, default=-column.type.scale)
