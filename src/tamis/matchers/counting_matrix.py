"""Counting with a byte matrix (ToPSS §3.3, "regular"): predicates × subscriptions, one byte per association.

The lines of an event's satisfied predicates are added up, and the sums compared with the vector of counts: a
subscription with as many hits as it has predicates matches.

We deviate in that columns are added a stretch at a time, so that the counters stay in the first cache. Counters are
bytes, as the paper's are: a subscription with more than 255 predicates is verified. The matrix is bounded: past
`most_bytes` adding raises LimitError.

Cost: match O(satisfied predicates × subscriptions), add and remove O(predicates of the subscription), memory
O(distinct predicates × subscriptions).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.matchers.counting import count_bytes
from tamis.matchers.parts.arrays import Ints
from tamis.matchers.parts.changes import Change
from tamis.matchers.parts.matrices import MOST_BYTES, Matrix, Scratch, enlarged
from tamis.model import Event, Schema

__all__ = ["CountingMatrix"]

_STRETCH = 8192
"""Columns counted at a time: 8 KB of counters."""


class CountingMatrix(Matrix):
    """A byte per association."""

    _width = 1

    def __init__(self, schema: Schema, index: str | None = None, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(schema, index, most_bytes)
        self._matrix = np.zeros((0, 0), np.uint8)
        self._counts = np.zeros(0, np.uint8)

    def _hits(self) -> npt.NDArray[np.uint8]:
        return np.zeros(_STRETCH, np.uint8)

    def _join(self, change: Change) -> None:
        shape = self._room()
        if shape != self._matrix.shape:
            self._matrix = enlarged(self._matrix, shape)
            self._counts = np.concatenate([self._counts, np.zeros(shape[1] - len(self._counts), np.uint8)])
            self._scratches.discard()
        self._matrix[change.pids, change.members] = 1
        self._counts[change.rows] = change.sizes.astype(np.uint8)

    def _leave(self, change: Change) -> None:
        self._matrix[change.pids, change.members] = 0
        self._counts[change.rows] = 0

    def _add_up(self, ordered: Ints, columns: int, scratch: Scratch) -> int:
        return count_bytes(ordered, self._matrix, self._counts[:columns], scratch.hits, scratch.out)

    def _find(self, event: Event) -> Ints:
        rows = super()._find(event)
        return self._roster.verified(rows, self._roster.sizes[rows] > 255, event, self._work)

    def _line(self, row: int) -> Ints:
        return np.flatnonzero(self._matrix[:, row]).astype(np.int32)

    def _check(self) -> None:
        super()._check()
        live = [row for rows in self._roster.subscriptions.values() for row in rows]
        assert self._matrix.sum() == self._roster.sizes[live].sum(), "a free column is not empty"
