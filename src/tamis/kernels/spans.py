"""Pieces of a column's bytes: hashed, and copied into a column of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel

__all__ = ["copy_spans", "hash_span", "hash_spans"]

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


@kernel
def hash_span(text: Bytes, start: int, stop: int) -> Any:
    """A 64-bit hash of the bytes from `start` to `stop`."""
    state = np.uint64(0xCBF29CE484222325) ^ np.uint64(stop - start)
    for i in range(start, stop):
        state = (state ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
        state ^= state >> np.uint64(31)
    return state * np.uint64(0x9E3779B97F4A7C15)


@kernel
def hash_spans(text: Bytes, starts: Longs, stops: Longs, hashes: npt.NDArray[np.uint64]) -> None:
    """A 64-bit hash of each span."""
    for at in range(len(starts)):
        hashes[at] = hash_span(text, starts[at], stops[at])


@kernel
def copy_spans(text: Bytes, starts: Longs, offsets: Ints, out: Bytes) -> None:
    """The spans one after another, as the bytes of an Arrow string column with these offsets."""
    for at in range(len(starts)):
        start, to = starts[at], offsets[at]
        for i in range(offsets[at + 1] - to):
            out[to + i] = text[start + i]
