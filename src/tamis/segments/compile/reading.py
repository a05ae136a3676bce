"""Texts → constraints in columns. Flat texts are read by a kernel, the rest by the real parser, one by one.

The fast road takes `attribute operator constant and …` where no attribute is tested twice, but for a lower and an upper
bound, the members of an `in` and several `contains`. It must agree with the parser to the letter: what it is not sure
of it leaves to the parser, mistakes included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.letters import letters_of
from tamis.errors import LanguageError, LimitError
from tamis.kernels.numbering import grouped, numbered
from tamis.kernels.segments import lexing
from tamis.kernels.segments.pairing import group_tests, pair_up
from tamis.kernels.spans import copy_spans
from tamis.language import parse
from tamis.model import Boolean, Finite, Integer, Kind, Number, Operator, Predicate, Schema, String, Untyped
from tamis.model.regions import prefix_range
from tamis.model.values import string
from tamis.segments.compile.constraints import Bound, Piece, PieceKind, Pieces
from tamis.segments.compile.finite_codes import NOTHING
from tamis.segments.compile.truths import Slot

__all__ = ["Reading", "read_texts"]

_LOWER, _UPPER = (lexing.GT, lexing.GE), (lexing.LT, lexing.LE)
_OPERATOR = {at: Operator(text) for at, text in enumerate(lexing.OPERATORS)}
_MOST_LISTED = 64
"""An `in` of more members goes to the parser, which sorts them."""
_TEXT = (lexing.STRING, lexing.WORD)

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass
class Reading:
    """What a column of texts says. Conjunction `r` belongs to text `r`; further ones of a text come after them."""

    pieces: Pieces
    owners: Longs
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
        ends, self.bytes = letters_of(self.texts)
        starts = ends.astype(np.int64)
        room = int(starts[-1] - starts[0]) // 2 + 2
        tests, names = lexing.new_tests(room), lexing.new_names(room)
        number, known = lexing.read_flat(self.bytes, starts, tests, names, self.odd)
        self.tests = lexing.first_tests(tests, number)
        spans = zip(names.start[:known].tolist(), names.stop[:known].tolist(), strict=True)
        self.names = [self.bytes[start:stop].tobytes().decode("ascii") for start, stop in spans]
        self.role, self.partner = np.empty(number, np.int32), np.empty(number, np.int32)
        pair_up(self.tests, known, _MOST_LISTED, self.role, self.partner, self.odd)
        staged = [piece for run in self._runs() for piece in self._take(run)]
        left = self.odd.any()
        for piece in staged:
            self.pieces.add(_only(piece, ~self.odd[piece.conjunctions]) if left else piece)
        self.dead &= ~self.odd

    def _runs(self) -> Iterator[Longs]:
        """The records that share an attribute, an operator, a class of constants, a role, and a kind of partner."""
        keys = np.empty(len(self.tests.row), np.int64)
        group_tests(self.tests, self.role, self.partner, self.odd, keys)
        numbers, first = numbered(keys)
        starts, order = grouped(numbers, len(first))
        return (order[start:stop] for start, stop in pairwise(starts.tolist()))

    def _take(self, run: Longs) -> list[Piece]:
        return self._pair(run) if self.partner[run[0]] >= 0 else self._single(run)

    def _single(self, run: Longs) -> list[Piece]:
        name, operator, _ = self._what(run)
        conjunctions = self.tests.row[run].astype(np.int64)
        slot = Slot(name, int(self.role[run[0]]))
        domain = self.schema.domain(name)
        if operator in (lexing.PRESENT, lexing.MISSING) and domain is not None:
            present = PieceKind.ANY_VALUE if operator == lexing.PRESENT else PieceKind.NO_VALUE
            return [Piece(slot, present, conjunctions)]
        if isinstance(domain, Finite):
            return self._finite(run, slot, domain)
        kind, column = self._constants(run, name, operator)
        if column is None:
            return self._leave(run)
        if operator == lexing.STARTS:
            ends = (prefix_range(text).end for text in column.to_pylist())
            highs = pa.array([None if end is None else end.data for end in ends], pa.string())
            if kind != Kind.STRING or highs.null_count:
                return self._leave(run)
            return [Piece(slot, kind, conjunctions, Bound(column, False), Bound(highs, True))]
        if isinstance(domain, Integer):
            self._never_whole(run, domain, operator, column)
        if kind == Kind.STRING and operator == lexing.LT:  # no string lies before the empty one
            self.dead[conjunctions[pc.equal(column, "").to_numpy(zero_copy_only=False)]] = True
        closed = Bound(column, False)
        if operator in (lexing.EQ, lexing.CONTAINS, lexing.IN):
            return [Piece(slot, kind, conjunctions, closed, closed)]
        if operator == lexing.NE:
            opened = Bound(column, True)
            return [Piece(slot, kind, conjunctions, None, opened), Piece(slot, kind, conjunctions, opened, None)]
        bound = Bound(column, operator in (lexing.LT, lexing.GT))
        return [Piece(slot, kind, conjunctions, *((None, bound) if operator in _UPPER else (bound, None)))]

    def _pair(self, run: Longs) -> list[Piece]:
        name, low, _ = self._what(run)
        others = self.partner[run].astype(np.int64)
        high = int(self.tests.operator[others[0]])
        kind, lows = self._constants(run, name, low)
        _, highs = self._constants(others, name, high)
        if lows is None or highs is None or kind == Kind.STRING:
            return self._leave(run)
        domain = self.schema.domain(name)
        if isinstance(domain, Integer):
            # Constants lie in the domain, so its bounds, which may be larger than any machine number, add nothing.
            never = lows + (low == lexing.GT) > highs - (high == lexing.LT)
        else:
            never = (lows > highs) | ((lows == highs) & (low == lexing.GT or high == lexing.LT))
        conjunctions = self.tests.row[run].astype(np.int64)
        self.dead[conjunctions[never]] = True
        piece = Piece(Slot(name), kind, conjunctions, Bound(lows, low == lexing.GT), Bound(highs, high == lexing.LT))
        return [_only(piece, ~never)]

    def _what(self, run: Longs) -> tuple[str, int, int]:
        first = run[0]
        tests = self.tests
        return self.names[tests.attribute[first]], int(tests.operator[first]), int(tests.constant_class[first])

    def _leave(self, run: Longs) -> list[Piece]:
        self.odd[self.tests.row[run]] = True
        return []

    def _never_whole(self, run: Longs, domain: Integer, operator: int, column: npt.NDArray[np.int64]) -> None:
        """Bounds that no whole number of the domain can meet, and holes in a domain of one number."""
        never = np.zeros(len(run), np.bool_)
        if operator == lexing.LT and domain.min is not None:
            never = column <= domain.min
        elif operator == lexing.GT and domain.max is not None:
            never = column >= domain.max
        elif operator == lexing.NE and domain.min == domain.max is not None:
            never[:] = True
        self.dead[self.tests.row[run[never]]] = True

    def _constants(self, run: Longs, name: str, operator: int) -> tuple[int, Any]:
        """The kind and the constants as a column; None where the parser must decide."""
        found = int(self.tests.constant_class[run[0]])
        domain = self.schema.domain(name)
        whole = isinstance(domain, Integer)
        if found == lexing.INTEGER and isinstance(domain, Integer | Number | Untyped) and operator != lexing.STARTS:
            column = self.tests.value[run]
            if whole and not _all_within(column, domain):
                return Kind.NUMBER, None
            return Kind.NUMBER, column
        if found == lexing.REAL and isinstance(domain, Number | Untyped) and operator != lexing.STARTS:
            reals = pc.cast(self._spans(run), pa.float64()).to_numpy(zero_copy_only=False)
            return Kind.NUMBER, reals if np.isfinite(reals).all() else None
        plain = found == lexing.STRING or operator == lexing.CONTAINS
        if found in _TEXT and (isinstance(domain, String) or (isinstance(domain, Untyped) and plain)):
            return Kind.STRING, self._spans(run)
        equal = operator in (lexing.EQ, lexing.CONTAINS, lexing.IN)
        if found == lexing.BOOLEAN and isinstance(domain, Boolean | Untyped) and equal:
            return Kind.BOOLEAN, self.tests.value[run]
        return Kind.NUMBER, None

    def _spans(self, run: Longs) -> pa.Array:
        offsets = np.zeros(len(run) + 1, np.int32)
        np.cumsum(self.tests.length[run], out=offsets[1:])
        out = np.empty(int(offsets[-1]), np.uint8)
        copy_spans(self.bytes, self.tests.value[run], offsets, out)
        return pa.StringArray.from_buffers(len(run), pa.py_buffer(offsets), pa.py_buffer(out))

    def _finite(self, run: Longs, slot: Slot, domain: Finite) -> list[Piece]:
        _, operator, found = self._what(run)
        ordered = operator in (*_LOWER, *_UPPER)
        if found not in _TEXT or operator == lexing.STARTS or (ordered and not domain.ordered):
            return self._leave(run)
        meaning = Operator.EQ if operator in (lexing.CONTAINS, lexing.IN) else _OPERATOR[operator]
        encoded = self._spans(run).dictionary_encode()
        runs = self._runs_of_names(slot.attribute, domain, meaning, encoded.dictionary.to_pylist())
        of = encoded.indices.to_numpy()
        rows = self.tests.row[run].astype(np.int64)
        counts = np.array([len(one) for one in runs])
        self.odd[rows[counts[of] == 0]] = True
        if not domain.grows:
            self.dead[rows[np.array([one == [NOTHING] for one in runs])[of]]] = True
        low, high = np.array([edges for one in runs for edges in one] or [NOTHING], np.int64).T
        times = counts[of]
        nth = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        at = np.repeat((np.cumsum(counts) - counts)[of], times) + nth
        return [Piece(slot, PieceKind.CODES, np.repeat(rows, times), Bound(low[at], False), Bound(high[at], False))]

    def _runs_of_names(
        self, attribute: str, domain: Finite, meaning: Operator, names: list[str]
    ) -> list[list[tuple[int, int]]]:
        """What a comparison with each of the names admits, as runs of codes; nothing at all if it is no name."""
        codes = self.pieces.finite(attribute, domain)
        known = [codes.code.get(name) for name in names]
        if meaning is Operator.EQ:
            return [[(code, code)] if code is not None else [] for code in known]
        return [
            codes.runs((Predicate(attribute, meaning, string(name)),)) if code is not None else []
            for name, code in zip(names, known, strict=True)
        ]

    # -- the slow road ------------------------------------------------------------------------------------------

    def read_the_rest(self) -> Reading:
        further: list[int] = []
        rejected: list[tuple[int, LanguageError | LimitError]] = []
        for row in np.nonzero(self.odd)[0].tolist():
            try:
                conjunctions = parse(self.texts[row].as_py(), self.schema)
            except (LanguageError, LimitError) as error:
                rejected.append((row, error))
                conjunctions = ()
            self.dead[row] = not conjunctions
            for at, conjunction in enumerate(conjunctions):
                self.pieces.add_conjunction(self.count + len(further) if at else row, conjunction)
                if at:
                    further.append(row)
        owners = np.r_[np.arange(self.count), np.array(further, np.int64)]
        return Reading(self.pieces, owners, np.r_[self.dead, np.zeros(len(further), np.bool_)], rejected)


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
