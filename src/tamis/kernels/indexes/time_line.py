"""A time index's line: who runs at a leaf's first point, changed by what starts and what ends on the way to a value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating

__all__ = ["still_running"]

Int32s = npt.NDArray[np.int32]


@allocating
def still_running(running: Int32s, started: Int32s, ended: Int32s, most: int) -> Int32s:
    """The intervals that run after some have started and some have ended; one that ends once less than it starts does.

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
