"""Events → the codes of one segment's columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.kernels.blocks import Events
from tamis.model import Schema
from tamis.segments.coding import Columns
from tamis.segments.events import Batch
from tamis.segments.links import encode_links, one_each

__all__ = ["encode_batch"]


def encode_batch(columns: Columns, batch: Batch, schema: Schema) -> tuple[Events, npt.NDArray[np.bool_]]:
    """The batch in codes, and which events have a link that is true by one of several pairs of values: conjunctions
    that ask more of the two attributes must be looked at again."""
    codes = np.zeros((batch.size, max(columns.count, 1)), np.int32)
    starts: list[npt.NDArray[np.int64]] = []
    lists: list[npt.NDArray[np.int32]] = []
    made = 0
    for name in columns.places.keys() & batch.parts.keys():
        at, attribute, parts = columns.places[name], columns.attributes[name], batch.parts[name]
        coded = [attribute.codes(part.kind, part.column, part.entries) for part in parts]
        if len(parts) == 1 and one_each(parts[0]):
            codes[slice(None) if len(coded[0]) == batch.size else parts[0].rows, at] = coded[0]
        else:
            rows = np.concatenate([part.rows for part in parts])
            made = _scatter_lists(codes[:, at], rows, np.concatenate(coded), starts, lists, made)
    doubtful = encode_links(columns, batch, schema, codes)
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
