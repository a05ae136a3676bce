"""Events → the codes of one segment's columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.batches.batch import Batch
from tamis.kernels.segments.blocks import Events
from tamis.model import Schema
from tamis.segments.ask.counting import count_members
from tamis.segments.ask.linking import encode_links, one_each
from tamis.segments.ask.record_finding import find_records
from tamis.segments.ask.telling import tell
from tamis.segments.compile.coding import Columns
from tamis.segments.compile.truths import FALSE

__all__ = ["encode_batch"]


Ints = npt.NDArray[np.int32]


def encode_batch(columns: Columns, batch: Batch, schema: Schema) -> tuple[Events, npt.NDArray[np.bool_]]:
    """The batch in codes, and which events have a truth that holds by one of several values, or pairs of them:
    conjunctions that ask more of the same attributes must be looked at again."""
    codes = np.zeros((batch.size, max(columns.count, 1)), np.int32)
    lists = _Lists()
    for name in columns.places.keys() & batch.parts.keys():
        at, attribute, parts = columns.places[name], columns.attributes[name], batch.parts[name]
        coded = [attribute.codes(part.kind, part.column, part.entries) for part in parts]
        if len(parts) == 1 and one_each(parts[0]):
            codes[slice(None) if len(coded[0]) == batch.size else parts[0].rows, at] = coded[0]
        else:
            lists.scatter(codes[:, at], np.concatenate([part.rows for part in parts]), np.concatenate(coded))
    codes[:, columns.keyed :] = FALSE
    doubtful = encode_links(columns, batch, schema, codes)
    for name in columns.tellers.keys() & batch.parts.keys():
        told = tell(columns.tellers[name], batch.parts[name])
        doubtful |= told.doubtful(batch)
        for column in np.unique(told.columns).tolist():
            chosen = told.columns == column
            lists.scatter(codes[:, column], told.rows[chosen], told.codes[chosen])
    if columns.counted is not None:
        rows, counted = count_members(columns.counted, batch, schema)
        if len(rows):
            lists.scatter(codes[:, columns.counted.column], rows, counted)
    for name in columns.listed.keys() & batch.lists.keys():
        for at, rows, found in find_records(columns.listed[name], batch.lists[name], schema):
            if len(rows):
                lists.scatter(codes[:, at], rows, found)
    return Events(codes, *lists.arrays()), doubtful


class _Lists:
    """The codes of events that have several in a column, list by list."""

    def __init__(self) -> None:
        self._starts: list[npt.NDArray[np.int64]] = []
        self._codes = [np.empty(0, np.int32)]
        self._made = self._length = 0

    def scatter(self, column: Ints, rows: Ints, found: Ints) -> None:
        """Single codes go into the column, several into a list that the column points at, in order and each once."""
        pairs = (rows.astype(np.int64) << 32) | found  # codes are never negative
        if not (pairs[1:] > pairs[:-1]).all():
            pairs = np.sort(pairs)
            pairs = pairs[np.r_[True, pairs[1:] != pairs[:-1]]]
            rows, found = (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)
        first = np.r_[0, np.nonzero(np.diff(rows))[0] + 1]
        lengths = np.diff(np.r_[first, len(rows)])
        several = lengths > 1
        count, codes = int(several.sum()), found[np.repeat(several, lengths)]
        column[rows[first]] = found[first]
        column[rows[first[several]]] = -1 - (self._made + np.arange(count))
        self._starts.append(self._length + np.r_[0, np.cumsum(lengths[several])][:-1])
        self._codes.append(codes)
        self._made, self._length = self._made + count, self._length + len(codes)

    def arrays(self) -> tuple[Ints, Ints]:
        """Where each list begins, and one more; the codes of all."""
        return np.concatenate([*self._starts, [self._length]]).astype(np.int32), np.concatenate(self._codes)
