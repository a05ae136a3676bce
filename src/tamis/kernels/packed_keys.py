"""Binary search among byte strings that lie packed one after another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel

__all__ = ["place"]

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint32]


@kernel
def place(packed: Bytes, ends: Numbers, key: Bytes) -> tuple[int, bool]:
    """The first string that is not below the key, and whether it equals it; string i ends at `ends[i]`."""
    low, high, found = 0, ends.shape[0], False
    while low < high:
        middle = (low + high) // 2
        first = np.int64(ends[middle - 1]) if middle > 0 else 0
        size = np.int64(ends[middle]) - first
        at = 0
        while at < size and at < key.shape[0] and packed[first + at] == key[at]:
            at += 1
        if at == key.shape[0]:
            below = False
        else:
            below = at == size or packed[first + at] < key[at]
        if below:
            low = middle + 1
        else:
            high, found = middle, at == size and at == key.shape[0]
    return low, found
