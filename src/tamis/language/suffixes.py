"""Suffixes of one attribute: merge what is asked of how its text ends.

name ends with 'b' and name ends with 'ab'          →  name ends with 'ab'
name ends with 'ab' and not name ends with 'b'      →  never
name ends with 'ab' and not name ends with 'c'      →  name ends with 'ab'
name ends with ''                                   →  name >= ''           any text at all
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from tamis.language.intervals import NEVER, widest
from tamis.model import OPERATORS, Operator, Predicate
from tamis.model.operators import Shape
from tamis.model.values import string

__all__ = ["Suffixes", "simplify_suffixes"]


class Suffixes(NamedTuple):
    """The fewest tests of suffixes, and what comes to a bound on the order of strings."""

    left: list[Predicate]
    as_bounds: list[Predicate]


def simplify_suffixes(attribute: str, tests: list[Predicate]) -> Suffixes | None:
    """What `ends with` and `not ends with` say together of the one bound value."""
    wanted = {_suffix(test) for test in tests if not OPERATORS[test.operator].negated}
    gone = {_suffix(test) for test in tests if OPERATORS[test.operator].negated}
    longest = max(wanted, key=len, default="")
    if not all(map(longest.endswith, wanted)) or any(map(longest.endswith, gone)):
        return NEVER
    outermost = sorted(one[::-1] for one in widest({one[::-1] for one in gone if one.endswith(longest)}))
    left = [Predicate(attribute, Operator.ENDS, string(longest))] if longest else []
    left += [Predicate(attribute, Operator.NOT_ENDS, string(one)) for one in outermost]
    return Suffixes(left, [] if left else [Predicate(attribute, Operator.GE, string(""))])


def _suffix(test: Predicate) -> str:
    shape = OPERATORS[test.operator].shape
    match shape:
        case Shape.SUFFIX:
            return str(test.constants[0].data)
        case Shape.POINTS | Shape.BELOW | Shape.UP_TO | Shape.ABOVE | Shape.FROM | Shape.PREFIX | Shape.PRESENCE:
            raise AssertionError(f"{test.operator.value!r} is no truth")
        case never:
            assert_never(never)
