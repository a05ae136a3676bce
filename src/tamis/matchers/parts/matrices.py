"""What counting with a matrix of bytes and with one of bits share: predicates × subscriptions, grown within a bound."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.errors import LimitError
from tamis.kernels.matchers.counting import in_order
from tamis.matchers.parts.algorithm import CountingAlgorithm
from tamis.matchers.parts.arrays import Ints, Scratches
from tamis.model import Schema

__all__ = ["MOST_BYTES", "Matrix", "Scratch", "enlarged"]

MOST_BYTES = 4 << 30


class Scratch(NamedTuple):
    """`hits` for a stretch of columns, the predicate bit vector, and room for the answer."""

    hits: npt.NDArray[Any]
    vector: npt.NDArray[np.uint64]
    out: Ints


class Matrix(CountingAlgorithm):
    """A line per predicate. A form says how many subscriptions a column holds and how they are counted."""

    _width: ClassVar[int]
    """Subscriptions in a cell."""

    _matrix: npt.NDArray[Any]
    _counts: npt.NDArray[Any]

    def __init__(self, schema: Schema, index: str | None = None, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(schema, index)
        self._most_bytes = most_bytes
        self._scratches = Scratches(self._scratch)

    @abstractmethod
    def _hits(self) -> npt.NDArray[Any]:
        """Counters for a stretch of columns."""

    @abstractmethod
    def _add_up(self, ordered: Ints, columns: int, scratch: Scratch) -> int:
        """Count over these lines; the rows that match are then the first so many of `scratch.out`."""

    @abstractmethod
    def _line(self, row: int) -> Ints:
        """The predicates whose cell for this row is set."""

    def _columns(self) -> int:
        """Columns that hold the roster's rows."""
        return -(-self._roster.row_count // self._width)

    def _scratch(self) -> Scratch:
        lines, columns = self._matrix.shape
        vector = np.zeros((lines + 63) // 64, np.uint64)
        return Scratch(self._hits(), vector, np.empty(self._width * columns + 1, np.int32))

    def _room(self) -> tuple[int, int]:
        """A shape with room for the roster; the matrix' own if it has it already."""
        lines, columns = self._roster.predicate_count, self._columns()
        shape = tuple(
            have if have >= need else min(need + need // 2, need + 65_536)
            for have, need in zip(self._matrix.shape, (lines, columns), strict=True)
        )
        needed = lines * columns * self._matrix.itemsize
        if needed > self._most_bytes:
            raise LimitError(
                f"expected a matrix of at most {self._most_bytes:,} bytes, found {lines:,} predicates and "
                f"{self._roster.row_count:,} conjunctions, which need {needed:,}: use counting-lists",
                self._most_bytes,
                needed,
            )
        return shape[0], shape[1]

    def _count(self, satisfied: Ints) -> Ints:
        scratch = self._scratches.borrow()
        ordered, columns = in_order(satisfied, scratch.vector), self._columns()
        rows = scratch.out[: self._add_up(ordered, columns, scratch)].copy()
        self._scratches.give_back(scratch)
        self._work.counters_bumped += len(ordered) * columns
        return rows

    def _details(self) -> Mapping[str, int | float | str]:
        """The matrix and the counts without room to grow; a column is all that removal needs."""
        lines = self._roster.predicate_count + self._counts.size // max(self._matrix.shape[1], 1)
        filled = lines * self._columns() * self._matrix.itemsize
        return {**super()._details(), "association_bytes": filled, "removal_bytes": 0}

    def _bytes(self) -> int:
        return self._front.bytes_used() + self._matrix.nbytes + self._counts.nbytes

    def _check(self) -> None:
        super()._check()
        for rows in self._roster.subscriptions.values():
            for row in rows:
                line = set(self._line(row))
                assert line == set(self._roster.pids_of(row)), f"column {row} has other predicates than its row"


def enlarged(matrix: npt.NDArray[Any], shape: tuple[int, int]) -> npt.NDArray[Any]:
    larger = np.zeros(shape, matrix.dtype)
    larger[: matrix.shape[0], : matrix.shape[1]] = matrix
    return larger
