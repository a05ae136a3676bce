"""Values of one Python type → codes, in one step each: what most events consist of, without the objects in between."""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Mapping
from typing import Any

from tamis.batches.checks import Between, OneOf, Text, plain_check
from tamis.model import TOTAL, Domain, Finite, Kind, Operator, Value, compare
from tamis.model.values import ValueRefused, string
from tamis.segments.compile.codes import AttributeCodes

__all__ = ["Reader", "is_plain", "plain_comparison", "reader_of"]

Reader = Callable[[Any], int]
"""The code of a value, or -1 where somebody more careful must look at it."""

_MOST_KEPT, _SHORT = 4096, 40
"""Texts kept with their codes, and how long one may be."""

_PYTHON: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: operators.eq,
    Operator.NE: operators.ne,
    Operator.LT: operators.lt,
    Operator.LE: operators.le,
    Operator.GT: operators.gt,
    Operator.GE: operators.ge,
}


def is_plain(domain: Domain, of: type) -> bool:
    """Whether Python compares values of that type in that domain as we do."""
    return plain_check(domain, of) is not None


def plain_comparison(domain: Domain, operator: Operator) -> Callable[[Any, Any], bool]:
    """`compare` for plain numbers or strings, as Python says it where their order is total."""
    if isinstance(domain, Finite) and operator not in (Operator.EQ, Operator.NE):
        return lambda mine, theirs: compare(domain, operator, string(mine), string(theirs))
    return _PYTHON[TOTAL.get(operator, operator)]


def reader_of(domain: Domain, of: type, codes: AttributeCodes | None) -> Reader:
    """For values of one Python type in a domain; without codes, whether they lie in it."""
    match plain_check(domain, of):
        case OneOf(known):
            names = codes.names if codes is not None else known
            if names is not None:
                return _name_reader(names)
        case Between(low, high):
            return _number_reader(codes, low, high)
        case Text():
            return _string_reader(codes)
    if of is bool and domain.kind in (None, Kind.BOOLEAN):
        return _truth_reader(codes)
    return _kept_reader(_any_reader(domain, codes)) if of is str else _any_reader(domain, codes)


def _truth_reader(codes: AttributeCodes | None) -> Reader:
    of = [codes.code(Value(Kind.BOOLEAN, truth)) if codes is not None else 0 for truth in (False, True)]
    return lambda truth: of[truth]


def _kept_reader(read: Reader) -> Reader:
    """For instants as text, which are dear to read and often come again."""
    known: dict[str, int] = {}

    def read_kept(text: str) -> int:
        code = known.get(text)
        if code is None:
            code = read(text)
            if len(known) >= _MOST_KEPT:
                known.clear()
            if len(text) <= _SHORT:
                known[text] = code
        return code

    return read_kept


def _any_reader(domain: Domain, codes: AttributeCodes | None) -> Reader:
    """Truths, instants, decimals, whatever else: by way of a value."""

    def read(found: Any) -> int:
        try:
            value = domain.value(found)
        except ValueRefused:
            return -1
        return codes.code(value) if codes is not None else 0

    return read


def _name_reader(names: Mapping[str, int]) -> Reader:
    return lambda name: names.get(name, -1)


def _number_reader(codes: AttributeCodes | None, low: float, high: float) -> Reader:
    base, known, seek = _constants(codes, Kind.NUMBER)

    def read(number: Any) -> int:
        if not low <= number <= high:
            return -1
        rank = known.get(number)
        return base + (2 * rank + 1 if rank is not None else seek(number))

    return read


def _string_reader(codes: AttributeCodes | None) -> Reader:
    """A constant is known to be text; other strings may hold half characters, which ASCII never does."""
    base, known, seek = _constants(codes, Kind.STRING)

    def read(text: Any) -> int:
        rank = known.get(text)
        if rank is not None:
            return base + 2 * rank + 1
        return base + seek(text) if text.isascii() else -1

    return read


def _constants(codes: AttributeCodes | None, kind: Kind) -> tuple[int, dict[Any, int], Callable[[Any], int]]:
    """Of one kind: its first code, the constants' ranks, and where a value lies that is none of these."""
    dictionary = codes.dictionaries.get(kind) if codes is not None else None
    base = codes.base[kind] if codes is not None else 0
    return (base, dictionary.known, dictionary.seek) if dictionary is not None else (base, {}, _nowhere)


def _nowhere(_: Any) -> int:
    return 0
