"""What the tests of one text have to do with each other: bounds that pair up, members of a list, one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, inlined, kernel
from tamis.kernels.segments.lexing import CONTAINS, GE, GT, LE, LT, MISSING, Tests

__all__ = ["group_tests", "pair_up"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


@inlined
def _is_lower(operator: int) -> bool:
    return operator == GT or operator == GE


@inlined
def _is_upper(operator: int) -> bool:
    return operator == LT or operator == LE


@allocating
def pair_up(tests: Tests, names: int, most: int, role: Ints, partner: Ints, odd: npt.NDArray[np.bool_]) -> None:
    """Texts are odd that test an attribute twice, but for the members of an `in` (up to `most`), a lower with an upper
    bound, and `contains`.

    `role` numbers the `contains` of one attribute in a text from 1, and is 0 for the others; `partner` is the record of
    the other bound, or -1.
    """
    last, contained = np.full(names, -1, np.int32), np.full(names, -1, np.int32)
    members = 0
    for n in range(len(tests.row)):
        row, attribute, operator = tests.row[n], tests.attribute[n], tests.operator[n]
        other, held = last[attribute], contained[attribute]
        if other >= 0 and tests.row[other] != row:
            other = -1
        if held >= 0 and tests.row[held] != row:
            held = -1
        role[n], partner[n] = 0, -1
        if operator == CONTAINS:
            role[n] = role[held] + 1 if held >= 0 else 1
            contained[attribute] = n
            if other >= 0 and tests.operator[other] == MISSING:
                odd[row] = True
            continue
        last[attribute] = n
        members = members + 1 if tests.listed[n] else 1
        alike = other >= 0 and tests.constant_class[other] == tests.constant_class[n]
        if members > most or (operator == MISSING and held >= 0) or (tests.listed[n] and not alike):
            odd[row] = True
        if other < 0 or tests.listed[n]:
            continue
        before = tests.operator[other]
        opposite = (_is_lower(before) and _is_upper(operator)) or (_is_upper(before) and _is_lower(operator))
        if opposite and alike and partner[other] < 0:
            partner[n], partner[other] = other, n
        else:
            odd[row] = True


@kernel
def group_tests(tests: Tests, role: Ints, partner: Ints, odd: npt.NDArray[np.bool_], keys: Longs) -> None:
    """A number that is equal for records of one attribute, operator, class of constants, role and partner's operator.

    -1 for records of odd texts, and for upper bounds whose partner speaks for them.
    """
    for n in range(len(tests.row)):
        operator: Any = np.int64(tests.operator[n])
        if odd[tests.row[n]] or (partner[n] >= 0 and _is_upper(operator)):
            keys[n] = -1
            continue
        other = np.int64(tests.operator[partner[n]]) + 1 if partner[n] >= 0 else np.int64(0)
        kind = (operator * 16 + other) * 8 + np.int64(tests.constant_class[n])
        keys[n] = (np.int64(tests.attribute[n]) << 31) ^ (np.int64(role[n]) << 11) ^ kind
