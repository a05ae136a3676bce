"""Suffixes of one attribute: merge what is asked of how its text ends.

name ends with 'b' and name ends with 'ab'          →  name ends with 'ab'
name ends with 'ab' and not name ends with 'b'      →  never
name ends with 'ab' and not name ends with 'c'      →  name ends with 'ab'
name ends with ''                                   →  name >= ''           any text at all
"""

from __future__ import annotations

from typing import NamedTuple

from tamis.language.intervals import NEVER
from tamis.model import Operator, Predicate
from tamis.model.values import string

__all__ = ["Suffixes", "simplify_suffixes"]


class Suffixes(NamedTuple):
    """The fewest tests of suffixes, and what comes to a bound on the order of strings."""

    left: list[Predicate]
    as_bounds: list[Predicate]


def simplify_suffixes(attribute: str, tests: list[Predicate]) -> Suffixes | None:
    """What `ends with` and `not ends with` say together of the one bound value."""
    wanted = {str(test.constants[0].data) for test in tests if test.operator is Operator.ENDS}
    gone = {str(test.constants[0].data) for test in tests if test.operator is Operator.NOT_ENDS}
    longest = max(wanted, key=len, default="")
    if not all(map(longest.endswith, wanted)) or any(map(longest.endswith, gone)):
        return NEVER
    gone = {one for one in gone if one.endswith(longest)}
    widest = sorted(one for one in gone if not any(other != one and one.endswith(other) for other in gone))
    left = [Predicate(attribute, Operator.ENDS, string(longest))] if longest else []
    left += [Predicate(attribute, Operator.NOT_ENDS, string(one)) for one in widest]
    return Suffixes(left, [] if left else [Predicate(attribute, Operator.GE, string(""))])
