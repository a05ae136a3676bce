"""Tests of what stands in texts, and `at least`, read by shapes: what each distinct one says, found out once.

Most of them are truths (`truths`); a pattern that says no more than `starts with` is an interval, and one that nothing
fits is never. Constants that the parser would refuse are left to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import LanguageError, LimitError
from tamis.kernels.segments import lexing, pairing
from tamis.language import parse
from tamis.language.normal import at_least_of, ranked, simplify
from tamis.language.texts import text_predicate
from tamis.model import COMPLEMENT, OPERATORS, Conjunction, Operator, Predicate, Schema
from tamis.model.operators import FOLDED, Needs, Row
from tamis.model.patterns import PatternRefused
from tamis.model.regions import Cut, Interval, has_truth
from tamis.model.values import string
from tamis.segments.compile.constants import ConstantColumns
from tamis.segments.compile.constraints import Bound, Piece, PieceKind, Pieces, column_of, take
from tamis.segments.compile.truths import Slot, is_keyed

__all__ = ["TEXT_CODES", "Listed", "Said", "said_of_counts", "said_of_texts"]

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_TEXTS = tuple(
    operator
    for operator, row in OPERATORS.items()
    if row.needs is Needs.TEXT and operator.value not in pairing.OPERATORS and operator is not Operator.FOLDED_NOT_IN
)
TEXT_CODES = {operator: code for code, operator in enumerate(_TEXTS, pairing.OTHERS)}
"""Codes of the operators about text that the kernels know nothing of. `not in (…) ignoring case` is one truth for all
of its list, and the parser's."""
assert pairing.OTHERS + len(_TEXTS) <= pairing.MOST_OPERATORS
_PLAIN = {folded: plain for plain, folded in FOLDED.items()}

Part = tuple[Slot, int, Interval]
Known = tuple[Slot, int] | list[Part] | None
"""A truth and its code; intervals, none of them where it never holds; None where the parser must look."""


@dataclass(frozen=True)
class Said:
    """What distinct tests say, and which of them each conjunction has."""

    known: list[Known]
    of: npt.NDArray[Any]

    @property
    def left(self) -> Mask:
        return self._which([one is None for one in self.known])

    @property
    def never(self) -> Mask:
        return self._which([one == [] for one in self.known])

    def _which(self, known: list[bool]) -> Mask:
        return np.array(known or [False], np.bool_)[self.of]

    def pieces(self, conjunctions: Longs) -> list[Piece]:
        """By slot, kind and ends."""
        truths: dict[Slot, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        others: dict[tuple[Any, ...], tuple[list[int], list[Interval]]] = defaultdict(lambda: ([], []))
        for at, one in enumerate(self.known):
            if isinstance(one, tuple):
                places, codes = truths[one[0]]
                places.append(at)
                codes.append(one[1])
                continue
            for slot, kind, interval in one or ():
                places, intervals = others[slot, kind, *(None if cut is None else cut.after for cut in interval)]
                places.append(at)
                intervals.append(interval)
        having = _Having(self.of, len(self.known))
        found = []
        for slot, (places, codes) in truths.items():
            chosen, of = having(places)
            bound = Bound(np.array(codes, np.int64)[of], False)
            found.append(Piece(slot, PieceKind.CODES, conjunctions[chosen], bound, bound))
        for (slot, kind, *_), (places, intervals) in others.items():
            chosen, of = having(places)
            found.append(_piece(slot, kind, conjunctions[chosen], intervals, of))
        return found


class _Having:
    """Who has each of several things."""

    def __init__(self, of: npt.NDArray[Any], count: int) -> None:
        self._order = np.argsort(of, kind="stable")
        self._sizes = np.bincount(of, minlength=count)
        self._starts = np.cumsum(self._sizes) - self._sizes

    def __call__(self, things: list[int]) -> tuple[Longs, Longs]:
        """Those that have one of these, and which one."""
        counts = self._sizes[things]
        skipped = self._starts[things] - (np.cumsum(counts) - counts)
        having = self._order[np.repeat(skipped, counts) + np.arange(int(counts.sum()))]
        return having, np.repeat(np.arange(len(things)), counts)


def _piece(slot: Slot, kind: int, conjunctions: Longs, intervals: Sequence[Interval], of: Longs) -> Piece:
    low, high = (_bound([one[side] for one in intervals], kind, of, upper=side == 1) for side in range(2))
    alone = all(start is not None and end is not None and start.data == end.data for start, end in intervals)
    return Piece(slot, kind, conjunctions, low, low if alone else high)


def _bound(cuts: Sequence[Cut | None], kind: int, of: Longs, upper: bool) -> Bound | None:
    given = [cut for cut in cuts if cut is not None]
    if not given:
        return None
    return Bound(take(column_of([cut.data for cut in given], kind), of), given[0].after is not upper)


# -- texts ------------------------------------------------------------------------------------------------------------


def said_of_texts(pieces: Pieces, schema: Schema, name: str, operator: int, values: pa.Array) -> Said:
    """What an operator about text says of an attribute with each of these constants."""
    encoded = pc.dictionary_encode(values)
    asked = _TEXTS[operator - pairing.OTHERS]
    row = OPERATORS[asked]
    meant: Operator = row.complement if row.negated else asked
    if meant is Operator.FOLDED_IN:  # any member of the list will do, as with pieces of one slot
        meant = Operator.FOLDED_EQ
    said = partial(_text_said, name, _PLAIN.get(meant, meant), row)
    tell = _Telling(pieces, schema)
    return Said([tell(said(text)) for text in encoded.dictionary.to_pylist()], encoded.indices.to_numpy())


def _text_said(name: str, operator: Operator, row: Row, text: str) -> Predicate | None:
    try:
        predicate = text_predicate(name, operator, string(text), row.folded)
    except (PatternRefused, LimitError):
        return None
    return Predicate(name, COMPLEMENT[predicate.operator], predicate.operand) if row.negated else predicate


class _Telling:
    """Predicates → what they say."""

    def __init__(self, pieces: Pieces, schema: Schema) -> None:
        self._pieces = pieces
        self._schema = schema
        self._shared: dict[tuple[str, Operator], Slot] = {}
        """Columns of truths that have many members."""

    def __call__(self, predicate: Predicate | None) -> Known:
        if predicate is None:
            return None
        key = predicate.attribute, predicate.operator
        slot = self._shared.get(key)
        if slot is None and has_truth(predicate):
            slot, code = self._pieces.truth(predicate)
            if is_keyed(slot):
                self._shared[key] = slot
            return slot, code
        if slot is not None:
            return slot, self._pieces.member(slot, predicate)
        simple = simplify((predicate,), self._schema)
        return [] if simple is None else list(self._pieces.parts(simple))


# -- at least ---------------------------------------------------------------------------------------------------------


class Listed(NamedTuple):
    """The members of an `at least` of some shape: texts, with numbers where constants stand. The first constant of its
    unit is how many it wants."""

    members: tuple[tuple[str | int, ...], ...]
    negated: bool
    holes: int


def said_of_counts(pieces: Pieces, schema: Schema, listed: Listed, constants: ConstantColumns, first: Longs) -> Said:
    """What each `at least` of a shape says; its unit's constants begin at `first`."""
    places = constants.holes(first, listed.holes)
    count = len(listed.members)
    wanted = np.where(constants.raw.kind[first] == lexing.INTEGER, constants.raw.value[first], 0)
    wanted = np.where((wanted < 1) | (wanted > count), 0, wanted)
    least = np.where(wanted > 0, count - wanted + 1 if listed.negated else wanted, 0)
    written = {at: constants.written(place) for at, place in enumerate(places) if at}
    texts = [_joined(member, written, listed.negated, len(first)) for member in listed.members]
    encoded = pc.dictionary_encode(pa.concat_arrays(texts))
    forms = [_form(text, schema) for text in encoded.dictionary.to_pylist()]
    of = encoded.indices.to_numpy().reshape(count, len(first))
    ranks = np.array(ranked([form or () for form in forms]), np.int64)[of]
    of = np.take_along_axis(of, np.argsort(ranks, axis=0, kind="stable"), axis=0)
    distinct, numbers = _distinct(of, least, len(forms))
    tell = _Telling(pieces, schema)
    known = [
        _count_said(tell, int(least[unit]), [forms[member] for member in of[:, unit].tolist()])
        for unit in distinct.tolist()
    ]
    return Said(known, numbers)


def _joined(member: tuple[str | int, ...], written: dict[int, pa.Array], negated: bool, count: int) -> pa.Array:
    parts = [written[part] if isinstance(part, int) else part for part in member]
    if negated:
        parts = ["not (", *parts, ")"]
    if not any(isinstance(part, pa.Array) for part in parts):
        return pa.array(["".join(parts)]).take(pa.array(np.zeros(count, np.int64)))
    return pc.binary_join_element_wise(*parts, "")


def _form(text: str, schema: Schema) -> tuple[Conjunction, ...] | None:
    try:
        return parse(text, schema)
    except (LanguageError, LimitError):
        return None


def _distinct(of: npt.NDArray[Any], least: Longs, forms: int) -> tuple[Longs, Longs]:
    """One unit of each sort, and the sort of each unit."""
    numbers = least
    for row in of:
        first, numbers = np.unique(numbers * forms + row, return_index=True, return_inverse=True)[1:]
    return first, numbers


def _count_said(tell: _Telling, least: int, members: list[tuple[Conjunction, ...] | None]) -> Known:
    held = [member for member in members if member is not None]
    if least == 0 or len(held) < len(members):
        return None
    predicate = at_least_of(least, held)
    return [] if predicate is None else tell(predicate)
