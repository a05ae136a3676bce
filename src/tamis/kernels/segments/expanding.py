"""Units and what their shapes mean → the tests of every conjunction.

A shape stands for *ways*, any one of which is enough, and a way for *atoms*, all of which must hold: `(a = § or b < §)`
has two ways of one atom each. A text has a conjunction for each choice of a way per unit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel
from tamis.kernels.segments.lexing import NONE, REAL, STRING, Constants, Units

__all__ = ["MOST_CONJUNCTIONS", "Plans", "Tests", "count_tests", "drop_covered", "expand", "new_tests"]

MOST_CONJUNCTIONS = 32
"""Of one text; those of more are left to the parser."""
_MOST_TESTS = 4000

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


class Plans(NamedTuple):
    """Shape s has the ways from `way[s]` to `way[s + 1]`, none if it is left to the parser; a way w the atoms from
    `atom[w]` to `atom[w + 1]`."""

    way: Ints
    atom: Ints
    attribute: Ints
    operator: npt.NDArray[np.int8]
    hole: Ints  # which constant of the unit; -1 - p if it is the predicate p, which has none


class Tests(NamedTuple):
    """One attribute put to one test in one conjunction; those of one conjunction lie together."""

    conjunction: Ints
    attribute: Ints
    operator: npt.NDArray[np.int8]
    kind: npt.NDArray[np.int8]  # of the constant
    constant: Longs  # the first of its list; -1 - p as above


def new_tests(count: int) -> Tests:
    """Room for so many."""
    conjunction, attribute = np.empty(count, np.int32), np.empty(count, np.int32)
    operator, kind = np.empty(count, np.int8), np.empty(count, np.int8)
    return Tests(conjunction, attribute, operator, kind, np.empty(count, np.int64))


@kernel
def count_tests(units: Units, plans: Plans, odd: Mask, ways: Ints) -> int:
    """How many conjunctions each text has; the value is how many tests there are in all. Texts are odd that have a
    shape without a plan, or too many of either."""
    total = 0
    for row in range(len(odd)):
        ways[row] = 0
        if odd[row]:
            continue
        product = 1
        for unit in range(units.start[row], units.start[row + 1]):
            shape = units.shape[unit]
            product = min(product * (plans.way[shape + 1] - plans.way[shape]), MOST_CONJUNCTIONS + 1)
        tests = 0
        if 0 < product <= MOST_CONJUNCTIONS:
            for unit in range(units.start[row], units.start[row + 1]):
                first, last = plans.way[units.shape[unit]], plans.way[units.shape[unit] + 1]
                tests += (plans.atom[last] - plans.atom[first]) * (product // (last - first))
        if tests == 0 or tests > _MOST_TESTS:
            odd[row] = True
            continue
        ways[row] = product
        total += tests
    return total


@kernel
def expand(units: Units, plans: Plans, constants: Constants, ways: Ints, tests: Tests, places: Longs) -> None:
    """Write the tests of all texts. The first conjunction of a text has the text's number, further ones come after all
    texts in the order of these. `places` is scratch for the constants of one unit."""
    n, further = 0, len(ways)
    for row in range(len(ways)):
        for nth in range(ways[row]):
            conjunction = row
            if nth > 0:
                conjunction = further
                further += 1
            rest = nth
            for unit in range(units.start[row], units.start[row + 1]):
                first = plans.way[units.shape[unit]]
                count = plans.way[units.shape[unit] + 1] - first
                way = first + rest % count
                rest //= count
                holes, at = 0, units.constant[unit]
                while at < units.constant[unit + 1]:
                    places[holes] = at
                    holes += 1
                    at += constants.members[at]
                for atom in range(plans.atom[way], plans.atom[way + 1]):
                    hole = plans.hole[atom]
                    tests.conjunction[n], tests.attribute[n] = conjunction, plans.attribute[atom]
                    tests.operator[n] = plans.operator[atom]
                    tests.constant[n], tests.kind[n] = hole, NONE
                    if hole >= 0:
                        tests.constant[n], tests.kind[n] = places[hole], constants.kind[places[hole]]
                    n += 1


@kernel
def _equal(text: Bytes, constants: Constants, a: int, b: int) -> bool:
    """Whether two tests have the same constants, beyond doubt."""
    if a == b or a < 0 or b < 0:
        return a == b
    if constants.members[a] != constants.members[b]:
        return False
    for i in range(constants.members[a]):
        one, other = a + i, b + i
        kind = constants.kind[one]
        if kind != constants.kind[other]:
            return False
        if kind != STRING and kind != REAL:
            if constants.value[one] != constants.value[other]:
                return False
            continue
        if constants.length[one] != constants.length[other]:
            return False
        for j in range(constants.length[one]):
            if text[constants.start[one] + j] != text[constants.start[other] + j]:
                return False
    return True


@kernel
def _covers(text: Bytes, constants: Constants, tests: Tests, role: Ints, starts: Longs, a: int, b: int) -> bool:
    """Whether all tests of one conjunction are among those of another."""
    for one in range(starts[a], starts[a + 1]):
        found = role[one] < 0
        for other in range(starts[b], starts[b + 1]):
            if found:
                break
            found = (
                role[other] >= 0
                and tests.attribute[one] == tests.attribute[other]
                and tests.operator[one] == tests.operator[other]
                and _equal(text, constants, tests.constant[one], tests.constant[other])
            )
        if not found:
            return False
    return True


@kernel
def drop_covered(
    text: Bytes, constants: Constants, tests: Tests, role: Ints, ways: Ints, starts: Longs, dead: Mask
) -> None:
    """Mark the conjunctions as dead that say what another one of their text says, and more.

    Tests of a negative `role` go without saying. `starts` says where the tests of each conjunction begin, in the order
    in which they were written.
    """
    written, further = 0, len(ways)
    for row in range(len(ways)):
        count = ways[row]
        for b in range(count if count > 1 else 0):
            number = row if b == 0 else further + b - 1
            for a in range(count):
                other = row if a == 0 else further + a - 1
                if (
                    a != b
                    and not dead[other]
                    and _covers(text, constants, tests, role, starts, written + a, written + b)
                ):
                    dead[number] = True
                    break
        written += count
        further += max(count - 1, 0)
