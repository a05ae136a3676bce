"""The constants of texts as columns: spans of bytes that become numbers, instants and strings, many at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.batch import Column
from tamis.kernels.segments import lexing
from tamis.kernels.segments.expanding import Tests
from tamis.kernels.spans import copy_spans
from tamis.model import Kind
from tamis.model.caching import cached_property
from tamis.model.values import ValueRefused, timestamp

__all__ = ["KINDS", "ConstantColumns", "ranks"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

KINDS = {
    lexing.INTEGER: Kind.NUMBER,
    lexing.REAL: Kind.NUMBER,
    lexing.STRING: Kind.STRING,
    lexing.INSTANT: Kind.TIMESTAMP,
}
_INT64 = range(-(2**63), 2**63)


class ConstantColumns:
    """The constants that a kernel found in the bytes of texts."""

    def __init__(self, text: npt.NDArray[np.uint8], constants: lexing.Constants) -> None:
        self.text = text
        self.raw = constants

    def column(self, kind: int, chosen: Longs) -> Column:
        """Some constants, all of one kind."""
        if kind == lexing.STRING:
            return self.spans(chosen)
        return self.reals[chosen] if kind == lexing.REAL else self.raw.value[chosen]

    def spans(self, chosen: Longs) -> pa.Array:
        """Their text; a quote that is written twice is one."""
        offsets = np.zeros(len(chosen) + 1, np.int32)
        np.cumsum(self.raw.length[chosen], out=offsets[1:])
        out = np.empty(int(offsets[-1]), np.uint8)
        copy_spans(self.text, self.raw.start[chosen], offsets, out)
        found = pa.StringArray.from_buffers(len(chosen), pa.py_buffer(offsets), pa.py_buffer(out))
        return pc.replace_substring(found, "''", "'") if self.raw.escaped[chosen].any() else found

    def written(self, first: Longs) -> pa.Array:
        """Lists, or constants alone, as they are written, quotes and commas included."""
        last = first + self.raw.members[first] - 1
        start, end = self.raw.start[first], self.raw.start[last] + self.raw.length[last]
        start = start - self._quoted(first)
        end = end + self._quoted(last)
        offsets = np.zeros(len(first) + 1, np.int32)
        np.cumsum(end - start, out=offsets[1:])
        out = np.empty(int(offsets[-1]), np.uint8)
        copy_spans(self.text, start, offsets, out)
        return pa.StringArray.from_buffers(len(first), pa.py_buffer(offsets), pa.py_buffer(out))

    def _quoted(self, chosen: Longs) -> Mask:
        before = self.raw.start[chosen] - 1
        return (self.raw.kind[chosen] >= lexing.STRING) & (self.text[np.maximum(before, 0)] == ord("'"))

    def holes(self, first: Longs, count: int) -> list[Longs]:
        """The constants, or first ones of lists, of units, which have so many each and begin with these."""
        found = [first]
        for _ in range(count - 1):
            found.append(found[-1] + self.raw.members[found[-1]])
        return found

    @cached_property
    def reals(self) -> npt.NDArray[np.float64]:
        """The numbers with a point or an exponent, as doubles; past all doubles they are infinite."""
        found = np.zeros(len(self.raw.kind), np.float64)
        chosen = np.nonzero(self.raw.kind == lexing.REAL)[0]
        found[chosen] = pc.cast(self.spans(chosen), pa.float64()).to_numpy(zero_copy_only=False)
        return found

    def lists(self, first: Longs) -> tuple[Longs, Longs | None]:
        """All members of the lists that begin with these, and of which list each is; None if each is one alone."""
        sizes = self.raw.members[first].astype(np.int64)
        if sizes.max(initial=1) == 1:
            return first, None
        of = np.repeat(np.arange(len(first)), sizes)
        starts = np.cumsum(sizes) - sizes
        return first[of] + (np.arange(len(of)) - starts[of]), of

    def read_instants(self, tests: Tests, chosen: Mask) -> None:
        """Read the constants of the chosen tests as instants; tests with one that is none, or too far off, lose it."""
        places = np.nonzero(chosen)[0]
        members, of = self.lists(tests.constant[places])
        owner = places if of is None else places[of]
        encoded = self.spans(members).dictionary_encode()
        known = [_instant(text) for text in encoded.dictionary.to_pylist()]
        codes = encoded.indices.to_numpy()
        self.raw.value[members] = np.array([one or 0 for one in known] or [0], np.int64)[codes]
        self.raw.kind[members] = lexing.INSTANT
        tests.kind[places] = lexing.INSTANT
        wrong = np.array([one is None for one in known] or [False])[codes]
        tests.kind[owner[wrong]] = lexing.NONE


def _instant(text: str) -> int | None:
    try:
        found = int(timestamp(text).data)
    except ValueRefused:
        return None
    return found if found in _INT64 else None


def ranks(column: Column) -> npt.NDArray[Any]:
    """Numbers that are ordered, and equal, as the values of the column are."""
    if not isinstance(column, pa.Array):
        return column
    encoded = column.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[encoded.indices.to_numpy()]
