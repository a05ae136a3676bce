"""One constraint per attribute: merge its comparisons, find what can never hold, drop what adds nothing.

Each function takes the comparisons of one attribute and returns the fewest predicates that say the same of the
one bound value: `NEVER` if no value passes, an empty list if every value of the domain does. Values with a total
order are the matter of `intervals`; named values and booleans, which are sets, stand here.

    period in (XVI, XVII) and period != XVI         →  period = XVII
    category <= table and category <= furniture     →  category <= table
"""

from __future__ import annotations

from collections.abc import Iterable

from tamis.language.intervals import NEVER, is_hole, is_point, one_of, simplify_interval, without
from tamis.language.texts import simplify_texts
from tamis.model import Domain, Finite, Kind, Operator, Predicate, Value, compare
from tamis.model.regions import Names, has_truth, names_of

__all__ = ["NEVER", "admitted_names", "simplify_comparisons"]

_O = Operator

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
    if any(map(has_truth, tests)):
        return _simplify_with_truths(attribute, domain, tests)
    return simplify_interval(attribute, domain, tests)


def _simplify_with_truths(attribute: str, domain: Domain, tests: list[Predicate]) -> list[Predicate] | None:
    """Tests that no interval tells are merged among themselves, and decide which of listed values are left."""
    truths = simplify_texts(attribute, [test for test in tests if has_truth(test)])
    others = [test for test in tests if not has_truth(test)]
    if truths is NEVER:
        return NEVER
    bounds = others + truths.as_bounds
    merged = simplify_interval(attribute, domain, bounds) if bounds else []
    if merged is NEVER:
        return NEVER
    if not any(map(is_point, merged)):
        some_text = Predicate(attribute, _O.GE, Value(Kind.STRING, ""))  # which the others say already
        return [test for test in merged if test != some_text or not truths.left] + truths.left
    (points,) = merged
    left = [value for value in points.constants if all(_holds(domain, test, value) for test in truths.left)]
    return [one_of(attribute, left)] if left else NEVER


def _holds(domain: Domain, test: Predicate, value: Value) -> bool:
    return compare(domain, test.operator, value, test.constants)


def _simplify_booleans(attribute: str, domain: Domain, tests: list[Predicate]) -> list[Predicate] | None:
    admitted = _meet(Names(is_point(test), frozenset(value.data for value in test.constants)) for test in tests)
    left = [Value(Kind.BOOLEAN, truth) for truth in (False, True) if admitted.has(truth)]
    if not left:
        return NEVER
    if len(left) == 2 and domain.kind is Kind.BOOLEAN:  # elsewhere it still says: a boolean, nothing else
        return []
    return [one_of(attribute, left)]


def _count(domain: Finite, names: Names) -> int:
    return len(names.listed) if names.inside else _size(domain) - len(names.listed)


def _size(domain: Finite) -> int:
    return len(domain.names) + (_MORE if domain.grows else 0)


def _meet(sets: Iterable[Names]) -> Names:
    inner: list[frozenset[object]] = []
    outer: list[frozenset[object]] = []
    for one in sets:
        (inner if one.inside else outer).append(one.listed)
    if not inner:
        return Names(False, frozenset[object]().union(*outer))
    least = min(inner, key=len)
    return Names(True, least.intersection(*inner).difference(*outer))


def admitted_names(domain: Finite, tests: Iterable[Predicate]) -> Names:
    """The names that pass all tests."""
    return _meet(names_of(domain, test) for test in tests)


def _simplify_names(attribute: str, domain: Finite, tests: list[Predicate]) -> list[Predicate] | None:
    admitted = {test: names_of(domain, test) for test in tests}
    left = _meet(admitted.values())
    size = _count(domain, left)
    if size == 0:
        return NEVER
    if size == _size(domain):
        return []
    for test, names in admitted.items():
        if size > 1 and isinstance(test.operand, Value) and _count(domain, names) == size:
            return [test]  # `left` lies within it and is as large
    if size <= _FEW or any(is_point(test) for test in tests):
        return [one_of(attribute, _in_order(domain, left))]
    return _needed(attribute, domain, admitted)


def _in_order(domain: Finite, names: Names) -> list[Value]:
    if names.inside:
        chosen = sorted((str(name) for name in names.listed), key=domain.rank.__getitem__)
    else:
        chosen = [name for name in domain.names if name not in names.listed]
    return [Value(Kind.STRING, name) for name in chosen]


def _needed(attribute: str, domain: Finite, admitted: dict[Predicate, Names]) -> list[Predicate]:
    """Many names are left, of a large domain: the order tests that others do not imply, and the holes inside them."""
    holes = _meet(names for test, names in admitted.items() if is_hole(test))
    kept = {test: names for test, names in admitted.items() if not is_hole(test)}
    size = _count(domain, _meet([holes, *kept.values()]))
    for test in list(kept)[::-1] if len(kept) <= _COMPARED else ():
        others = [names for other, names in kept.items() if other != test]
        if _count(domain, _meet([holes, *others])) == size:
            del kept[test]
    around = _meet(kept.values())
    inner = Names(True, frozenset(name for name in holes.listed if around.has(name)))
    return [*kept, *without(attribute, _in_order(domain, inner))]
