"""Values → small integers, once, at the edge; exact for any integer, float or string.

An attribute's codes run over what its constants can tell apart. Code 0 is *missing*. Then each kind has a range: the
k-th constant in order is `base + 2k + 1`, and `base + 2k` is the gap before it, so that every comparison with a
constant is a comparison of integers. The names of a finite domain are numbered from 1 without gaps.

    constants 10 and 20:      x < 10   10   10 < x < 20   20   x > 20
                    code:       1       2        3         4      5
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.batch import Column
from tamis.batches.letters import letters_of
from tamis.kernels.numbering import new_table
from tamis.kernels.segments.strings import Strings, fill_table, find_places
from tamis.model import Kind, Value
from tamis.model.caching import cached_property
from tamis.model.regions import place
from tamis.segments.compile.constraints import Bound, Piece, PieceKind
from tamis.segments.compile.statistics import AttributeStatistics

__all__ = ["AttributeCodes", "Dictionary", "code_range", "dictionary_of"]

Codes = npt.NDArray[np.int32]
_EXACT = 2**53
_LOOKUP_SPAN = 1 << 17
_MOST_OBJECTS = 1 << 16
"""Constants that are also kept as Python objects, for single events."""
_FIRST = np.zeros(1, np.int32)


class Dictionary:
    """The constants of one attribute and kind, sorted: an int64, float64, object or Arrow string array."""

    def __init__(self, constants: Column, ordered: bool = True) -> None:
        self.constants = constants
        self.ordered = ordered
        """Whether any constraint needs to know where between the constants an unknown string lies."""

    def __len__(self) -> int:
        return len(self.constants)

    @cached_property
    def listed(self) -> Sequence[Any]:
        """The constants as Python has them; numbers are made as they are asked for."""
        if isinstance(self.constants, pa.Array):
            return self.constants.to_pylist()
        return self.constants.tolist() if self.constants.dtype == object else self.constants.data

    @cached_property
    def known(self) -> dict[Any, int]:
        """Constant → its rank; empty where there are so many that making all these objects would be felt."""
        return {one: at for at, one in enumerate(self.listed)} if len(self) <= _MOST_OBJECTS else {}

    @cached_property
    def _reals(self) -> npt.NDArray[np.float64] | None:
        """The constants as doubles, if that loses nothing."""
        assert not isinstance(self.constants, pa.Array)
        if self.constants.dtype == np.float64:
            return self.constants
        if self.constants.dtype == np.int64 and _all_exact(self.constants):
            return self.constants.astype(np.float64)
        return None

    @cached_property
    def _lookup(self) -> Codes | None:
        """Places of whole numbers in a short range: entry 0 is below it, the last above it."""
        assert not isinstance(self.constants, pa.Array)
        if self.constants.dtype != np.int64 or not len(self) or not _all_exact(self.constants):
            return None
        span = int(self.constants[-1]) - int(self.constants[0])
        if span > _LOOKUP_SPAN:
            return None
        return _places(self.constants, np.arange(span + 3, dtype=np.int64) + (self.constants[0] - 1))

    def place(self, data: Any) -> int:
        """Twice the rank, plus one if the value is a constant itself."""
        rank = self.known.get(data)
        return 2 * rank + 1 if rank is not None else self.seek(data)

    def seek(self, data: Any) -> int:
        """`place` of a value that is not `known`: by halving, where its order matters."""
        if not isinstance(self.constants, pa.Array):
            return place(self.listed, data)
        if len(self) <= _MOST_OBJECTS:
            return 2 * bisect_left(self.listed, data) if self.ordered else 0
        raw = data.encode()
        asked = Strings(np.array([0, len(raw)], np.int32), np.frombuffer(raw or b"\0", np.uint8))
        return int(self._find(asked, _FIRST)[0])

    def places(self, values: Column, chosen: Codes | None = None) -> Codes:
        """`place` of a whole column, or of the `chosen` of its values."""
        if isinstance(values, pa.Array):
            every = np.arange(len(values), dtype=np.int32) if chosen is None else chosen
            return self._find(Strings(*letters_of(values)), every)
        assert not isinstance(self.constants, pa.Array)
        values = values if chosen is None else values[chosen]
        if values.dtype == np.int64 and self.constants.dtype == np.int64:
            if self._lookup is not None:
                low, high = self.constants[0] - 1, self.constants[-1] + 1
                inside = not len(values) or (values.min() >= low and values.max() <= high)
                return self._lookup[(values if inside else np.clip(values, low, high)) - low]
            return _places(self.constants, values)
        plain = values.dtype == np.float64 or (values.dtype == np.int64 and _all_exact(values))
        if self._reals is not None and plain:
            return _places(self._reals, values.astype(np.float64))
        return np.array([self.place(one) for one in values.tolist()], np.int32)

    def _find(self, asked: Strings, chosen: Codes) -> Codes:
        known, table = self._hashed
        places = np.empty(len(chosen), np.int32)
        find_places(asked, chosen, known, table, self.ordered, places)
        return places

    @cached_property
    def _hashed(self) -> tuple[Strings, Codes]:
        """String constants, and a hash table of them; an empty one where it would not help."""
        known, table = Strings(*letters_of(self.constants)), new_table(len(self))
        return known, table if fill_table(known, table) else table[:0]

    @property
    def nbytes(self) -> int:
        """Bytes of the constants, and of what was made of them to find them by."""
        made = self.__dict__.get("_hashed")
        return int(self.constants.nbytes) + (made[1].nbytes if made is not None else 0)


def _all_exact(wholes: npt.NDArray[np.int64]) -> bool:
    """Whether every number is also a double; `abs` would overflow for the least of them."""
    return bool(((wholes >= -_EXACT) & (wholes <= _EXACT)).all())


def _places(constants: npt.NDArray[Any], values: npt.NDArray[Any]) -> Codes:
    at = np.searchsorted(constants, values)
    hit = constants[np.minimum(at, len(constants) - 1)] == values if len(constants) else np.zeros(len(values), np.bool_)
    return (2 * at + hit).astype(np.int32)


def dictionary_of(columns: list[Column], ordered: bool) -> Dictionary:
    """The distinct constants of several columns, sorted."""
    if isinstance(columns[0], pa.Array):
        distinct = pc.unique(
            pa.chunked_array([column.cast(pa.string()) for column in columns if isinstance(column, pa.Array)])
        )
        return Dictionary(distinct.take(pc.array_sort_indices(distinct)), ordered)
    types = {column.dtype for column in columns if not isinstance(column, pa.Array)}
    if len(types) == 1 and object not in types:
        return Dictionary(np.unique(np.concatenate(columns)), ordered)
    numbers = {one for column in columns for one in column.tolist()}
    exact = [one for one in numbers if isinstance(one, float) or abs(one) <= _EXACT]
    if len(exact) == len(numbers):
        return Dictionary(np.array(sorted(float(one) for one in numbers), np.float64), ordered)
    found = np.empty(len(numbers), object)
    found[:] = sorted(numbers)
    return Dictionary(found, ordered)


def code_range(piece: Piece) -> tuple[Codes, Codes]:
    """Low and high of a piece that has codes already."""
    assert piece.low is not None
    assert piece.high is not None
    return np.asarray(piece.low.values, np.int32), np.asarray(piece.high.values, np.int32)


def _unused(booleans: Dictionary | None) -> int:
    """A gap between constants that no boolean falls into, for what compares with nothing: files written before
    there were records have no other code to spare."""
    return 2 * len(booleans) if booleans is not None and len(booleans) and booleans.listed[-1] else 0


class AttributeCodes:
    """All codes of one attribute: a range per kind, or a finite domain's names."""

    def __init__(
        self, dictionaries: dict[int, Dictionary], names: dict[str, int] | None = None, domain_size: int | None = None
    ) -> None:
        self.domain_size = domain_size
        self.dictionaries = dictionaries
        self.names = names
        self.base: dict[int, int] = {}
        following = 1
        for kind in Kind:
            if kind is Kind.RECORD:
                continue
            self.base[kind] = following
            following += 2 * len(dictionaries[kind]) + 1 if kind in dictionaries else 1
        self.base[Kind.RECORD] = self.base[Kind.BOOLEAN] + _unused(dictionaries.get(Kind.BOOLEAN))
        self.last = len(names) if names is not None else following - 1

    def code(self, value: Value) -> int:
        """The code of one value."""
        if self.names is not None:
            return self.names[str(value.data)]
        dictionary = self.dictionaries.get(value.kind)
        return self.base[value.kind] + (dictionary.place(value.data) if dictionary is not None else 0)

    def codes(self, kind: int, values: Column, chosen: Codes | None = None) -> Codes:
        """The codes of a column of one kind, or of the `chosen` of its values."""
        if chosen is not None and len(values) < len(chosen):  # a value that is chosen often is looked up once
            return self.codes(kind, values)[chosen]
        if self.names is not None:
            assert isinstance(values, pa.Array)
            values = values if chosen is None else values.take(pa.array(chosen))
            encoded = values.dictionary_encode()
            known = [self.names.get(name, 0) for name in encoded.dictionary.to_pylist()]  # 0: nobody chose it
            return np.array(known or [0], np.int32)[encoded.indices.fill_null(0).to_numpy()]
        dictionary = self.dictionaries.get(kind)
        if dictionary is None:
            return np.full(len(values if chosen is None else chosen), self.base[kind], np.int32)
        return dictionary.places(values, chosen) + np.int32(self.base[kind])

    @property
    def nbytes(self) -> int:
        return sum(dictionary.nbytes for dictionary in self.dictionaries.values())

    def chances(self, statistics: AttributeStatistics | None) -> npt.NDArray[np.float64]:
        """Per code, how likely an event has it. Without statistics every constant in use is as likely as another."""
        if statistics is None:
            constants = len(self.names) if self.names is not None else sum(map(len, self.dictionaries.values()))
            return np.full(self.last + 1, 1 / max(constants, self.domain_size or 1, 1))  # whole by whole, of any size
        table = np.full(self.last + 1, statistics.other)
        for value, share in statistics.frequent.items():
            if self.names is None or value.data in self.names:
                table[self.code(value)] = share
        return table

    def range(self, piece: Piece) -> tuple[Codes, Codes]:
        """A piece's interval in codes, low and high per conjunction; low > high where nothing lies between."""
        count = len(piece.conjunctions)
        if piece.kind in (PieceKind.ANY_VALUE, PieceKind.NO_VALUE):
            edges = (1, self.last) if piece.kind == PieceKind.ANY_VALUE else (0, 0)
            return np.full(count, edges[0], np.int32), np.full(count, edges[1], np.int32)
        if piece.kind == PieceKind.CODES:
            return code_range(piece)
        dictionary = self.dictionaries.get(piece.kind)
        top = 2 * len(dictionary) if dictionary is not None else 0
        base = self.base[piece.kind]
        return self._edge(piece.low, piece.kind, base, +1, count), self._edge(
            piece.high, piece.kind, base + top, -1, count
        )

    def _edge(self, bound: Bound | None, kind: int, unbounded: int, inward: int, count: int) -> Codes:
        if bound is None:
            return np.full(count, unbounded, np.int32)
        return self.codes(kind, bound.values) + np.int32(inward if bound.open else 0)
