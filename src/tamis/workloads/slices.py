"""What all generators share: rows drawn in blocks, so that a row depends on its number and the seed alone.

Row r lies in block r // BLOCK_ROWS, and each block has a random generator of its own. Any slice of a workload, made
by any number of workers, has the same rows.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.model import Schema

__all__ = ["BLOCK_ROWS", "Texts", "Workload", "choose"]

BLOCK_ROWS = 8192

Texts: TypeAlias = pa.Array
_Draw = Callable[[np.random.Generator, int], pa.Table]


class Workload(ABC):
    """A schema, and endless numbered rows of subscriptions and events."""

    name: str

    @abstractmethod
    def schema(self) -> Schema: ...

    @abstractmethod
    def draw_expressions(self, random: np.random.Generator, count: int) -> Texts:
        """One block of expressions."""

    @abstractmethod
    def draw_events(self, random: np.random.Generator, count: int) -> pa.Table:
        """One block of events, a column per attribute, null where missing."""

    def subscriptions(self, stop: int, seed: int = 1, *, start: int = 0) -> pa.Table:
        """Rows `start` to `stop` with columns `id` (the row's number) and `expression`."""
        texts = self._rows(start, stop, seed, "subscriptions", self._expression_table)
        return texts.add_column(0, "id", pa.array(np.arange(start, max(start, stop), dtype=np.int64)))

    def events(self, stop: int, seed: int = 1, *, start: int = 0) -> pa.Table:
        """Rows `start` to `stop`, a column per attribute."""
        return self._rows(start, stop, seed, "events", self.draw_events)

    def _expression_table(self, random: np.random.Generator, count: int) -> pa.Table:
        return pa.table({"expression": self.draw_expressions(random, count)})

    def _rows(self, start: int, stop: int, seed: int, what: str, draw: _Draw) -> pa.Table:
        label = zlib.crc32(f"{self.name} {what}".encode())
        first, last = start // BLOCK_ROWS, max(start, stop - 1) // BLOCK_ROWS
        blocks = [draw(np.random.default_rng([seed, label, block]), BLOCK_ROWS) for block in range(first, last + 1)]
        return pa.concat_tables(blocks).slice(start - first * BLOCK_ROWS, max(0, stop - start)).combine_chunks()


def choose(pieces: list[str], codes: npt.NDArray[np.int64], present: npt.NDArray[np.bool_]) -> pa.Array:
    """`pieces[code]` per row, null where not present."""
    return pc.take(pa.array(pieces), pa.array(codes, mask=~present))
