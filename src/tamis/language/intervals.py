"""Comparisons under a total order: an interval, less the points and prefixes taken out of it.

    price < 10 and price < 20                     →  price < 10
    price >= 5 and price != 5                     →  price > 5
    quantity > 5 and quantity < 7                 →  quantity = 6          integers and instants can be counted
    name starts with 'a' and name <= 'a'          →  name = 'a'
    name < 'ac' and not name starts with 'ab'     →  name < 'ab'

What each comparison admits is its region (`model.regions`); here regions of one attribute meet, and what is left is put
in words again.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from tamis.model import OPERATORS, TOTAL, Domain, Integer, Kind, Operator, Predicate, Value
from tamis.model.operators import Needs, Shape
from tamis.model.regions import ALL, Cut, Data, Interval, admitted, prefix_range
from tamis.model.values import FIRST_INSTANT, LAST_INSTANT, exact

__all__ = ["NEVER", "is_hole", "is_point", "one_of", "simplify_interval", "without"]

_O = Operator
NEVER: Final = None
_LOW = (_O.GE, _O.GT)
_HIGH = (_O.LT, _O.LE)


def is_point(test: Predicate) -> bool:
    """Whether it lists the values that pass,"""
    row = OPERATORS[test.operator]
    return row.shape is Shape.POINTS and not row.negated


def is_hole(test: Predicate) -> bool:
    """or those that do not."""
    row = OPERATORS[test.operator]
    return row.shape is Shape.POINTS and row.negated


def _is_bound(test: Predicate) -> bool:
    return OPERATORS[test.operator].needs is Needs.ORDER


def one_of(attribute: str, values: list[Value]) -> Predicate:
    """The values and nothing else; there is at least one."""
    if len(values) == 1:
        return Predicate(attribute, _O.EQ, values[0])
    return Predicate(attribute, _O.IN, tuple(values))


def without(attribute: str, values: list[Value]) -> list[Predicate]:
    """Anything but the values."""
    if len(values) == 1:
        return [Predicate(attribute, _O.NE, values[0])]
    return [Predicate(attribute, _O.NOT_IN, tuple(values))] if values else []


def simplify_interval(attribute: str, domain: Domain, tests: list[Predicate]) -> list[Predicate] | None:
    """The fewest comparisons that say the same; the tests' constants are all of one kind, and not boolean."""
    operator = TOTAL.get(tests[0].operator, tests[0].operator)
    if len(tests) == 1 and _is_bound(tests[0]) and _line(domain, tests[0].constants[0].kind) == (None, None):
        return [Predicate(attribute, operator, tests[0].operand)]  # no other to meet, no end to fall off; most are such
    return _Tests(attribute, domain, tests).simplify()


class _Tests:
    """The comparisons of one attribute, sorted by what they do to the line of its values.

    line     all values of the kind in the domain
    around   what bounds and prefixes leave of it
    holes    single values taken out
    gone     prefixes taken out, in order, none within another
    """

    def __init__(self, attribute: str, domain: Domain, tests: list[Predicate]) -> None:
        self.tests = [Predicate(attribute, TOTAL.get(test.operator, test.operator), test.operand) for test in tests]
        self.attribute = attribute
        self.kind = tests[0].constants[0].kind
        self.whole = self.kind is Kind.TIMESTAMP or isinstance(domain, Integer)
        self.mixed = domain.kind is None
        self.line = _line(domain, self.kind)
        self.around = reduce(Interval.meet, (_admitted(test, self.whole) for test in self.tests), self.line)
        self.holes = {value.data for test in self.tests if is_hole(test) for value in test.constants}
        self.gone = widest({str(test.constants[0].data) for test in self.tests if test.operator is _O.NOT_STARTS})

    def simplify(self) -> list[Predicate] | None:
        points = [set(test.constants) for test in self.tests if is_point(test)]
        if points:
            left = [value for value in set.intersection(*points) if self.has(self.around, value.data)]
            return [one_of(self.attribute, sorted(left))] if left else NEVER
        inner = self.trimmed()
        if inner.empty():
            return NEVER
        if inner.start and inner.end and inner.start.data == inner.end.data:
            return [self.predicate(_O.EQ, inner.start.data)]
        return self.spelt(inner)

    def predicate(self, operator: Operator, data: Data) -> Predicate:
        return Predicate(self.attribute, operator, Value(self.kind, data))

    def has(self, interval: Interval, data: Data) -> bool:
        return interval.has(data) and data not in self.holes and not self.is_gone(data)

    def is_gone(self, data: Data) -> bool:
        return isinstance(data, str) and data.startswith(self.gone)

    def trimmed(self) -> Interval:
        """What is around, its ends moved past whatever is taken out there."""
        start, end = self.around
        for gone in map(prefix_range, self.gone):
            if gone.holds_after(start):
                if gone.end is None:
                    return Interval(start, start)
                start = gone.end
        while start is not None and not start.after and start.data in self.holes:
            start = Cut(exact(int(start.data) + 1), False) if self.whole else Cut(start.data, True)
        while end is not None and end.after and end.data in self.holes:
            end = Cut(exact(int(end.data) - 1), True) if self.whole else Cut(end.data, False)
        for gone in map(prefix_range, reversed(self.gone)):
            if gone.holds_before(end):
                end = gone.start
        return Interval(start, end)

    def spelt(self, inner: Interval) -> list[Predicate]:
        """The interval as predicates. An end that no bound set is not moved: what is taken out there stays a hole."""
        bounds = [(test, _admitted(test, self.whole)) for test in self.tests if _is_bound(test)]
        start = inner.start if any(one.start == self.around.start for _, one in bounds) else self.around.start
        end = inner.end if any(one.end == self.around.end for _, one in bounds) else self.around.end
        shown = Interval(start, end)
        holes = [Value(self.kind, hole) for hole in self.holes if shown.has(hole) and not self.is_gone(hole)]
        gone = [prefix for prefix in self.gone if not shown.meet(prefix_range(prefix)).empty()]
        found = self.ends(shown, bounds)
        found += [self.predicate(_O.NOT_STARTS, prefix) for prefix in gone]
        found += without(self.attribute, sorted(holes))
        if not found and self.mixed:  # every value of this kind, and still none of another
            assert self.line.start is not None, "a line without ends leaves something to say"
            return [self.predicate(_O.GE, self.line.start.data)]
        return found

    def ends(self, shown: Interval, bounds: list[tuple[Predicate, Interval]]) -> list[Predicate]:
        """In the subscriber's own words where they fit: a prefix stays one, `> 5` does not become `>= 6`."""
        prefix = max((str(t.constants[0].data) for t in self.tests if t.operator is _O.STARTS), key=len, default="")
        inside = prefix_range(prefix)
        said, found = [self.line], []
        if prefix and (shown.start == inside.start or (inside.end is not None and shown.end == inside.end)):
            said.append(inside)
            found.append(self.predicate(_O.STARTS, prefix))
        if shown.start is not None and all(shown.start != one.start for one in said):
            words = [test for test, one in bounds if one.start == shown.start]
            found.append(words[0] if words else self.predicate(_LOW[shown.start.after], shown.start.data))
        if shown.end is not None and all(shown.end != one.end for one in said):
            words = [test for test, one in bounds if one.end == shown.end]
            found.append(words[0] if words else self.predicate(_HIGH[shown.end.after], shown.end.data))
        return found


def _line(domain: Domain, kind: Kind) -> Interval:
    """All values of the kind in the domain. Some lines have ends, and a bound there says nothing."""
    if isinstance(domain, Integer):
        start = None if domain.min is None else Cut(exact(domain.min), False)
        return Interval(start, None if domain.max is None else Cut(exact(domain.max), True))
    if kind is Kind.TIMESTAMP:
        return Interval(Cut(FIRST_INSTANT, False), Cut(LAST_INSTANT, True))
    return Interval(Cut("", False) if kind is Kind.STRING else None, None)


def _admitted(test: Predicate, whole: bool) -> Interval:
    """The interval of one bound or prefix; all values where points or holes are told. After n is before n + 1 where
    values can be counted."""
    row = OPERATORS[test.operator]
    inside = admitted(test.operator, [value.data for value in test.constants])
    if row.shape is Shape.POINTS or row.negated or inside is None:
        return ALL
    ((start, end),) = inside
    if whole:
        start = None if start is None else Cut(exact(int(start.data) + start.after), False)
        end = None if end is None else Cut(exact(int(end.data) - (not end.after)), True)
    return Interval(start, end)


def widest(prefixes: set[str]) -> tuple[str, ...]:
    """In order, the prefixes that do not begin with another of them."""
    found: list[str] = []
    for prefix in sorted(prefixes):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return tuple(found)
