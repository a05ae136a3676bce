"""One constraint per attribute: merge the comparisons of a conjunction, find what can never hold, drop what adds nothing.

Each function takes the comparisons on one attribute and returns the fewest predicates that say the same of the
one bound value: `NEVER` if no value passes, an empty list if every value of the domain does.

    price < 10 and price < 20        →  price < 10
    price >= 5 and price != 5        →  price > 5
    quantity > 5 and quantity < 7    →  quantity = 6          (integers)
    name starts with 'a' and name starts with 'ab'  →  name starts with 'ab'
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from tamis.model import Boolean, Domain, Finite, Integer, Kind, Operator, Predicate, Value, compare
from tamis.model.values import boolean, string

__all__ = ["NEVER", "simplify_comparisons"]

_O = Operator
NEVER: Final = None
_FEW = 64
"""Up to so many names a merged constraint on a finite domain is written out as `in (…)`."""

_TOTAL = {_O.NOT_LT: _O.GE, _O.NOT_LE: _O.GT, _O.NOT_GT: _O.LE, _O.NOT_GE: _O.LT}
_LOW, _HIGH = (_O.GT, _O.GE), (_O.LT, _O.LE)


def simplify_comparisons(attribute: str, domain: Domain, tests: list[Predicate]) -> list[Predicate] | None:
    """The shortest list of comparisons with constants that admits the same values."""
    kinds = {_kind(test) for test in tests}
    if len(kinds) > 1:
        return NEVER
    kind = kinds.pop()
    if isinstance(domain, Finite):
        return _simplify_finite(attribute, domain, [string(name) for name in domain.names], tests)
    if kind is Kind.BOOLEAN:
        return _simplify_finite(attribute, Boolean(), [boolean(False), boolean(True)], tests)
    return _simplify_total(attribute, domain, [_as_total(test) for test in tests])


def _kind(test: Predicate) -> Kind:
    return _values(test)[0].kind


def _passes(domain: Domain, test: Predicate, value: Value) -> bool:
    operand = test.operand
    return compare(domain, test.operator, value, operand if isinstance(operand, Value) else _values(test))


def _as_total(test: Predicate) -> Predicate:
    return Predicate(test.attribute, _TOTAL.get(test.operator, test.operator), test.operand)


# -- finite domains: sets of names ------------------------------------------------------------------------------


def _simplify_finite(
    attribute: str, domain: Domain, names: list[Value], tests: list[Predicate]
) -> list[Predicate] | None:
    tests = list(dict.fromkeys(tests))
    if len(tests) == 1 and tests[0].operator is _O.EQ:
        return tests
    admitted = {test: _admitted(domain, names, test) for test in tests}
    left = set.intersection(*admitted.values())
    if not left:
        return NEVER
    if len(left) == len(names):
        return []
    for test, values in admitted.items():
        if len(values) == len(left) and len(values) > _FEW and not isinstance(test.operand, Value):
            return [Predicate(attribute, test.operator, _sorted(names, test.operand))]
        if len(values) == len(left) and len(left) > 1 and isinstance(test.operand, Value):
            return [test]
    if len(left) <= _FEW:
        return [_points(attribute, [name for name in names if name in left])]
    return _needed(admitted, left)


def _admitted(domain: Domain, names: list[Value], test: Predicate) -> set[Value]:
    return {name for name in names if _passes(domain, test, name)}


def _sorted(names: list[Value], chosen: object) -> tuple[Value, ...]:
    assert isinstance(chosen, tuple)
    wanted = set(chosen)
    return tuple(name for name in names if name in wanted)


def _needed(admitted: dict[Predicate, set[Value]], left: set[Value]) -> list[Predicate]:
    """Drop each test that the others imply, later ones first."""
    kept = dict(admitted)
    for test in list(admitted)[::-1]:
        others = [values for other, values in kept.items() if other is not test]
        if others and set.intersection(*others) == left:
            del kept[test]
    return list(kept)


def _points(attribute: str, values: list[Value]) -> Predicate:
    if len(values) == 1:
        return Predicate(attribute, _O.EQ, values[0])
    return Predicate(attribute, _O.IN, tuple(values))


# -- total orders: an interval, minus points and prefixes --------------------------------------------------------


class _Interval(NamedTuple):
    """The tightest bounds found, as the predicates that set them; None is unbounded."""

    low: Predicate | None
    high: Predicate | None


def _simplify_total(attribute: str, domain: Domain, tests: list[Predicate]) -> list[Predicate] | None:
    points = [test for test in tests if test.operator in (_O.EQ, _O.IN)]
    if points:
        return _simplify_points(attribute, domain, points, tests)
    holes = {value for test in tests if test.operator in (_O.NE, _O.NOT_IN) for value in _values(test)}
    prefixes = {_text(test) for test in tests if test.operator is _O.STARTS}
    cut = {_text(test) for test in tests if test.operator is _O.NOT_STARTS}
    bounds = [test for test in tests if test.operator in _LOW + _HIGH]
    prefix = max(prefixes, key=len, default=None)
    if prefix is not None and not all(prefix.startswith(other) for other in prefixes):
        return NEVER
    if prefix is not None:
        bounds += _range_of(attribute, prefix)
    interval = _tightest(bounds)
    if isinstance(domain, Integer) or (bounds and _kind(bounds[0]) is Kind.TIMESTAMP):
        return _simplify_whole(attribute, domain, interval, holes)
    closed = _close(attribute, interval, holes)
    if closed is NEVER:
        return NEVER
    found = _strings(attribute, closed, prefix, cut)
    if found is NEVER:
        return NEVER
    if len(found) == 1 and found[0].operator is _O.EQ:
        return _simplify_points(attribute, domain, found, [*tests, *found])
    rest = [hole for hole in holes if all(_passes(domain, test, hole) for test in found)]
    return found + _without(attribute, rest)


def _simplify_points(
    attribute: str, domain: Domain, points: list[Predicate], tests: list[Predicate]
) -> list[Predicate] | None:
    common = set.intersection(*(set(_values(test)) for test in points))
    left = [value for value in common if all(_passes(domain, test, value) for test in tests)]
    return [_points(attribute, sorted(left, key=lambda value: value.data))] if left else NEVER


def _values(test: Predicate) -> tuple[Value, ...]:
    operand = test.operand
    if isinstance(operand, Value):
        return (operand,)
    assert isinstance(operand, tuple)
    return tuple(value for value in operand if isinstance(value, Value))


def _text(test: Predicate) -> str:
    return str(_values(test)[0].data)


def _range_of(attribute: str, prefix: str) -> list[Predicate]:
    """The strings with this prefix lie between it and the least string past them."""
    bounds = [Predicate(attribute, _O.GE, string(prefix))]
    past = _past(prefix)
    return bounds if past is None else [*bounds, Predicate(attribute, _O.LT, string(past))]


def _past(prefix: str) -> str | None:
    while prefix and prefix[-1] == "\U0010ffff":
        prefix = prefix[:-1]
    if not prefix:
        return None
    last = ord(prefix[-1])
    return prefix[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)


def _tightest(bounds: Iterable[Predicate]) -> _Interval:
    low = high = None
    for test in bounds:
        data = _values(test)[0].data
        strict = test.operator in (_O.GT, _O.LT)
        if test.operator in _LOW and (low is None or (data, strict) > low[0]):
            low = ((data, strict), test)
        if test.operator in _HIGH and (high is None or (data, not strict) < high[0]):
            high = ((data, not strict), test)
    return _Interval(low[1] if low else None, high[1] if high else None)


def _close(attribute: str, interval: _Interval, holes: set[Value]) -> _Interval | None:
    """A bound that is itself excluded becomes strict; an interval without room is never."""
    low, high = interval
    if low and low.operator is _O.GE and _values(low)[0] in holes:
        low = Predicate(attribute, _O.GT, low.operand)
    if high and high.operator is _O.LE and _values(high)[0] in holes:
        high = Predicate(attribute, _O.LT, high.operand)
    if low and high:
        bottom, top = _values(low)[0].data, _values(high)[0].data
        closed = low.operator is _O.GE and high.operator is _O.LE
        if bottom > top or (bottom == top and not closed):  # type: ignore[operator]
            return NEVER
    return _Interval(low, high)


def _strings(attribute: str, interval: _Interval, prefix: str | None, cut: set[str]) -> list[Predicate] | None:
    """The interval as predicates, a prefix spelt as `starts with` and the prefixes cut out of it."""
    low, high = interval
    kept = [test for test in (low, high) if test is not None]
    if low and high and _values(low)[0] == _values(high)[0]:
        kept = [Predicate(attribute, _O.EQ, low.operand)]
    if prefix is not None:
        kept = [
            Predicate(attribute, _O.STARTS, string(prefix)),
            *(t for t in kept if t not in _range_of(attribute, prefix)),
        ]
    for text in sorted(cut):
        if any(other != text and text.startswith(other) for other in cut):
            continue
        inside = _tightest([*_bounds(kept), *_range_of(attribute, text)])
        if inside == _tightest(_bounds(kept)):
            return NEVER
        if _close(attribute, inside, set()) is not NEVER and not _apart(kept, text):
            kept.append(Predicate(attribute, _O.NOT_STARTS, string(text)))
    return kept


def _bounds(tests: list[Predicate]) -> list[Predicate]:
    """The bounds among the tests, a prefix taken as its range."""
    ranges = [_range_of(test.attribute, _text(test)) for test in tests if test.operator is _O.STARTS]
    return [*(test for test in tests if test.operator in _LOW + _HIGH), *(bound for pair in ranges for bound in pair)]


def _apart(kept: list[Predicate], text: str) -> bool:
    return any(test.operator is _O.EQ and not _text(test).startswith(text) for test in kept)


def _without(attribute: str, holes: list[Value]) -> list[Predicate]:
    if len(holes) == 1:
        return [Predicate(attribute, _O.NE, holes[0])]
    ordered = tuple(sorted(holes, key=lambda value: value.data))
    return [Predicate(attribute, _O.NOT_IN, ordered)] if ordered else []


def _simplify_whole(attribute: str, domain: Domain, interval: _Interval, holes: set[Value]) -> list[Predicate] | None:
    """Whole numbers: bounds can be counted, so that `> 5 and < 7` is `= 6`."""
    floor = domain.min if isinstance(domain, Integer) else None
    ceiling = domain.max if isinstance(domain, Integer) else None
    low, high = interval
    bottom, top = _bottom(low), _top(high)
    least = bottom if floor is None or (bottom is not None and bottom > floor) else floor
    most = top if ceiling is None or (top is not None and top < ceiling) else ceiling
    kind = Kind.NUMBER if isinstance(domain, Integer) else Kind.TIMESTAMP
    while least is not None and (most is None or least <= most) and Value(kind, least) in holes:
        least += 1
    while most is not None and (least is None or least <= most) and Value(kind, most) in holes:
        most -= 1
    if least is not None and most is not None:
        if least > most:
            return NEVER
        if least == most:
            return [Predicate(attribute, _O.EQ, Value(kind, least))]
    kept = []
    if least != floor and least is not None:
        kept.append(low if low and least == bottom else Predicate(attribute, _O.GE, Value(kind, least)))
    if most != ceiling and most is not None:
        kept.append(high if high and most == top else Predicate(attribute, _O.LE, Value(kind, most)))
    rest = [h for h in holes if (least is None or h.data > least) and (most is None or h.data < most)]  # type: ignore[operator]
    return kept + _without(attribute, rest)


def _bottom(low: Predicate | None) -> int | None:
    return None if low is None else int(_values(low)[0].data) + (low.operator is _O.GT)


def _top(high: Predicate | None) -> int | None:
    return None if high is None else int(_values(high)[0].data) - (high.operator is _O.LT)
