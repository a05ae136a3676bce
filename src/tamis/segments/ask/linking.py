"""Links, `bid > @reserve`: settled once per event, for all subscriptions that make the comparison.

Where an attribute has several values, a link is true when *some* pair of values satisfies it. Under a total order the
ends tell: some value of {3, 7} is above some value of {5, 9} because 7 > 5. This is the whole truth about a
conjunction that asks nothing else of the two attributes; one that does may need another pair than the one found here,
and `doubts.py` looks at it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch, Part
from tamis.model import TOTAL, Kind, Operator, Schema
from tamis.model.bindings import some_pair
from tamis.segments.compile.coding import Columns
from tamis.segments.compile.truths import FIRST_TRUTH

__all__ = ["encode_links", "one_each"]

_O = Operator
_FEW = 8
"""Events of a smaller batch are taken one by one: for them a call to numpy costs more than what it does."""

_MAY: dict[Operator, Callable[[Any, Any, Any, Any], Any]] = {
    _O.EQ: lambda low, high, their_low, their_high: (low <= their_high) & (their_low <= high),
    _O.NE: lambda low, high, their_low, their_high: (low != their_high) | (high != their_low),
    _O.LT: lambda low, high, their_low, their_high: low < their_high,
    _O.LE: lambda low, high, their_low, their_high: low <= their_high,
    _O.GT: lambda low, high, their_low, their_high: high > their_low,
    _O.GE: lambda low, high, their_low, their_high: high >= their_low,
}
_MAY |= {negated: _MAY[total] for negated, total in TOTAL.items()}
"""Whether some pair of values satisfies the operator, by the ends of both sides. `=` may still turn out false."""


class _Ends(NamedTuple):
    """A column of numbers or instants, event by event: the least and the greatest value."""

    kind: Kind
    rows: npt.NDArray[np.int32]
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]


def encode_links(columns: Columns, batch: Batch, schema: Schema, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Settle all links of a batch. The value is which events have a link that is true by one of several pairs.

    Only links whose two attributes the batch has are visited.
    """
    settling = _Settling(batch, schema, codes)
    for name in columns.partners.keys() & batch.parts.keys():
        for other in columns.partners[name].keys() & batch.parts.keys():
            settling.settle(name, other, columns.partners[name][other])
    return settling.doubtful


class _Settling:
    """Links of one batch, and what was found out about its attributes on the way."""

    def __init__(self, batch: Batch, schema: Schema, codes: npt.NDArray[np.int32]) -> None:
        self.doubtful = np.zeros(batch.size, np.bool_)
        self._batch = batch
        self._schema = schema
        self._codes = codes
        self._ends: dict[str, _Ends | None] = {}

    def settle(self, name: str, other: str, links: list[tuple[int, Operator]]) -> None:
        """All links between two attributes; each is a column and an operator."""
        if self._batch.size > _FEW:
            mine, theirs = self._ends_of(name), self._ends_of(other)
            if mine is not None and theirs is not None and _alike(mine, theirs):
                self._settle_numbers(name, other, links, mine, theirs)
                return
        rows = _rows(self._batch.parts[name]) & _rows(self._batch.parts[other])
        self._settle_one_by_one(name, other, links, rows)

    def _settle_numbers(
        self, name: str, other: str, links: list[tuple[int, Operator]], mine: _Ends, theirs: _Ends
    ) -> None:
        rows, here, there = np.intersect1d(mine.rows, theirs.rows, assume_unique=True, return_indices=True)
        ends = mine.low[here], mine.high[here], theirs.low[there], theirs.high[there]
        several = (ends[0] != ends[1]) | (ends[2] != ends[3])
        for column, operator in links:
            holds = _MAY[operator](*ends)
            if operator is _O.EQ and several.any():
                self._settle_one_by_one(name, other, [(column, operator)], rows[holds & several].tolist())
                holds &= ~several
            self._codes[rows[holds], column] = FIRST_TRUTH
            self.doubtful[rows[holds & several]] = True

    def _settle_one_by_one(
        self, name: str, other: str, links: list[tuple[int, Operator]], rows: Collection[int]
    ) -> None:
        domain = self._schema.domain(name)
        assert domain is not None
        for row in rows:
            event = self._batch.event(row)
            several = len(event.values[name]) > 1 or len(event.values[other]) > 1
            for column, operator in links:
                if some_pair(domain, operator, event, name, other):
                    self._codes[row, column] = FIRST_TRUTH
                    self.doubtful[row] |= several

    def _ends_of(self, name: str) -> _Ends | None:
        if name not in self._ends:
            self._ends[name] = _ends(self._batch.parts[name])
        return self._ends[name]


def _ends(parts: list[Part]) -> _Ends | None:
    """None where numpy would not compare exactly, or the values are of several kinds."""
    part = parts[0]
    values = part.values
    if len(parts) > 1 or part.kind not in (Kind.NUMBER, Kind.TIMESTAMP):
        return None
    if isinstance(values, pa.Array) or values.dtype == object:
        return None
    if one_each(part):
        return _Ends(part.kind, part.rows, values, values)
    first = np.flatnonzero(np.r_[True, part.rows[1:] != part.rows[:-1]])
    return _Ends(part.kind, part.rows[first], np.minimum.reduceat(values, first), np.maximum.reduceat(values, first))


def _alike(mine: _Ends, theirs: _Ends) -> bool:
    """Whether numpy compares the two exactly: an integer beyond 2**53 and a double it would not."""
    return mine.kind is theirs.kind and mine.low.dtype == theirs.low.dtype


def _rows(parts: list[Part]) -> set[int]:
    return {int(row) for part in parts for row in part.rows}


def one_each(part: Part) -> bool:
    """Whether no event has several values."""
    return part.single or not (part.rows[1:] == part.rows[:-1]).any()
