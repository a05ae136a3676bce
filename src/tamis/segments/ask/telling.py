"""Truths about values, found out for a batch: each distinct value is looked at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch, Part
from tamis.model import Kind
from tamis.segments.compile.truths import FIRST_TRUTH, Teller

__all__ = ["Told", "tell"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_NONE, _NO_TEXT = np.empty(0, np.int32), pa.array([], pa.string())


class Told(NamedTuple):
    """Event `rows[i]` has the code `codes[i]` in the column `columns[i]`; `several` events have several values."""

    rows: Ints
    columns: Longs
    codes: Ints
    several: Ints

    def doubtful(self, batch: Batch) -> npt.NDArray[np.bool_]:
        """Events with a truth that holds by one of several values."""
        told = np.zeros(batch.size, np.bool_)
        told[self.rows] = True
        several = np.zeros(batch.size, np.bool_)
        several[self.several] = True
        return told & several


def tell(teller: Teller, parts: list[Part]) -> Told:
    """The truths about the values of one attribute; they are all about text."""
    every, times = np.unique(np.concatenate([part.rows for part in parts]), return_counts=True)
    (texts,) = [part for part in parts if part.kind is Kind.STRING] or [Part(Kind.STRING, _NONE, _NO_TEXT)]
    encoded = pa.array(texts.values).dictionary_encode()
    told = teller.told_many(encoded.dictionary)
    order = np.argsort(told.texts, kind="stable")
    counts = np.bincount(told.texts, minlength=len(encoded.dictionary))
    of = encoded.indices.to_numpy()
    lengths = counts[of]
    skipped = (np.cumsum(counts) - counts)[of] - (np.cumsum(lengths) - lengths)
    at = order[np.repeat(skipped, lengths) + np.arange(int(lengths.sum()))]
    found = Told(np.repeat(texts.rows, lengths), told.columns[at], told.codes[at], every[times > 1])
    for column in teller.lacks:
        found = _of_all(found, column, texts.rows, every)
    return found


def _of_all(told: Told, column: int, texts: Ints, every: Ints) -> Told:
    """A column's member holds for an event only if it does for all of its texts; other values do no harm."""
    mine = told.columns == column
    events = int(every.max(initial=-1)) + 1
    left = np.bincount(texts, minlength=events) == np.bincount(told.rows[mine], minlength=events)
    rows = every[left[every]]
    return Told(
        np.concatenate([told.rows[~mine], rows]),
        np.concatenate([told.columns[~mine], np.full(len(rows), column)]),
        np.concatenate([told.codes[~mine], np.full(len(rows), FIRST_TRUTH, np.int32)]),
        told.several,
    )
