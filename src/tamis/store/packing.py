"""Bytes as the service's files keep them: zstd, summed, and integers in byte planes.

Sorted handles of one event lie close together, so of their gaps the upper bytes are nearly all zero. A plane has one
byte of each number: gaps [3, 260] are the planes [3, 4] and [0, 1]. Zeros cost next to nothing then.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

__all__ = ["pack", "planes", "sum_of", "unpack", "unplaned"]

Longs = npt.NDArray[np.int64]

_CODEC = pa.Codec("zstd", 1)
"""Level 3 took half as long again on blocks, and spared a tenth of them."""


def pack(content: bytes) -> bytes:
    return _CODEC.compress(content, asbytes=True)  # type: ignore[no-any-return]


def unpack(content: bytes, size: int) -> bytes:
    return _CODEC.decompress(content, size, asbytes=True)  # type: ignore[no-any-return]


def sum_of(content: bytes) -> int:
    """As SQLite holds an integer."""
    return xxhash.xxh3_64_intdigest(content) - (1 << 63)


def planes(numbers: Longs) -> bytes:
    """How many planes, then each: as many as the largest number needs. None is negative."""
    most = int(numbers.max(initial=0))
    count = max(1, -(-most.bit_length() // 8))
    raw = np.ascontiguousarray(numbers, "<i8").view(np.uint8).reshape(-1, 8)
    return bytes([count]) + np.ascontiguousarray(raw[:, :count].T).tobytes()


def unplaned(content: memoryview, count: int) -> tuple[Longs, int]:
    """So many numbers, and how many bytes they took."""
    width = content[0]
    end = 1 + width * count
    raw = np.zeros((count, 8), np.uint8)
    raw[:, :width] = np.frombuffer(content[1:end], np.uint8).reshape(width, count).T
    return raw.view("<i8").reshape(count).astype(np.int64, copy=False), end
