"""The region of a predicate: the set of values that it admits, told by ends of intervals.

    price < 10                  … 10)                    price != 5           all but [5]
    name starts with 'ab'       ['ab', 'ac')             name in ('a', 'b')   ['a'] ['b']

An end of an interval is a *cut*: the place just before a value, or just after it. The strings with a prefix lie between
it and the least string past them all, so that prefixes and bounds meet on one line. Everything that is faster than
asking `compare` begins with `region`; what has none is one of

    presence                    no values are told apart
    a reference                 another attribute's value decides
    `ends with`, `includes`, `like`, and whatever ignores case    no interval of the order tells them
    `<` on a finite domain      a set of names: `names_of`

The first is told by whether there is a value; of the others the truth is found out per value, pair or event and handed
on as such: a *truth column*.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, assert_never

from tamis.model.domains import Domain
from tamis.model.finite import Finite
from tamis.model.operators import COMPLEMENT, OPERATORS, TRUTHS, Operator, Shape
from tamis.model.predicates import Predicate, Reference
from tamis.model.values import Kind

__all__ = [
    "ALL",
    "Cut",
    "Data",
    "Interval",
    "Names",
    "Region",
    "admitted",
    "has_truth",
    "meet_all",
    "names_of",
    "one_interval",
    "outside",
    "place",
    "point",
]
__all__ += ["prefix_range", "region", "span"]

Data = int | float | str
"""What values of one kind are compared by."""


class Cut(NamedTuple):
    """A place on the line: just before `data`, or just after it. Cuts compare as tuples do."""

    data: Any
    after: bool


class Interval(NamedTuple):
    """The values between two cuts; None is no end."""

    start: Cut | None
    end: Cut | None

    def meet(self, other: Interval) -> Interval:
        starts = [cut for cut in (self.start, other.start) if cut is not None]
        ends = [cut for cut in (self.end, other.end) if cut is not None]
        return Interval(max(starts, default=None), min(ends, default=None))

    def has(self, data: Data) -> bool:
        return (self.start is None or self.start <= (data, False)) and (self.end is None or (data, True) <= self.end)

    def holds_after(self, cut: Cut | None) -> bool:
        """Whether what comes just after the cut is inside."""
        return cut is not None and (self.start is None or self.start <= cut) and (self.end is None or cut < self.end)

    def holds_before(self, cut: Cut | None) -> bool:
        """Whether what comes just before the cut is inside; None is the far end."""
        if cut is None:
            return self.end is None
        return (self.start is None or self.start < cut) and (self.end is None or cut <= self.end)

    def empty(self) -> bool:
        return self.start is not None and self.end is not None and self.end <= self.start

    @property
    def bounds(self) -> tuple[Any, ...]:
        """The values at its ends, each once."""
        return tuple(dict.fromkeys(cut.data for cut in self if cut is not None))


ALL = Interval(None, None)


def point(data: Any) -> Interval:
    """One value."""
    return Interval(Cut(data, False), Cut(data, True))


def prefix_range(prefix: str) -> Interval:
    """The strings with this prefix; nothing comes after those of the highest code point alone."""
    base = prefix.rstrip("\U0010ffff")
    if not base:
        return Interval(Cut(prefix, False), None)
    last = ord(base[-1])
    past = base[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)  # surrogates are no text
    return Interval(Cut(prefix, False), Cut(past, False))


def place(constants: Sequence[Any], data: Any) -> int:
    """Where a value lies among constants in order: the gap before constant i is 2i, the constant itself 2i + 1."""
    at = bisect_left(constants, data)
    return 2 * at + (at < len(constants) and constants[at] == data)


def span(interval: Interval, code: Callable[[Any], int], lowest: int, highest: int) -> tuple[int, int]:
    """The codes of an interval's values, first and last, where codes are ordered as the values are, and a value beside
    a constant has a code of its own."""
    start, end = interval
    low = lowest if start is None else code(start.data) + start.after
    return low, highest if end is None else code(end.data) - (not end.after)


class Region(NamedTuple):
    """Values of one kind: those in the intervals, which are in order and apart, or (negated) all but those."""

    kind: Kind
    inside: tuple[Interval, ...]
    negated: bool = False

    def intervals(self) -> list[Interval]:
        """The values as intervals, in order, none of which touches another."""
        return outside(self.inside) if self.negated else list(self.inside)


def outside(intervals: Sequence[Interval]) -> list[Interval]:
    """What lies in none of the intervals, which are in order."""
    gaps = list(zip([None, *(one.end for one in intervals)], [*(one.start for one in intervals), None], strict=True))
    first = 1 if intervals and intervals[0].start is None else 0
    last = len(gaps) - 1 if intervals and intervals[-1].end is None else len(gaps)
    return [Interval(start, end) for start, end in gaps[first:last]]


def meet_all(lists: Sequence[list[Interval]]) -> list[Interval]:
    """What all have in common, in order. By halves: of a thousand, none is gone through a thousand times."""
    if len(lists) <= 1:
        return lists[0] if lists else [ALL]
    half = len(lists) // 2
    return _meet(meet_all(lists[:half]), meet_all(lists[half:]))


def _meet(left: list[Interval], right: list[Interval]) -> list[Interval]:
    """What two lists have in common; each is in order, and none of its intervals touches another."""
    found: list[Interval] = []
    at = other = 0
    while at < len(left) and other < len(right):
        one, two = left[at], right[other]
        met = one.meet(two)
        if not met.empty():
            found.append(met)
        if two.end is None or (one.end is not None and one.end <= two.end):
            at += 1
        else:
            other += 1
    return found


def admitted(operator: Operator, constants: Sequence[Any]) -> tuple[Interval, ...] | None:
    """What an operator's shape admits with these constants, before it is negated; None if no interval tells it."""
    shape = _SHAPES[operator]
    return None if shape is None else shape(constants)


def _intervals(shape: Shape) -> Callable[[Sequence[Any]], tuple[Interval, ...]] | None:
    match shape:
        case Shape.POINTS:
            return lambda constants: tuple(map(point, sorted(constants) if len(constants) > 1 else constants))
        case Shape.BELOW:
            return lambda constants: (Interval(None, Cut(constants[0], False)),)
        case Shape.UP_TO:
            return lambda constants: (Interval(None, Cut(constants[0], True)),)
        case Shape.ABOVE:
            return lambda constants: (Interval(Cut(constants[0], True), None),)
        case Shape.FROM:
            return lambda constants: (Interval(Cut(constants[0], False), None),)
        case Shape.PREFIX:
            return lambda constants: (prefix_range(constants[0]),)
        case Shape.SUFFIX | Shape.SUBSTRING | Shape.PATTERN | Shape.COUNT | Shape.RECORDS | Shape.PRESENCE:
            return None
        case never:
            assert_never(never)


_SHAPES = {operator: None if row.folded else _intervals(row.shape) for operator, row in OPERATORS.items()}


def region(domain: Domain, predicate: Predicate) -> Region | None:
    """The values that a predicate with constants admits; None where no region tells them (see above)."""
    constants = predicate.constants
    if not constants:
        return None
    row, kind = OPERATORS[predicate.operator], constants[0].kind
    if row.shape is not Shape.POINTS:
        if isinstance(domain, Finite):
            return None
        if kind is Kind.BOOLEAN:  # without an order, not even a negated comparison holds
            return Region(kind, ())
    inside = admitted(predicate.operator, [value.data for value in constants])
    return None if inside is None else Region(kind, inside, row.negated)


def one_interval(domain: Domain, predicate: Predicate) -> Region | None:
    """The region of a predicate about some value where it is one interval, or all but one; else None."""
    if predicate.operator is Operator.LACKS:  # about all values
        return None
    found = region(domain, predicate)
    return found if found is not None and len(found.inside) == 1 else None


def has_truth(predicate: Predicate) -> bool:
    """Whether a comparison is told by a truth: no set of values stands for it, whatever the domain."""
    row = OPERATORS[predicate.operator]
    return isinstance(predicate.operand, Reference) or row.shape in TRUTHS or row.folded


# -- finite domains -----------------------------------------------------------------------------------------------


class Names(NamedTuple):
    """A set of names told by what is inside or by what is outside: a large hierarchy is never written out."""

    inside: bool
    listed: frozenset[object]

    def has(self, data: object) -> bool:
        return (data in self.listed) is self.inside


def names_of(domain: Finite, predicate: Predicate) -> Names:
    """The names of a finite domain that pass a comparison with constants."""
    operator = predicate.operator
    row = OPERATORS[operator]
    name = str(predicate.constants[0].data)
    match row.shape:
        case Shape.POINTS:
            return Names(not row.negated, frozenset(value.data for value in predicate.constants))
        case Shape.BELOW | Shape.UP_TO:
            names = domain.order.below(name)
        case Shape.ABOVE | Shape.FROM:
            names = domain.order.above(name)
        case Shape.PREFIX | Shape.SUFFIX | Shape.SUBSTRING | Shape.PATTERN:
            raise AssertionError(f"{operator.value!r} is not asked of names")
        case Shape.COUNT | Shape.RECORDS | Shape.PRESENCE:
            raise AssertionError(f"{operator.value!r} is not asked of names")
        case never:
            assert_never(never)
    plain = COMPLEMENT[operator] if row.negated else operator
    return Names(not row.negated, names | {name} if "=" in OPERATORS[plain].relations else names)
