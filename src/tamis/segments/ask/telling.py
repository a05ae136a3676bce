"""Truths about values, found out for a batch: each distinct value is looked at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch, Part
from tamis.model import Kind, Value
from tamis.segments.compile.truths import Teller

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
    told = [teller.told(Value(Kind.STRING, text)) for text in encoded.dictionary.to_pylist()]
    counts = np.array([len(one) for one in told], np.int64)
    pairs = np.array([pair for one in told for pair in one], np.int64).reshape(-1, 2)
    of = encoded.indices.to_numpy()
    lengths = counts[of]
    skipped = (np.cumsum(counts) - counts)[of] - (np.cumsum(lengths) - lengths)
    columns, codes = pairs[np.repeat(skipped, lengths) + np.arange(int(lengths.sum()))].T
    return Told(np.repeat(texts.rows, lengths), columns, codes.astype(np.int32), every[times > 1])
