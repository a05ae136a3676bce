"""Codes → cells: the codes of a column that some value has, numbered without gaps, so that equal sets look equal.

A segment's codes have a place between any two constants (`segments.compile.codes`). Where no value lies between them,
as between the integers 5 and 6, `> 5` and `>= 6` differ in codes and admit the same; in cells they are one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.model import Domain, Integer, Kind, Schema
from tamis.model.values import FIRST_INSTANT, LAST_INSTANT
from tamis.segments.compile.codes import AttributeCodes, Dictionary
from tamis.segments.compile.coding import Columns

__all__ = ["Cells"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


class Cells:
    """The cells of all columns of a reading."""

    def __init__(self, columns: Columns, schema: Schema) -> None:
        filled = [_filled(codes, schema.domain(name)) for name, codes in columns.attributes.items()]
        filled += [np.ones(truth.last + 1, np.bool_) for truth in columns.truths]
        self._before = np.concatenate([np.r_[0, np.cumsum(one)] for one in filled]) if filled else np.zeros(0, np.int64)
        """Of each code, and past the last: how many cells come before it."""
        sizes = [len(one) + 1 for one in filled]
        self._offsets = np.cumsum([0, *sizes])[:-1]
        self.counts = np.array([int(one.sum()) for one in filled], np.int64)
        """Cells of each column."""

    def intervals(self, column: Longs, low: Ints, high: Ints) -> tuple[Longs, Longs]:
        """First and last cell of intervals of codes; the last lies before the first where no value is inside."""
        offsets = self._offsets[column]
        return self._before[offsets + low], self._before[offsets + high + 1] - 1


def _filled(codes: AttributeCodes, domain: Domain | None) -> Mask:
    """Which codes of an attribute some value has."""
    assert domain is not None, "the parser lets only known attributes through"
    found = np.ones(codes.last + 1, np.bool_)
    if codes.names is not None:
        return found
    for kind in set(Kind) - {Kind.RECORD}:
        dictionary, base = codes.dictionaries.get(kind), codes.base[kind]
        size = 0 if dictionary is None else len(dictionary)
        if domain.kind not in (None, kind):
            found[base : base + 2 * size + 1] = False
        elif dictionary is not None and size:
            found[base : base + 2 * size + 1 : 2] = _gaps(dictionary, kind, domain)
    if domain.kind in (None, Kind.RECORD):
        found[codes.base[Kind.RECORD]] = True  # where no boolean is
    return found


def _gaps(dictionary: Dictionary, kind: Kind, domain: Domain) -> Mask:
    """Whether there is a value before the first constant, between each two, and after the last."""
    first, last = dictionary.listed[0], dictionary.listed[len(dictionary) - 1]
    if kind is Kind.STRING:
        return np.array([first != "", *_strings_between(dictionary.listed), True])
    if kind is Kind.NUMBER and not isinstance(domain, Integer):
        return np.r_[True, _numbers_between(dictionary.constants), True]
    least, most = _ends(kind, domain)
    constants = dictionary.constants
    between = np.array([after - one > 1 for one, after in pairwise(constants.tolist())], np.bool_)
    return np.r_[least is None or least < first, between, most is None or last < most]


def _ends(kind: Kind, domain: Domain) -> tuple[int | None, int | None]:
    """The least and the greatest value, where values can be counted."""
    if kind is Kind.TIMESTAMP:
        return FIRST_INSTANT, LAST_INSTANT
    if kind is Kind.BOOLEAN:
        return 0, 1
    assert isinstance(domain, Integer)
    return domain.min, domain.max


def _strings_between(constants: Sequence[str]) -> list[bool]:
    """Nothing comes between a string and the same with the least character behind it."""
    return [not after.endswith("\0") or after[:-1] != one for one, after in pairwise(constants)]


def _numbers_between(constants: Any) -> Mask:
    """Whether a whole number or a double lies between each two numbers."""
    if constants.dtype == object:
        return np.array([_number_between(one, after) for one, after in pairwise(constants.tolist())], np.bool_)
    reals = constants.astype(np.float64)
    apart = np.nextafter(reals[:-1], np.inf) < reals[1:]  # whole numbers past 2**53 may have become one double
    close = np.nonzero(~apart)[0]
    apart[close] = [_number_between(constants[at].item(), constants[at + 1].item()) for at in close.tolist()]
    return apart


def _number_between(one: float, after: float) -> bool:
    if math.floor(one) + 1 < after:
        return True
    return abs(one) < 2**1023 and one < math.nextafter(float(one), math.inf) < after
