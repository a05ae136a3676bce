"""What is looked at when a segment file is opened, where numpy would go over an array several times."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel

__all__ = ["Index", "count_listed", "never_falls"]

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]


@kernel
def never_falls(values: npt.NDArray[Any]) -> bool:
    """Whether no value is below the one before it."""
    falls = False
    for at in range(1, len(values)):
        falls |= values[at] < values[at - 1]  # to the end, whatever was found: that is what vectorises
    return not falls


class Index(NamedTuple):
    """The rows that an index of ids lists, and what there is for each row: a bit, or nothing where it is empty."""

    rows: Ints
    alive: Flags
    texts: Flags
    ids: Flags
    canon: Ints


@inlined
def _bit(flags: Flags, row: int) -> bool:
    return (flags[row >> 3] >> np.uint8(row & 7)) & np.uint8(1) != 0


@kernel
def count_listed(index: Index, seen: Flags) -> int:
    """How many of the listed rows are alive; -1 if one is no row, comes twice, has no text or no id, or is not its own
    canon, and if somebody who lives is not listed.

    `seen` is scratch, a zero per row.
    """
    living: Any = np.int64(0)
    size = len(seen)
    for at in range(len(index.rows)):
        row = index.rows[at]
        if row < 0 or row >= size or seen[row] != 0 or not _bit(index.texts, row):
            return -1
        if (len(index.ids) > 0 and not _bit(index.ids, row)) or (len(index.canon) > 0 and index.canon[row] != row):
            return -1
        seen[row] = 1
        living += 1 if _bit(index.alive, row) else 0
    for row in range(size):
        first = index.canon[row] if len(index.canon) > 0 else row
        if _bit(index.alive, row) and seen[first] == 0:
            return -1
    return living
