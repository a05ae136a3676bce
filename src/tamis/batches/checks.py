"""Which values certainly lie in a domain? One table, domain → check: of a column of them, and of plain Python values.

The checks are sound, not complete: a value that they pass is one that `Domain.value` takes, and whatever they do not
pass is put to `Schema.event`, which alone decides. So a case not thought of here costs time and never a wrong answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.batches.arrow_types import ArrowType, Verdict, numbers_of
from tamis.model import (
    Boolean,
    Domain,
    Enumerated,
    Finite,
    Hierarchical,
    Integer,
    Kind,
    Number,
    String,
    Timestamp,
    Untyped,
)
from tamis.model.finite import EventTypes

__all__ = ["CHECKS", "Between", "Check", "OneOf", "Plain", "Text", "column_fits", "plain_check"]


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

    column: Callable[[Any, ArrowType, pa.Array], Verdict]
    """Of the domain, what is known of the column's type, and the column: which of its sound values fit."""
    plain: Mapping[type, Callable[[Any], Plain]]
    """Python's types whose values are easily judged, each with what fits."""


_LARGE = 2**62
"""Whole numbers beyond it may be too long, and are looked at with more care."""


def _of_kind(domain: Domain, of: ArrowType, column: pa.Array) -> Verdict:
    return domain.kind is None or domain.kind is of.kind


def _in_range(domain: Integer, of: ArrowType, column: pa.Array) -> Verdict:
    if not of.whole:
        return False
    if domain.min is None and domain.max is None:
        return True
    numbers = numbers_of(column)
    low, high = int(numbers.min()), int(numbers.max())
    least, most = low if domain.min is None else domain.min, high if domain.max is None else domain.max
    if least <= low and high <= most:
        return True
    return (numbers >= max(least, low)) & (numbers <= min(most, high)) if least <= high and low <= most else False


def _among_names(domain: Finite, of: ArrowType, column: pa.Array) -> Verdict:
    if of.kind is not Kind.STRING:
        return False
    encoded = column.dictionary_encode()  # events repeat their values
    known = [name in domain.rank for name in encoded.dictionary.to_pylist()]
    return True if all(known) else np.array(known)[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]


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
    Timestamp: Check(_of_kind, {}),
    Untyped: Check(_of_kind, _NUMBERS | _TEXT),
    Enumerated: _NAMES,
    EventTypes: _NAMES,
    Hierarchical: _NAMES,
}


def column_fits(
    domain: Domain, of: ArrowType | None, column: pa.Array, *, validated: bool = False, text: bool = False
) -> Verdict:
    """Which entries are certainly values of the domain.

    Of values that were validated only what reading them needs is asked: their kind, that they are values, and that
    names are known ones. With `text` strings are known to be UTF-8.
    """
    if of is None:
        return False
    sound = True if text and of.kind is Kind.STRING else of.sound(column)
    if sound is False:
        return False
    check = _of_kind if validated and not isinstance(domain, Finite) else CHECKS[type(domain)].column
    fits = check(domain, of, column)
    return False if fits is False else sound & fits


def plain_check(domain: Domain, of: type) -> Plain | None:
    """Which values of one Python type certainly fit; None if that is not easily said."""
    check = CHECKS[type(domain)].plain.get(of)
    return check(domain) if check is not None else None
