"""Which values certainly lie in a domain? One table, domain → check: of a column of them, and of plain Python values.

The checks are sound, not complete: a value that they pass is one that `Domain.value` takes, and whatever they do not
pass is put to `Schema.event`, which alone decides. So a case not thought of here costs time and never a wrong answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.arrow_types import Values, Verdict, every
from tamis.batches.batch import column_of
from tamis.model import (
    Boolean,
    Domain,
    Enumerated,
    Finite,
    Hierarchical,
    Integer,
    Kind,
    Number,
    Records,
    String,
    Timestamp,
    Untyped,
)
from tamis.model.finite import EventTypes
from tamis.model.values import ValueRefused, timestamp

__all__ = ["CHECKS", "Between", "Check", "OneOf", "Plain", "Text", "plain_check", "values_in"]


class Between(NamedTuple):
    """Numbers from `low` to `high` fit; NaN is not between any two."""

    low: float
    high: float


class OneOf(NamedTuple):
    """These names fit."""

    names: Mapping[str, int]


class Text(NamedTuple):
    """Strings fit if they are ASCII or known to be text: others may hold half characters."""


Plain: TypeAlias = Between | OneOf | Text


class Check(NamedTuple):
    """A row of the table."""

    column: Callable[[Any, Values], Values | None]
    """Of the domain and the values of a column: the domain's values, and which of them certainly fit; None if none."""
    plain: Mapping[type, Callable[[Any], Plain]]
    """Python's types whose values are easily judged, each with what fits."""


_LARGE = 2**62
"""Whole numbers beyond it may be too long, and are looked at with more care."""
_EXACT = 2**53
"""Up to it every whole number is a double."""


def _of_kind(domain: Domain, found: Values) -> Values | None:
    return found if domain.kind is None or domain.kind is found.kind else None


def _in_range(domain: Integer, found: Values) -> Values | None:
    """Whole numbers between the bounds; doubles that are whole are as good."""
    if found.kind is not Kind.NUMBER:
        return None
    numbers, sound = found.column, found.sound
    if numbers.dtype == np.float64:
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) <= _EXACT)
        numbers, sound = np.where(whole, numbers, 0).astype(np.int64), sound & every(whole)
    if domain.min is None and domain.max is None and numbers.dtype == np.int64:
        return Values(Kind.NUMBER, numbers, sound)
    return Values(Kind.NUMBER, numbers, sound & _between(domain, numbers))


def _between(domain: Integer, numbers: npt.NDArray[Any]) -> Verdict:
    if numbers.dtype == object:
        return every(np.array([_is_in(domain, one) for one in numbers.tolist()], bool))
    low, high = int(numbers.min()), int(numbers.max())
    least, most = low if domain.min is None else domain.min, high if domain.max is None else domain.max
    if least <= low and high <= most:
        return True
    return (numbers >= max(least, low)) & (numbers <= min(most, high)) if least <= high and low <= most else False


def _is_in(domain: Integer, number: int | float) -> bool:
    try:
        domain.value(number)
    except ValueRefused:
        return False
    return True


def _among_names(domain: Finite, found: Values) -> Values | None:
    if found.kind is not Kind.STRING:
        return None
    encoded = pa.array(found.column).dictionary_encode()  # events repeat their values
    known = [name in domain.rank for name in encoded.dictionary.to_pylist()]
    if all(known):
        return found
    return Values(Kind.STRING, found.column, found.sound & np.array(known)[_indices(encoded)])


def _in_time(domain: Timestamp, found: Values) -> Values | None:
    """Instants, also as text, of which each distinct one is read once."""
    if found.kind is not Kind.STRING:
        return _of_kind(domain, found)
    encoded = pa.array(found.column).dictionary_encode()
    read = [_instant(text) for text in encoded.dictionary.to_pylist()]
    if not any(one is not None for one in read):
        return None
    at = _indices(encoded)
    known = np.array([one is not None for one in read])
    instants = column_of([one or 0 for one in read], Kind.TIMESTAMP)
    return Values(Kind.TIMESTAMP, instants[at], found.sound & every(known[at]))


def _instant(text: str) -> int | None:
    try:
        return int(timestamp(text).data)
    except ValueRefused:
        return None


def _indices(encoded: pa.Array) -> npt.NDArray[np.int32]:
    """Which of the distinct values each entry has; the first, where it is null."""
    return encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)


def _whole(domain: Integer) -> Between:
    low = -_LARGE if domain.min is None else max(domain.min, -_LARGE)
    return Between(low, _LARGE if domain.max is None else min(domain.max, _LARGE))


_PlainChecks: TypeAlias = dict[type, Callable[[Any], Plain]]
_NUMBERS: _PlainChecks = {
    int: lambda _: Between(-_LARGE, _LARGE),
    float: lambda _: Between(-sys.float_info.max, sys.float_info.max),
}
_TEXT: _PlainChecks = {str: lambda _: Text()}
_NAMES = Check(_among_names, {str: lambda domain: OneOf(domain.rank)})

CHECKS: Mapping[type[Domain], Check] = {
    Integer: Check(_in_range, {int: _whole}),
    Number: Check(_of_kind, _NUMBERS),
    String: Check(_of_kind, _TEXT),
    Boolean: Check(_of_kind, {}),
    Timestamp: Check(_in_time, {}),
    Untyped: Check(_of_kind, _NUMBERS | _TEXT),
    Enumerated: _NAMES,
    EventTypes: _NAMES,
    Hierarchical: _NAMES,
    Records: Check(_of_kind, {}),
}


def values_in(domain: Domain, found: Values, *, validated: bool = False) -> Values | None:
    """The values of a column as the domain has them, and which are certainly of it; None if none is.

    Of values that were validated only what reading them needs is asked: their kind, that they are values, and that
    names are known ones.
    """
    if validated and not isinstance(domain, Finite | Timestamp):
        return _of_kind(domain, found)
    return CHECKS[type(domain)].column(domain, found)


def plain_check(domain: Domain, of: type) -> Plain | None:
    """Which values of one Python type certainly fit; None if that is not easily said."""
    check = CHECKS[type(domain)].plain.get(of)
    return check(domain) if check is not None else None
