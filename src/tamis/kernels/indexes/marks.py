"""Placing the marks of many rays on a balanced tree at once: how an IBS-tree is built."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.gather import copy
from tamis.kernels.jit import allocating

__all__ = ["marks"]

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@allocating
def marks(left: Int32s, right: Int32s, root: int, rays: Int64s) -> Int64s:
    """The marks of every ray, as rows (bucket, id).

    Node r holds the r-th smallest constant and has the buckets 3r (marks for values on its left), 3r + 1 (for the
    constant itself), 3r + 2 (on its right). A ray is a row (id, node of its constant, direction, closed): direction 1
    goes up, -1 down, 0 is the point alone.
    """
    out = np.empty((16 + 4 * rays.shape[0], 2), dtype=np.int64)
    size = 0
    for ray in range(rays.shape[0]):
        id, target, direction, closed = rays[ray]
        node = target if direction == 0 else root
        while True:
            if size + 2 > out.shape[0]:
                grown = np.empty((2 * out.shape[0], 2), dtype=np.int64)
                copy(out.ravel(), grown.ravel())
                out = grown
            past = (node - target) * direction  # > 0: the ray covers this constant and all beyond it
            if past > 0 or (past == 0 and closed == 1):
                out[size, 0], out[size, 1] = 3 * node + 1, id
                size += 1
            if past > 0 or (node == target and direction != 0):
                out[size, 0], out[size, 1] = 3 * node + 1 + direction, id
                size += 1
            if node == target:
                break
            node = left[node] if node > target else right[node]
    return out[:size]
