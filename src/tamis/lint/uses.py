"""Who uses which attribute how: what texts compare it with, by the column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.lint.reading import Read
from tamis.model import Finite, Kind, Predicate, Schema, Threshold
from tamis.model.operators import OPERATORS, Needs, Operator
from tamis.segments.compile.constraints import Piece, PieceKind
from tamis.segments.compile.truths import FIRST_TRUTH, Role

__all__ = ["Use", "uses_of"]

Longs = npt.NDArray[np.int64]

_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$")
_NUMBER = re.compile(r"^\s*[+-]?(\d+\.?\d*|\.\d+)\s*$")


class Use(NamedTuple):
    """Some texts do the same with an attribute."""

    attribute: str
    texts: Longs
    kind: Kind | None = None
    """Of the constants; None where there are none, or any kind will do."""
    contains: bool = False
    date: bool = False
    """Whether the constant is text that reads like a date,"""
    number: bool = False
    """or like a number,"""
    ordered: bool = False
    """and whether it is compared by order."""


def uses_of(read: Read, schema: Schema) -> Iterator[Use]:
    """All uses, perhaps several of one text and attribute."""
    truths = read.reading.pieces.truths()
    for piece in read.pieces:
        alive = ~read.reading.dead[piece.conjunctions]
        if not alive.any():
            continue
        some = piece.only(alive)
        if some.slot.role != Role.TRUTH:
            yield from _of_piece(some, read.reading.owners[some.conjunctions], schema)
            continue
        members = truths[some.slot._replace(nth=0)].members
        assert some.low is not None
        codes = np.asarray(some.low.values, np.int64)
        texts = read.reading.owners[some.conjunctions]
        for code in np.unique(codes).tolist():
            yield from _of_member(members[code - FIRST_TRUTH], texts[codes == code])


def _of_piece(piece: Piece, texts: Longs, schema: Schema) -> Iterator[Use]:
    name, contains = piece.slot.attribute, piece.slot.role > 0
    if piece.kind < 0:
        finite = piece.kind == PieceKind.CODES and isinstance(schema.domain(name), Finite)
        yield Use(name, texts, Kind.STRING if finite else None, contains)
        return
    kind = Kind(piece.kind)
    if kind is not Kind.STRING or piece.slot.role == Role.LACKS:
        yield Use(name, texts, None if piece.slot.role == Role.LACKS else kind, contains)
        return
    date, number = (_matching(piece, expression) for expression in (_DATE, _NUMBER))
    ordered = piece.low is not piece.high
    for is_date, is_number in product((False, True), repeat=2):
        chosen = (date == is_date) & (number == is_number)
        if chosen.any():
            yield Use(name, texts[chosen], kind, contains, is_date, is_number, ordered)


def _matching(piece: Piece, expression: re.Pattern[str]) -> npt.NDArray[np.bool_]:
    """Whether one of a piece's ends, which are strings, looks so."""
    found = np.zeros(len(piece.conjunctions), np.bool_)
    for bound in (piece.low, piece.high):
        if bound is not None:
            encoded = pa.array(bound.values).dictionary_encode()
            known = [expression.match(one) is not None for one in encoded.dictionary.to_pylist()]
            found |= np.array(known, np.bool_)[encoded.indices.to_numpy()]
    return found


def _of_member(member: Predicate, texts: Longs) -> Iterator[Use]:
    if isinstance(member.operand, Threshold):
        for one in member.operand.predicates():
            yield from _of_member(one, texts)
        return
    if not member.constants:
        yield from (Use(name, texts) for name in member.attributes)
        return
    operator, constant = member.operator, member.constants[0]
    contains = operator in (Operator.CONTAINS, Operator.FOLDED_CONTAINS)
    text = str(constant.data) if constant.kind is Kind.STRING else ""
    date, number = _DATE.match(text) is not None, _NUMBER.match(text) is not None
    ordered = OPERATORS[operator].needs is Needs.ORDER
    yield Use(member.attribute, texts, constant.kind, contains, date, number, ordered)
