"""Constants as bytes that sort as the constants do, exactly: the keys of the PB+tree.

A string is its UTF-8, whose order is that of code points. A number, boolean or timestamp is

    the greatest double not above it, 8 bytes     then, unless that is the number itself, what is missing

where what is missing is a whole number (only whole numbers beyond 2**53 fall between doubles), written with its length
before its digits. So 2**53 + 1 sorts just after 2.0**53 and well before 2**53 + 2, and 10**400 after every double.

    1        → bf f0 00 00 00 00 00 00        -1       → 40 0f ff ff ff ff ff ff
    2**53+1  → c3 40 00 00 00 00 00 00 · 00 00 00 01 · 01
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from tamis.indexes.base import double
from tamis.model import Kind, Value

__all__ = ["encode", "encode_many"]

_DOUBLE, _BITS = struct.Struct(">d"), struct.Struct(">Q")
_TOP, _ALL = 1 << 63, (1 << 64) - 1
_EXACT = 2**53


def encode(value: Value) -> bytes:
    data = value.data
    if value.kind is Kind.STRING:
        return str(data).encode()
    if isinstance(data, float) or -_EXACT <= int(data) <= _EXACT:
        return _double(float(data) + 0.0)  # adding zero makes -0.0 zero
    floor = double(int(data))
    missing = int(data) - int(floor) if math.isfinite(floor) else int(data)
    return _double(floor) + _whole(missing)


def encode_many(values: Sequence[Value]) -> list[bytes]:
    """`encode` each value; where all are doubles, as most are, by a few operations on arrays."""
    data = [value.data for value in values]
    if not all(isinstance(one, float) or (isinstance(one, int) and -_EXACT <= one <= _EXACT) for one in data):
        return [encode(value) for value in values]
    bits = (np.array(data, np.float64) + 0.0).view(np.uint64)
    packed = np.where(bits & np.uint64(_TOP), ~bits, bits | np.uint64(_TOP)).astype(">u8").tobytes()
    return [packed[at : at + 8] for at in range(0, len(packed), 8)]


def _double(number: float) -> bytes:
    (bits,) = _BITS.unpack(_DOUBLE.pack(number))
    return _BITS.pack(int(bits) ^ (_ALL if bits & _TOP else _TOP))


def _whole(number: int) -> bytes:
    """Nothing for zero; longer digits are further from zero."""
    if number == 0:
        return b""
    size = (abs(number).bit_length() + 7) // 8
    if number > 0:
        return size.to_bytes(4, "big") + number.to_bytes(size, "big")
    return (2**32 - 1 - size).to_bytes(4, "big") + ((1 << 8 * size) - 1 + number).to_bytes(size, "big")
