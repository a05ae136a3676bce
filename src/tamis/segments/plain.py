"""Plain values → codes in one step each: what most events consist of, without the objects in between."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from tamis.model import Domain, Finite, Integer, Kind, Number, Schema, String, Untyped
from tamis.segments.codes import AttributeCodes

__all__ = ["Reader", "plain_readers"]

Reader = Callable[[Any], int]
"""The code of a value, or -1 where somebody more careful must look at it."""

_LARGE = 2**62


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


def _reader(domain: Domain, of: type, codes: AttributeCodes | None) -> Reader | None:
    """For values of one Python type in a domain."""
    if isinstance(domain, Finite):
        names = codes.names if codes is not None else domain.rank
        return _name_reader(names) if of is str and names is not None else None
    if of is int and isinstance(domain, Integer | Number | Untyped):
        low, high = (domain.min, domain.max) if isinstance(domain, Integer) else (None, None)
        return _number_reader(
            codes, -_LARGE if low is None else max(low, -_LARGE), _LARGE if high is None else min(high, _LARGE)
        )
    if of is float and isinstance(domain, Number | Untyped):
        return _number_reader(codes, -sys.float_info.max, sys.float_info.max)
    if of is str and isinstance(domain, String | Untyped):
        return _string_reader(codes)
    return None


def _missing(_: Any) -> int:
    return 0


def _name_reader(names: Mapping[str, int]) -> Reader:
    return lambda name: names.get(name, -1)


def _number_reader(codes: AttributeCodes | None, low: float, high: float) -> Reader:
    """NaN is not between any two numbers."""
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
