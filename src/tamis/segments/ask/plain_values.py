"""Plain values → codes in one step each: what most events consist of, without the objects in between."""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tamis.batches.checks import Between, OneOf, Text, plain_check
from tamis.model import TOTAL, Domain, Event, Finite, Kind, Operator, Schema, compare
from tamis.model.values import string
from tamis.segments.compile.codes import AttributeCodes

__all__ = ["PlainLink", "Reader", "plain_links", "plain_readers"]

Reader = Callable[[Any], int]
"""The code of a value, or -1 where somebody more careful must look at it."""

_PYTHON: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQ: operators.eq,
    Operator.NE: operators.ne,
    Operator.LT: operators.lt,
    Operator.LE: operators.le,
    Operator.GT: operators.gt,
    Operator.GE: operators.ge,
}


def plain_readers(
    schema: Schema, raw: Mapping[str, object], columns: Mapping[str, tuple[int, AttributeCodes]]
) -> list[tuple[int, Reader]] | None:
    """How to read each value of events like `raw`, which the schema accepts, and the column of its code, -1 for none.

    None if some value is not of a plain type.
    """
    readers: list[tuple[int, Reader]] = []
    for name, found in raw.items():
        if found is None:
            readers.append((-1, _missing))
            continue
        domain = schema.domain(name)
        column, codes = columns.get(name, (-1, None))
        reader = _reader(domain, type(found), codes) if domain is not None else None
        if reader is None:
            return None
        readers.append((column, reader))
    return readers


class PlainLink(NamedTuple):
    """A link between two plain values."""

    column: int
    holds: Callable[[Any, Any], bool]
    name: str
    other: str


def plain_links(
    schema: Schema,
    raw: Mapping[str, object],
    event: Event,
    partners: Mapping[str, Mapping[str, list[tuple[int, Operator]]]],
) -> list[PlainLink] | None:
    """The links that events like `raw` may satisfy, where `plain_readers` can read them; `event` is what it stands for.

    None if a value that is compared does not stand in the mapping.
    """
    found: list[PlainLink] = []
    for name in partners.keys() & event.values.keys():
        domain = schema.domain(name)
        assert domain is not None
        for other in partners[name].keys() & event.values.keys():
            mine, theirs = raw.get(name), raw.get(other)
            if mine is None or theirs is None:
                return None
            if isinstance(mine, str) is isinstance(theirs, str):  # across kinds all is false
                links = partners[name][other]
                found += [PlainLink(column, _comparison(domain, operator), name, other) for column, operator in links]
    return found


def _comparison(domain: Domain, operator: Operator) -> Callable[[Any, Any], bool]:
    """`compare` for numbers or strings, as Python says it where their order is total."""
    if isinstance(domain, Finite) and operator not in (Operator.EQ, Operator.NE):
        return lambda mine, theirs: compare(domain, operator, string(mine), string(theirs))
    return _PYTHON[TOTAL.get(operator, operator)]


def _reader(domain: Domain, of: type, codes: AttributeCodes | None) -> Reader | None:
    """For values of one Python type in a domain."""
    match plain_check(domain, of):
        case OneOf(known):
            names = codes.names if codes is not None else known
            return _name_reader(names) if names is not None else None
        case Between(low, high):
            return _number_reader(codes, low, high)
        case Text():
            return _string_reader(codes)
    return None


def _missing(_: Any) -> int:
    return 0


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
