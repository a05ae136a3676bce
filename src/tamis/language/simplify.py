"""One constraint per attribute: merge its comparisons, find what can never hold, drop what adds nothing.

Each function takes the comparisons of one attribute and returns the fewest predicates that say the same of the
one bound value: `NEVER` if no value passes, an empty list if every value of the domain does. Values with a total
order are the matter of `intervals`; named values and booleans, which are sets, stand here.

    period in (XVI, XVII) and period != XVI         →  period = XVII
    category <= table and category <= furniture     →  category <= table
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tamis.language.intervals import HOLES, NEVER, POINTS, one_of, simplify_interval, without
from tamis.model import COMPLEMENT, Domain, Finite, Kind, Operator, Predicate, Value

__all__ = ["NEVER", "admitted_names", "simplify_comparisons"]

_O = Operator
_BELOW = (_O.LT, _O.LE)
_NOT = (_O.NOT_LT, _O.NOT_LE, _O.NOT_GT, _O.NOT_GE)

_FEW = 64
"""Up to so many names a merged constraint is written out as `in (…)`."""

_COMPARED = 32
"""Past so many order tests on one attribute nobody looks for those that the others imply: it takes their square."""

_MORE = 1 << 40
"""How many names a growing domain may still get: more than any it has."""


def simplify_comparisons(attribute: str, domain: Domain, tests: list[Predicate]) -> list[Predicate] | None:
    """The shortest list of comparisons with constants that admits the same values."""
    if len(tests) == 1 and tests[0].operator is _O.EQ:
        return tests
    kind = tests[0].constants[0].kind
    if any(test.constants[0].kind is not kind for test in tests):
        return NEVER
    if isinstance(domain, Finite):
        return _simplify_names(attribute, domain, tests)
    if kind is Kind.BOOLEAN:
        return _simplify_booleans(attribute, domain, tests)
    return simplify_interval(attribute, domain, tests)


def _simplify_booleans(attribute: str, domain: Domain, tests: list[Predicate]) -> list[Predicate] | None:
    admitted = _meet(_listed(test) for test in tests)
    left = [Value(Kind.BOOLEAN, truth) for truth in (False, True) if admitted.has(truth)]
    if not left:
        return NEVER
    if len(left) == 2 and domain.kind is Kind.BOOLEAN:  # elsewhere it still says: a boolean, nothing else
        return []
    return [one_of(attribute, left)]


class _Set(NamedTuple):
    """A set of values told by what is inside or by what is outside: a large hierarchy is never written out."""

    inside: bool
    listed: frozenset[object]

    def has(self, data: object) -> bool:
        return (data in self.listed) is self.inside

    def size(self, domain: Finite) -> int:
        return len(self.listed) if self.inside else _size(domain) - len(self.listed)


def _size(domain: Finite) -> int:
    return len(domain.names) + (_MORE if domain.grows else 0)


def _meet(sets: Iterable[_Set]) -> _Set:
    inner: list[frozenset[object]] = []
    outer: list[frozenset[object]] = []
    for one in sets:
        (inner if one.inside else outer).append(one.listed)
    if not inner:
        return _Set(False, frozenset[object]().union(*outer))
    least = min(inner, key=len)
    return _Set(True, least.intersection(*inner).difference(*outer))


def _listed(test: Predicate) -> _Set:
    return _Set(test.operator in POINTS, frozenset(value.data for value in test.constants))


def _admitted(domain: Finite, test: Predicate) -> _Set:
    """The names that pass one test."""
    if test.operator in POINTS + HOLES:
        return _listed(test)
    inside = test.operator not in _NOT
    operator = test.operator if inside else COMPLEMENT[test.operator]
    name = str(test.constants[0].data)
    names = domain.order.below(name) if operator in _BELOW else domain.order.above(name)
    return _Set(inside, names | {name} if operator in (_O.LE, _O.GE) else names)


def admitted_names(domain: Finite, tests: Iterable[Predicate]) -> tuple[bool, frozenset[object]]:
    """The names that pass all tests: those listed, or (False) all but those listed."""
    return _meet(_admitted(domain, test) for test in tests)


def _simplify_names(attribute: str, domain: Finite, tests: list[Predicate]) -> list[Predicate] | None:
    admitted = {test: _admitted(domain, test) for test in tests}
    left = _meet(admitted.values())
    size = left.size(domain)
    if size == 0:
        return NEVER
    if size == _size(domain):
        return []
    for test, names in admitted.items():
        if size > 1 and isinstance(test.operand, Value) and names.size(domain) == size:
            return [test]  # `left` lies within it and is as large
    if size <= _FEW or any(test.operator in POINTS for test in tests):
        return [one_of(attribute, _in_order(domain, left))]
    return _needed(attribute, domain, admitted)


def _in_order(domain: Finite, names: _Set) -> list[Value]:
    if names.inside:
        chosen = sorted((str(name) for name in names.listed), key=domain.rank.__getitem__)
    else:
        chosen = [name for name in domain.names if name not in names.listed]
    return [Value(Kind.STRING, name) for name in chosen]


def _needed(attribute: str, domain: Finite, admitted: dict[Predicate, _Set]) -> list[Predicate]:
    """Many names are left, of a large domain: the order tests that others do not imply, and the holes inside them."""
    holes = _meet(names for test, names in admitted.items() if test.operator in HOLES)
    kept = {test: names for test, names in admitted.items() if test.operator not in HOLES}
    size = _meet([holes, *kept.values()]).size(domain)
    for test in list(kept)[::-1] if len(kept) <= _COMPARED else ():
        others = [names for other, names in kept.items() if other != test]
        if _meet([holes, *others]).size(domain) == size:
            del kept[test]
    around = _meet(kept.values())
    inner = _Set(True, frozenset(name for name in holes.listed if around.has(name)))
    return [*kept, *without(attribute, _in_order(domain, inner))]
