"""Conjunctions and events as strings over {0, 1, *}: what they ask of, and are in, the cells of a partition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, kernel
from tamis.kernels.matchers.trees import Asks
from tamis.kernels.matchers.verifying import HEAD_BITS, Candidates

__all__ = ["MOST_CELLS", "Cells", "ask_cells", "rotate"]

MOST_CELLS = 32
"""Cells of one column; their sets are the bits of a word."""


class Cells(NamedTuple):
    """Column c is cut into `counts[c]` cells, which are the properties from `bases[c]` on; where there are two, the
    second alone is a property, as it tells both. Predicate p of column `columns[p]` (-1: none) admits the cells
    `masks[p]`. `exact[c]` says that a cell is admitted wholly or not at all."""

    columns: npt.NDArray[np.int32]
    masks: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.int32]
    bases: npt.NDArray[np.int32]
    exact: npt.NDArray[np.bool_]


@kernel
def _ask_column(
    mask: np.uint64, base: int, count: int, ops: npt.NDArray[np.int32], results: npt.NDArray[np.int32], at: int
) -> int:
    """Write what admitting these cells asks: one 1 if there is but one, else a 0 for each cell that is not admitted."""
    admitted = 0
    only = 0
    for cell in range(count):
        if (mask >> np.uint64(cell)) & np.uint64(1):
            admitted += 1
            only = cell
    if not 0 < admitted < count:
        return at
    if count == 2:
        ops[at], results[at] = base, only
        return at + 1
    if admitted == 1:
        ops[at], results[at] = base + only, 1
        return at + 1
    for cell in range(count):
        if not (mask >> np.uint64(cell)) & np.uint64(1):
            ops[at], results[at] = base + cell, 0
            at += 1
    return at


def ask_cells(rows: npt.NDArray[np.int32], candidates: Candidates, cells: Cells) -> tuple[Asks, npt.NDArray[np.bool_]]:
    """What each row asks of the properties, in their order, and whether these asks say all that the row says."""
    room = _most_asks(rows, candidates, cells)
    asks = Asks(np.zeros(len(rows) + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int32))
    exact = np.ones(len(rows), np.bool_)
    _ask_rows(rows, candidates, cells, asks, exact)
    return _cut(asks), exact


def _cut(asks: Asks) -> Asks:
    """Without the room that was not needed."""
    size = asks.starts[-1]
    return Asks(asks.starts, asks.ops[:size].copy(), asks.results[:size].copy())


@kernel
def _most_asks(rows: npt.NDArray[np.int32], candidates: Candidates, cells: Cells) -> int:
    """As many asks as the rows may have: one per cell of a column they speak of."""
    most = 0
    for i in range(len(rows)):
        first = candidates.heads[rows[i]] >> HEAD_BITS
        for slot in range(first, first + (candidates.heads[rows[i]] & ((1 << HEAD_BITS) - 1))):
            column = cells.columns[candidates.pids[slot]]
            if column >= 0:
                most += cells.counts[column]
    return most


@allocating
def _ask_rows(
    rows: npt.NDArray[np.int32], candidates: Candidates, cells: Cells, asks: Asks, exact: npt.NDArray[np.bool_]
) -> None:
    """Fill `asks`; rows whose asks do not say all are not `exact`."""
    starts, ops, results = asks
    admitted = np.zeros(len(cells.counts), np.uint64)  # the cells a row admits, per column
    asker = np.full(len(cells.counts), -1, np.int64)  # the row that `admitted` speaks of
    at = 0
    for i in range(len(rows)):
        first = candidates.heads[rows[i]] >> HEAD_BITS
        last = first + (candidates.heads[rows[i]] & ((1 << HEAD_BITS) - 1))
        columns = np.empty(last - first, np.int32)
        used = 0
        for slot in range(first, last):
            pid = candidates.pids[slot]
            column = cells.columns[pid]
            if column < 0:
                exact[i] = False
                continue
            if asker[column] != i:
                asker[column] = i
                admitted[column] = ~np.uint64(0)
                columns[used] = column
                used += 1
            admitted[column] &= cells.masks[pid]
            exact[i] &= cells.exact[column] & (admitted[column] != 0)
        ordered = np.sort(columns[:used])
        for column in ordered:
            at = _ask_column(admitted[column], cells.bases[column], cells.counts[column], ops, results, at)
        starts[i + 1] = at


def rotate(asks: Asks, rows: npt.NDArray[np.int32], low: int, high: int, count: int) -> Asks:
    """The asks of these rows without the block of properties low..high, in cyclic order from the one after it.

    Property p is renumbered to (p - high) modulo the count.
    """
    room = int((asks.starts[rows + 1] - asks.starts[rows]).sum())
    rotated = Asks(np.zeros(len(rows) + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int32))
    _rotate_into(rotated, asks, rows, low, high, count)
    return _cut(rotated)


@kernel
def _rotate_into(rotated: Asks, asks: Asks, rows: npt.NDArray[np.int32], low: int, high: int, count: int) -> None:
    starts, ops, results = rotated
    at = 0
    for i in range(len(rows)):
        first, last = asks.starts[rows[i]], asks.starts[rows[i] + 1]
        for after in (True, False):
            for k in range(first, last):
                op = asks.ops[k]
                if (after and op >= high) or (not after and op < low):
                    ops[at] = op - high if after else op + count - high
                    results[at] = asks.results[k]
                    at += 1
        starts[i + 1] = at
