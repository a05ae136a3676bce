"""Starts and ends of intervals applied to a set of ids: how a time index answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating

__all__ = ["apply_events"]

Int32s = npt.NDArray[np.int32]


@allocating
def apply_events(running: Int32s, started: Int32s, ended: Int32s, most: int) -> Int32s:
    """`running` and `started` without `ended`; an id that ends once less often than it starts stays.

    `most` is above every id. Scratch: one counter per id.
    """
    endings = np.zeros(most, dtype=np.int32)
    for id in ended:
        endings[id] += 1
    out = np.empty(running.shape[0] + started.shape[0], dtype=np.int32)
    size = 0
    for ids in (running, started):
        for id in ids:
            if endings[id] > 0:
                endings[id] -= 1
            else:
                out[size] = id
                size += 1
    return out[:size]
