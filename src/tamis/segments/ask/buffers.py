"""Room for answers. A large answer's memory is kept for the next one once nobody holds it any more.

Fresh memory is cleared by the system page by page, which for hundreds of megabytes takes longer than filling them. One
block is kept per process; it goes when an answer comes that is much smaller or does not fit.
"""

from __future__ import annotations

import weakref
from collections import deque

import numpy as np
import numpy.typing as npt

__all__ = ["answer_buffer"]

Ints = npt.NDArray[np.int32]

_LARGE = 1 << 22
"""Smaller answers are left to the allocator, which keeps memory of its own."""
_SLACK = 4
"""A block so many times as large as the answer is given back to the system."""

_ROOM = 8
"""A block has an eighth more than was asked for, that a slightly larger answer fits too. Pages that nobody writes to
take no memory."""

_spare: deque[Ints] = deque(maxlen=1)


def answer_buffer(size: int) -> Ints:
    """An array of `size` numbers with anything in them."""
    if size < _LARGE:
        return np.empty(size, np.int32)
    try:
        block = _spare.pop()
    except IndexError:
        block = _fresh(size)
    if not size <= len(block) <= _SLACK * size:
        block = _fresh(size)
    out: Ints = np.frombuffer(block.data, np.int32, size)
    # Every view of `out` holds this base, and nothing but views of it does.
    weakref.finalize(out.base, _spare.append, block).atexit = False
    return out


def _fresh(size: int) -> Ints:
    return np.empty(size + size // _ROOM, np.int32)
