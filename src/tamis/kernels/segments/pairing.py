"""What the tests of one conjunction on one attribute have to do with each other.

    x > 1 and x >= 3 and x < 9      the tighter bound stays, and has the other side's for a partner
    x != 1 and x not in (2, 3)      both stay, and are one set together; so do several `not contains`
    x contains 1 and x contains 2   both stay, and are numbered
    x is present and x = 1          presence goes without saying
    x is missing and x = 1          the conjunction is dead

Any other two tests of one attribute make their text odd.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel
from tamis.kernels.segments.expanding import Tests
from tamis.kernels.segments.lexing import INSTANT, INTEGER, NONE, REAL, STRING, Constants

__all__ = ["MOST_OPERATORS", "OPERATORS", "Roles", "Seen", "group_tests", "new_roles", "new_seen", "pair_up"]

OPERATORS = (
    *("in", "not in", "<", "<=", ">", ">=", "not <", "not <=", "not >", "not >="),
    *("starts with", "not starts with", "contains", "not contains"),
    *("is present", "is missing"),
)
"""Codes of operators are positions in this tuple; `=` is an `in` of one. Behind them come a link of two attributes,
a comparison whose constants are part of the shape, an `at least`, and from `OTHERS` on operators of which nothing need
be known here but that they go with no other test of their attribute."""
IN, NOT_IN, LT, LE, GT, GE, NOT_LT, NOT_LE, NOT_GT, NOT_GE = range(10)
STARTS, NOT_STARTS, CONTAINS, LACKS, PRESENT, MISSING, LINK, FIXED, COUNT, OTHERS = range(10, 20)
MOST_OPERATORS = 64

_EXACT = 1 << 53

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


class Roles(NamedTuple):
    """What each test is in its conjunction."""

    role: Ints  # the k-th `contains` of its attribute has k, the others 0, and -1 goes without saying
    partner: Longs  # the test that bounds the other side, or -1


class Seen(NamedTuple):
    """Per attribute, the last conjunction that names it, and the tests it has there, -1 for none."""

    conjunction: Ints
    lower: Longs
    upper: Longs
    other: Longs  # a test of the one value that is no bound
    contains: Longs
    lacks: Longs
    presence: Longs
    linked: Ints


def new_roles(count: int) -> Roles:
    """Room for so many tests."""
    return Roles(np.empty(count, np.int32), np.empty(count, np.int64))


def new_seen(names: int) -> Seen:
    """For so many attributes, of which none has been seen."""
    lower, upper, other, contains, lacks, presence = (np.full(names, -1, np.int64) for _ in range(6))
    conjunction, linked = (np.full(names, -1, np.int32) for _ in range(2))
    return Seen(conjunction, lower, upper, other, contains, lacks, presence, linked)


@inlined
def _is_lower(operator: int) -> bool:
    return operator == GT or operator == GE


@inlined
def _is_upper(operator: int) -> bool:
    return operator == LT or operator == LE


@kernel
def _order(text: Bytes, constants: Constants, reals: npt.NDArray[np.float64], a: int, b: int) -> int:
    """-1, 0 or 1 as one constant is less than, equal to or greater than another; 2 where that is in doubt."""
    one, other = constants.kind[a], constants.kind[b]
    if one == other and (one == INTEGER or one == INSTANT):
        x, y = constants.value[a], constants.value[b]
        return -1 if x < y else 1 if x > y else 0
    if (one == INTEGER or one == REAL) and (other == INTEGER or other == REAL):
        if abs(constants.value[a]) >= _EXACT or abs(constants.value[b]) >= _EXACT:
            return 2
        u = np.float64(constants.value[a]) if one == INTEGER else reals[a]
        v = np.float64(constants.value[b]) if other == INTEGER else reals[b]
        return -1 if u < v else 1 if u > v else 0
    if one == STRING and other == STRING:
        if constants.escaped[a] or constants.escaped[b]:
            return 2
        length = min(constants.length[a], constants.length[b])
        for i in range(length):
            c, d = text[constants.start[a] + i], text[constants.start[b] + i]
            if c != d:
                return -1 if c < d else 1
        longer = constants.length[a] - constants.length[b]
        return -1 if longer < 0 else 1 if longer > 0 else 0
    return 2


@kernel
def _kin(one: int, other: int) -> bool:
    """Whether two kinds of constants are one kind of values."""
    return one == other or ((one == INTEGER or one == REAL) and (other == INTEGER or other == REAL))


@inlined
def _add_bound(
    text: Bytes, constants: Constants, reals: npt.NDArray[np.float64], tests: Tests, roles: Roles, held: Longs, n: int
) -> bool:
    """One more bound on a side; of two the tighter stays. False where that is in doubt."""
    attribute = tests.attribute[n]
    before = held[attribute]
    if before < 0:
        held[attribute] = n
        return True
    order = _order(text, constants, reals, tests.constant[n], tests.constant[before])
    if order == 2:
        return False
    if _is_upper(tests.operator[n]):
        order = -order
    strict = tests.operator[n] == GT or tests.operator[n] == LT
    if order > 0 or (order == 0 and strict):
        roles.role[before] = -1
        held[attribute] = n
    else:
        roles.role[n] = -1
    return True


@inlined
def _forget(seen: Seen, attribute: int, conjunction: int) -> None:
    seen.conjunction[attribute] = conjunction
    seen.lower[attribute] = seen.upper[attribute] = seen.other[attribute] = -1
    seen.contains[attribute] = seen.lacks[attribute] = seen.presence[attribute] = -1


@inlined
def _add(
    text: Bytes, constants: Constants, reals: npt.NDArray[np.float64], tests: Tests, roles: Roles, seen: Seen,
    named: Mask, n: int, dead: Mask
) -> bool:  # fmt: skip
    """One more test of a conjunction; False if it does not go together with those before."""
    conjunction, attribute, operator = tests.conjunction[n], tests.attribute[n], tests.operator[n]
    fresh = seen.conjunction[attribute] != conjunction
    if fresh:
        _forget(seen, attribute, conjunction)
    before = seen.presence[attribute]
    missing = before >= 0 and tests.operator[before] == MISSING
    linked = seen.linked[attribute] == conjunction
    if operator == MISSING:
        if not missing and (not fresh or linked):
            dead[conjunction] = True
        seen.presence[attribute] = n
        return True
    if missing:
        dead[conjunction] = True
        return True
    if operator == PRESENT:
        roles.role[n] = 0 if fresh and not linked else -1
        if before < 0:
            seen.presence[attribute] = n
        return True
    if before >= 0:
        roles.role[before] = -1
    if operator == CONTAINS:
        other = seen.contains[attribute]
        roles.role[n] = roles.role[other] + 1 if other >= 0 else 1
        seen.contains[attribute] = n
        return seen.lacks[attribute] < 0
    if operator == LACKS:
        other = seen.lacks[attribute]
        seen.lacks[attribute] = n
        alone = seen.contains[attribute] < 0 and seen.other[attribute] < 0
        alone = alone and seen.lower[attribute] < 0 and seen.upper[attribute] < 0
        return alone and (other < 0 or tests.kind[other] == tests.kind[n])
    if seen.lacks[attribute] >= 0:  # what is left of the one value may be just what the set must lack
        return False
    other = seen.other[attribute]
    if (_is_lower(operator) or _is_upper(operator)) and not named[attribute]:
        held = seen.lower if _is_lower(operator) else seen.upper
        return other < 0 and _add_bound(text, constants, reals, tests, roles, held, n)
    seen.other[attribute] = n
    if seen.lower[attribute] >= 0 or seen.upper[attribute] >= 0:
        return False
    if other < 0:
        return True
    return operator == NOT_IN and tests.operator[other] == NOT_IN and tests.kind[other] == tests.kind[n]


@inlined
def _add_link(tests: Tests, links: Ints, seen: Seen, roles: Roles, n: int, dead: Mask) -> bool:
    """A link between two attributes. False if the conjunction has another of the same two, or two others: three may
    form a ring, which the parser looks at."""
    conjunction, number, others = tests.conjunction[n], -1 - tests.constant[n], 0
    for before in range(n - 1, -1, -1):
        if tests.conjunction[before] != conjunction:
            break
        if tests.operator[before] == LINK:
            other, others = -1 - tests.constant[before], others + 1
            if links[2 * other] == links[2 * number] and links[2 * other + 1] == links[2 * number + 1]:
                return False
    if others > 1:
        return False
    for side in range(2):
        attribute = links[2 * number + side]
        seen.linked[attribute] = conjunction
        if seen.conjunction[attribute] == conjunction and seen.presence[attribute] >= 0:
            present = seen.presence[attribute]
            roles.role[present] = -1
            if tests.operator[present] == MISSING:
                dead[conjunction] = True
    return True


@kernel
def pair_up(
    text: Bytes, constants: Constants, reals: npt.NDArray[np.float64], tests: Tests, links: Ints, named: Mask,
    owner: Longs, seen: Seen, roles: Roles, odd: Mask, dead: Mask
) -> None:  # fmt: skip
    """Find the role and the partner of every test. `reals` has the numbers that are no INTEGER, `links` the two
    attributes of each predicate that is a link; `named` attributes have names for values, whose bounds are no interval;
    `owner` is the text of each conjunction, and `seen` new."""
    for n in range(len(tests.conjunction)):
        roles.role[n], roles.partner[n] = 0, -1
    for n in range(len(tests.conjunction)):
        if tests.operator[n] == LINK:
            fits = _add_link(tests, links, seen, roles, n, dead)
        else:
            known = tests.kind[n] != NONE or tests.constant[n] < 0
            fits = known and _add(text, constants, reals, tests, roles, seen, named, n, dead)
        if not fits:
            odd[owner[tests.conjunction[n]]] = True
        attribute = tests.attribute[n]
        if tests.operator[n] != LINK and seen.lower[attribute] >= 0 and seen.upper[attribute] >= 0:
            low, high = seen.lower[attribute], seen.upper[attribute]
            if tests.conjunction[low] == tests.conjunction[n]:
                roles.partner[low], roles.partner[high] = high, low
                if not _kin(tests.kind[low], tests.kind[high]):
                    odd[owner[tests.conjunction[n]]] = True


@kernel
def group_tests(tests: Tests, roles: Roles, owner: Longs, odd: Mask, keys: Longs) -> None:
    """A number that is equal for tests of one attribute, operator, kind of constants, role and partner's operator and
    kind, or of one predicate.

    -1 for tests of odd texts, those that go without saying, and upper bounds whose partner speaks for them.
    """
    for n in range(len(tests.conjunction)):
        operator: Any = np.int64(tests.operator[n])
        partner = roles.partner[n]
        if odd[owner[tests.conjunction[n]]] or roles.role[n] < 0 or (partner >= 0 and _is_upper(operator)):
            keys[n] = -1
            continue
        other: Any = np.int64(0)
        if partner >= 0:
            other = np.int64(tests.operator[partner] - LT + 1) * 8 + np.int64(tests.kind[partner])
        elif operator == LINK or operator == FIXED:
            other = -np.int64(tests.constant[n])
        kind = (other * MOST_OPERATORS + operator) * 8 + np.int64(tests.kind[n])
        keys[n] = (kind * 4096 + np.int64(roles.role[n])) * (1 << 20) + np.int64(tests.attribute[n])
