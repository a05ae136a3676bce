"""Texts → constraints in columns. Flat texts are read by a kernel, the rest by the real parser, one by one.

The fast road takes `attribute operator constant and …` where no attribute is tested twice, but for a lower and an upper
bound, the members of an `in` and several `contains`. It must agree with the parser to the letter: what it is not sure
of it leaves to the parser, mistakes included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import LanguageError, LimitError
from tamis.kernels import lexing
from tamis.language import parse
from tamis.model import Boolean, Finite, Integer, Kind, Number, Operator, Predicate, Schema, String, Untyped
from tamis.model.values import string
from tamis.segments.constraints import ANY, CODES, MISSING, Bound, Piece, Pieces, Slot
from tamis.segments.intervals import NOTHING, past_prefix

__all__ = ["Reading", "read_texts"]

_EQ, _NE, _LT, _LE, _GT, _GE, _CONTAINS, _IN, _STARTS, _PRESENT, _MISSING = range(len(lexing.OPERATORS))
_LOWER, _UPPER = (_GT, _GE), (_LT, _LE)
_OPERATOR = {at: Operator(text) for at, text in enumerate(lexing.OPERATORS)}
_MOST_LISTED = 64
"""An `in` of more members goes to the parser, which sorts them."""
_TEXT = (lexing.STRING, lexing.WORD)

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass
class Reading:
    """What a column of texts says. Conjunction `r` belongs to text `r`; further ones of a text come after them."""

    pieces: Pieces
    owners: Rows
    """The text of each conjunction."""
    dead: Mask
    """Conjunctions that never hold, and the places of texts that have none."""
    rejected: list[tuple[int, LanguageError | LimitError]]
    """Texts that do not parse, with the reason; their conjunctions are dead."""


def read_texts(texts: pa.Array, schema: Schema) -> Reading:
    """Read a string column without nulls."""
    reader = _Reader(texts, schema)
    reader.read_flat_texts()
    return reader.read_the_rest()


class _Reader:
    def __init__(self, texts: pa.Array, schema: Schema) -> None:
        self.texts = texts
        self.schema = schema
        self.pieces = Pieces(schema)
        self.count = len(texts)
        self.odd = np.ones(self.count, np.bool_)
        self.dead = np.zeros(self.count, np.bool_)

    # -- the fast road ------------------------------------------------------------------------------------------

    def read_flat_texts(self) -> None:
        if not self.count:
            return
        starts, self.bytes = _buffers(self.texts)
        tests = lexing.new_tests(int(starts[-1] - starts[0]) // 2 + 2)
        number = lexing.read_flat(self.bytes, starts, tests, self.odd)
        self.tests = lexing.first_tests(tests, number)
        names, self.attribute = self._names()
        self.names = names
        self._refuse_untidy()
        kept = ~self.odd[self.tests.row]
        key = (self.attribute * 16 + self.tests.operator) * 8 + self.tests.constant_class
        staged: list[tuple[Mask, list[Piece]]] = []
        self._groups(np.nonzero(kept & ~self.paired)[0], key, self._single, staged)
        self._groups(np.nonzero(kept & self.lower)[0], key * 16 + self.tests.operator[self.partner], self._pair, staged)
        for _, pieces in staged:
            for piece in pieces:
                self.pieces.add(_only(piece, ~self.odd[piece.conjunctions]))
        self.dead &= ~self.odd

    def _names(self) -> tuple[list[str], Rows]:
        """The distinct attribute names, and each test's."""
        tests = self.tests
        hashes = np.empty(len(tests.row), np.uint64)
        lexing.hash_spans(self.bytes, tests.name_start, tests.name_stop, hashes)
        _, first, attribute = np.unique(hashes, return_index=True, return_inverse=True)
        same = np.empty(len(hashes), np.bool_)
        lexing.same_spans(self.bytes, tests.name_start, tests.name_stop, first[attribute], same)
        self.odd[tests.row[~same]] = True
        names = [
            self.bytes[tests.name_start[at] : tests.name_stop[at]].tobytes().decode("ascii") for at in first.tolist()
        ]
        return names, attribute.astype(np.int64)

    def _refuse_untidy(self) -> None:
        """Leave texts to the parser that test an attribute in ways that must be merged; pair up bounds."""
        tests, count = self.tests, len(self.tests.row)
        bound = tests.operator != _CONTAINS
        self.role = np.zeros(count, np.int64)
        self.paired = np.zeros(count, np.bool_)
        self.lower = np.zeros(count, np.bool_)
        self.partner = np.zeros(count, np.int64)
        order = np.lexsort((np.arange(count), self.attribute, tests.row))
        group = tests.row[order].astype(np.int64) * (len(self.names) + 1) + self.attribute[order]
        self._number_contained(order, group)
        twice = np.nonzero(group[1:] == group[:-1])[0]
        missing = tests.operator == _MISSING  # beside any other test of the attribute: a contradiction
        self.odd[tests.row[order[twice[missing[order[twice]] | missing[order[twice + 1]]]]]] = True
        order, group = order[bound[order]], group[bound[order]]
        same = np.nonzero(group[1:] == group[:-1])[0]
        if not len(same):
            return
        left, right = order[same], order[same + 1]
        long = same[:-_MOST_LISTED][same[_MOST_LISTED:] == same[:-_MOST_LISTED] + _MOST_LISTED]
        self.odd[tests.row[order[long]]] = True
        both_in = (tests.operator[left] == _IN) & (tests.operator[right] == _IN)
        alike = tests.constant_class[left] == tests.constant_class[right]
        low_high = np.isin(tests.operator[left], _LOWER) & np.isin(tests.operator[right], _UPPER)
        high_low = np.isin(tests.operator[left], _UPPER) & np.isin(tests.operator[right], _LOWER)
        pair = (low_high | high_low) & alike
        self.odd[tests.row[left[~(pair | (both_in & alike))]]] = True
        lows, highs = np.where(low_high, left, right)[pair], np.where(low_high, right, left)[pair]
        # Three tests on one attribute make two adjacent pairs: the middle one stands in both, and the text is odd.
        tested = np.concatenate([lows, highs])
        unique, times = np.unique(tested, return_counts=True)
        self.odd[tests.row[unique[times > 1]]] = True
        self.paired[tested] = True
        self.lower[lows] = True
        self.partner[lows] = highs

    def _number_contained(self, order: Rows, group: Rows) -> None:
        contained = self.tests.operator[order] == _CONTAINS
        order, group = order[contained], group[contained]
        first = np.r_[True, group[1:] != group[:-1]] if len(group) else np.empty(0, np.bool_)
        starts = np.maximum.accumulate(np.where(first, np.arange(len(group)), 0)) if len(group) else group
        self.role[order] = np.arange(len(group)) - starts + 1

    def _groups(self, records: Rows, key: Rows, take: Callable[..., list[Piece]], staged: list[Any]) -> None:
        """Hand over the records that share an attribute, an operator and a class of constants (and a role)."""
        if not len(records):
            return
        keys = key[records] * 1024 + np.minimum(self.role[records], 1023)
        records = records[np.argsort(keys, kind="stable")]
        keys = key[records] * 1024 + np.minimum(self.role[records], 1023)
        for run in np.split(records, np.nonzero(np.diff(keys))[0] + 1):
            staged.append((run, take(run)))

    def _single(self, run: Rows) -> list[Piece]:
        name, operator, _ = self._what(run)
        conjunctions = self.tests.row[run].astype(np.int64)
        slot = Slot(name, int(self.role[run[0]]))
        domain = self.schema.domain(name)
        if operator in (_PRESENT, _MISSING) and domain is not None:
            return [Piece(slot, ANY if operator == _PRESENT else MISSING, conjunctions)]
        if isinstance(domain, Finite):
            return self._finite(run, slot, domain)
        kind, column = self._constants(run, name, operator)
        if column is None:
            return self._leave(run)
        if operator == _STARTS:
            highs = pa.array([past_prefix(text) for text in column.to_pylist()], pa.string())
            if kind != Kind.STRING or highs.null_count:
                return self._leave(run)
            return [Piece(slot, kind, conjunctions, Bound(column, False), Bound(highs, True))]
        if isinstance(domain, Integer):
            self._never_whole(run, domain, operator, column)
        if kind == Kind.STRING and operator == _LT:  # no string lies before the empty one
            self.dead[conjunctions[pc.equal(column, "").to_numpy(zero_copy_only=False)]] = True
        closed = Bound(column, False)
        if operator in (_EQ, _CONTAINS, _IN):
            return [Piece(slot, kind, conjunctions, closed, closed)]
        if operator == _NE:
            opened = Bound(column, True)
            return [Piece(slot, kind, conjunctions, None, opened), Piece(slot, kind, conjunctions, opened, None)]
        bound = Bound(column, operator in (_LT, _GT))
        return [Piece(slot, kind, conjunctions, *((None, bound) if operator in _UPPER else (bound, None)))]

    def _pair(self, run: Rows) -> list[Piece]:
        name, low, _ = self._what(run)
        others = self.partner[run]
        high = int(self.tests.operator[others[0]])
        kind, lows = self._constants(run, name, low)
        _, highs = self._constants(others, name, high)
        if lows is None or highs is None or kind == Kind.STRING:
            return self._leave(run)
        domain = self.schema.domain(name)
        if isinstance(domain, Integer):
            bottom, top = lows + (low == _GT), highs - (high == _LT)
            least = -(2**62) if domain.min is None else domain.min
            most = 2**62 if domain.max is None else domain.max
            never = np.maximum(bottom, least) > np.minimum(top, most)
        else:
            never = (lows > highs) | ((lows == highs) & (low == _GT or high == _LT))
        conjunctions = self.tests.row[run].astype(np.int64)
        self.dead[conjunctions[never]] = True
        piece = Piece(Slot(name), kind, conjunctions, Bound(lows, low == _GT), Bound(highs, high == _LT))
        return [_only(piece, ~never)]

    def _what(self, run: Rows) -> tuple[str, int, int]:
        first = run[0]
        tests = self.tests
        return self.names[self.attribute[first]], int(tests.operator[first]), int(tests.constant_class[first])

    def _leave(self, run: Rows) -> list[Piece]:
        self.odd[self.tests.row[run]] = True
        return []

    def _never_whole(self, run: Rows, domain: Integer, operator: int, column: npt.NDArray[np.int64]) -> None:
        """Bounds that no whole number of the domain can meet, and holes in a domain of one number."""
        never = np.zeros(len(run), np.bool_)
        if operator == _LT and domain.min is not None:
            never = column <= domain.min
        elif operator == _GT and domain.max is not None:
            never = column >= domain.max
        elif operator == _NE and domain.min == domain.max is not None:
            never[:] = True
        self.dead[self.tests.row[run[never]]] = True

    def _constants(self, run: Rows, name: str, operator: int) -> tuple[int, Any]:
        """The kind and the constants as a column; None where the parser must decide."""
        found = int(self.tests.constant_class[run[0]])
        domain = self.schema.domain(name)
        whole = isinstance(domain, Integer)
        if found == lexing.INTEGER and isinstance(domain, Integer | Number | Untyped) and operator != _STARTS:
            column = self.tests.integer[run]
            if whole and not _all_within(column, domain):
                return Kind.NUMBER, None
            return Kind.NUMBER, column
        if found == lexing.REAL and isinstance(domain, Number | Untyped) and operator != _STARTS:
            reals = pc.cast(self._spans(run), pa.float64()).to_numpy(zero_copy_only=False)
            return Kind.NUMBER, reals if np.isfinite(reals).all() else None
        plain = found == lexing.STRING or operator == _CONTAINS
        if found in _TEXT and (isinstance(domain, String) or (isinstance(domain, Untyped) and plain)):
            return Kind.STRING, self._spans(run)
        equal = operator in (_EQ, _CONTAINS, _IN)
        if found == lexing.BOOLEAN and isinstance(domain, Boolean | Untyped) and equal:
            return Kind.BOOLEAN, self.tests.integer[run]
        return Kind.NUMBER, None

    def _spans(self, run: Rows) -> pa.Array:
        starts, stops = self.tests.constant_start[run], self.tests.constant_stop[run]
        offsets = np.zeros(len(run) + 1, np.int32)
        np.cumsum(stops - starts, out=offsets[1:])
        out = np.empty(int(offsets[-1]), np.uint8)
        lexing.copy_spans(self.bytes, starts, stops, offsets, out)
        return pa.StringArray.from_buffers(len(run), pa.py_buffer(offsets), pa.py_buffer(out))

    def _finite(self, run: Rows, slot: Slot, domain: Finite) -> list[Piece]:
        _, operator, found = self._what(run)
        ordered = operator in (*_LOWER, *_UPPER)
        if found not in _TEXT or operator == _STARTS or (ordered and not domain.ordered):
            return self._leave(run)
        encoded = self._spans(run).dictionary_encode()
        codes = self.pieces.finite(slot.attribute, domain)
        chosen = encoded.indices.to_numpy()
        meaning = Operator.EQ if operator in (_CONTAINS, _IN) else _OPERATOR[operator]
        pieces: list[Piece] = []
        for number, name in enumerate(encoded.dictionary.to_pylist()):
            rows = self.tests.row[run[chosen == number]].astype(np.int64)
            if name not in codes.code:
                self.odd[rows] = True
                continue
            runs = codes.runs((Predicate(slot.attribute, meaning, string(name)),))
            self.dead[rows] |= runs == [NOTHING] and not domain.grows
            for low, high in runs:
                bounds = (Bound(np.full(len(rows), edge, np.int64), False) for edge in (low, high))
                pieces.append(Piece(slot, CODES, rows, *bounds))
        return pieces

    # -- the slow road ------------------------------------------------------------------------------------------

    def read_the_rest(self) -> Reading:
        owners, dead = list(range(self.count)), self.dead.tolist()
        rejected: list[tuple[int, LanguageError | LimitError]] = []
        for row in np.nonzero(self.odd)[0].tolist():
            try:
                conjunctions = parse(self.texts[row].as_py(), self.schema)
            except (LanguageError, LimitError) as error:
                rejected.append((row, error))
                conjunctions = ()
            dead[row] = not conjunctions
            for at, conjunction in enumerate(conjunctions):
                number = row if at == 0 else len(owners)
                if at:
                    owners.append(row)
                    dead.append(False)
                self.pieces.add_conjunction(number, conjunction)
        return Reading(self.pieces, np.array(owners, np.int64), np.array(dead, np.bool_), rejected)


def _buffers(texts: pa.Array) -> tuple[Rows, npt.NDArray[np.uint8]]:
    wide = pa.types.is_large_string(texts.type)
    _, offsets, data = texts.buffers()
    width = np.int64 if wide else np.int32
    starts = np.frombuffer(offsets, width)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return starts, np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)


def _all_within(column: npt.NDArray[np.int64], domain: Integer | Any) -> bool:
    low, high = domain.min, domain.max
    return bool((low is None or column.min() >= low) and (high is None or column.max() <= high))


def _only(piece: Piece, kept: Mask) -> Piece:
    """The piece for some of its conjunctions."""
    if kept.all():
        return piece
    sides = [
        None if side is None else Bound(side.values.filter(pa.array(kept)) if isinstance(side.values, pa.Array)
                                        else side.values[kept], side.open)
        for side in (piece.low, piece.high)
    ]  # fmt: skip
    return Piece(piece.slot, piece.kind, piece.conjunctions[kept], *sides)
