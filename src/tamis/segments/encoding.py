"""Events → the codes of one segment's columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.kernels.blocks import Events
from tamis.model import TOTAL, Operator, Schema, compare
from tamis.segments.coding import Columns
from tamis.segments.constraints import Slot
from tamis.segments.events import Batch, Part

__all__ = ["FALSE", "TRUE", "encode_batch"]

FALSE, TRUE = 1, 2
"""Codes of a link's truth."""

_NUMPY: dict[str, Any] = {"=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal}
_NUMPY |= {">": np.greater, ">=": np.greater_equal}
_NUMPY |= {negated: _NUMPY[total] for negated, total in TOTAL.items()}  # numbers and instants have a total order


def encode_batch(columns: Columns, batch: Batch, schema: Schema) -> tuple[Events, npt.NDArray[np.bool_]]:
    """The batch in codes, and which events have several values where a link needs one: their links count as true
    here and must be looked at again."""
    codes = np.zeros((batch.size, max(columns.count, 1)), np.int32)
    starts: list[npt.NDArray[np.int64]] = []
    lists: list[npt.NDArray[np.int32]] = []
    made = 0
    for at, (name, attribute) in enumerate(columns.attributes.items()):
        parts = batch.parts.get(name)
        if not parts:
            continue
        coded = [attribute.codes(part.kind, part.column, part.entries) for part in parts]
        if len(parts) == 1 and _one_each(parts[0]):
            codes[slice(None) if len(coded[0]) == batch.size else parts[0].rows, at] = coded[0]
        else:
            rows = np.concatenate([part.rows for part in parts])
            made = _scatter_lists(codes[:, at], rows, np.concatenate(coded), starts, lists, made)
    doubtful = np.zeros(batch.size, np.bool_)
    for at, link in enumerate(columns.links, len(columns.attributes)):
        _encode_link(codes[:, at], link, batch, schema, doubtful)
    list_start = np.concatenate([*starts, [sum(map(len, lists))]]).astype(np.int32)
    return Events(codes, list_start, np.concatenate([*lists, np.empty(0, np.int32)])), doubtful


def _scatter_lists(
    column: npt.NDArray[np.int32], rows: npt.NDArray[np.int32], found: npt.NDArray[np.int32],
    starts: list[npt.NDArray[np.int64]], lists: list[npt.NDArray[np.int32]], made: int,
) -> int:  # fmt: skip
    """Single codes go into the column, several into a list that the column points at, each code once."""
    order = np.lexsort((found, rows))
    rows, found = rows[order], found[order]
    fresh = np.r_[True, (rows[1:] != rows[:-1]) | (found[1:] != found[:-1])]
    rows, found = rows[fresh], found[fresh]
    first = np.r_[0, np.nonzero(np.diff(rows))[0] + 1]
    lengths = np.diff(np.r_[first, len(rows)])
    several = lengths > 1
    column[rows[first]] = found[first]
    column[rows[first[several]]] = -1 - (made + np.arange(int(several.sum())))
    before = sum(map(len, lists))
    lists.append(found[np.repeat(several, lengths)])
    starts.append(before + np.r_[0, np.cumsum(lengths[several])][:-1])
    return made + int(several.sum())


def _encode_link(
    column: npt.NDArray[np.int32], link: Slot, batch: Batch, schema: Schema, doubtful: npt.NDArray[np.bool_]
) -> None:
    left, right = batch.parts.get(link.attribute, []), batch.parts.get(link.other, [])
    column[:] = FALSE
    if not left or not right:
        return
    if len(left) == len(right) == 1 and _plain(left[0], right[0]):
        _, mine, theirs = np.intersect1d(left[0].rows, right[0].rows, assume_unique=True, return_indices=True)
        holds = _NUMPY[link.operator](left[0].values[mine], right[0].values[theirs])
        column[left[0].rows[mine]] = np.where(holds, TRUE, FALSE)
        return
    domain = schema.domain(link.attribute)
    assert domain is not None
    for row in sorted(_rows(left) & _rows(right)):
        values, others = (batch.event(row).values[name] for name in (link.attribute, link.other))
        if len(values) == len(others) == 1:
            holds = compare(domain, Operator(link.operator), values[0], others[0])
            column[row] = TRUE if holds else FALSE
        else:
            column[row] = TRUE
            doubtful[row] = True


def _rows(parts: list[Part]) -> set[int]:
    return {int(row) for part in parts for row in part.rows}


def _one_each(part: Part) -> bool:
    """Whether no event has several values."""
    return part.single or not (part.rows[1:] == part.rows[:-1]).any()


def _plain(left: Part, right: Part) -> bool:
    """Whether numpy compares the two columns exactly: numbers of one type, one value per event."""
    for part in (left, right):
        if isinstance(part.values, pa.Array) or part.values.dtype == object or part.kind not in (0, 3):
            return False
    assert not isinstance(left.values, pa.Array)
    assert not isinstance(right.values, pa.Array)
    return left.kind is right.kind and left.values.dtype == right.values.dtype and _one_each(left) and _one_each(right)
