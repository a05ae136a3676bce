"""Predicates that a value satisfies by naming something: a point, a prefix, an ancestor.

Each such predicate is posted under its constants. A value names itself, its prefixes and, in a partial order, the
names above and below it; the predicates posted there hold. The negated ones hold where nothing they were posted
under is named. One `Postings` serves one attribute and one kind.

    a in ('x', 'y')      posted under = x, = y        'x' names = x
    a starts with 'ab'   posted under ^ ab            'abc' names ^ a, ^ ab, ^ abc
    a <= 'table'         posted under <= table        'dining table' names <= dining table, <= table, <= dining room

What stands in a text otherwise, at its end, anywhere, or in whatever case, is the matter of `text_tests.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import assert_never

from tamis.matchers.parts.text_tests import TextTests
from tamis.model import COMPLEMENT, OPERATORS, Domain, Finite, Kind, Operator, Predicate, Value
from tamis.model.operators import Needs, Shape
from tamis.model.regions import has_truth

__all__ = ["Postings"]


class _Family:
    """Predicates of one operator by constant. One goes without a look at the others under its constants."""

    __slots__ = ("all", "by_constant", "lengths")

    def __init__(self) -> None:
        self.by_constant: defaultdict[Value, dict[int, None]] = defaultdict(dict)
        self.all: dict[int, None] = {}
        self.lengths: Counter[int] = Counter()
        """Of the texts posted under: only those pieces of a value are looked up."""

    def post(self, pid: int, constants: Collection[Value]) -> None:
        self.all[pid] = None
        for constant in constants:
            self.by_constant[constant][pid] = None
        self.lengths.update(_lengths(constants))

    def drop(self, pid: int, constants: Collection[Value]) -> None:
        del self.all[pid]
        for constant in constants:
            posted = self.by_constant[constant]
            del posted[pid]
            if not posted:
                del self.by_constant[constant]
        self.lengths -= Counter(_lengths(constants))


def _lengths(constants: Collection[Value]) -> Iterator[int]:
    return (len(constant.data) for constant in constants if isinstance(constant.data, str))


class Postings:
    """Posted predicates. A search costs O(what the value names, or what is posted, the fewer) + O(answer)."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._positive: dict[Operator, _Family] = {}
        self._negative: dict[Operator, _Family] = {}
        self._texts = TextTests()
        self._looked_up = 0

    @property
    def looked_up(self) -> int:
        return self._looked_up + self._texts.looked_up

    def insert(self, pid: int, predicate: Predicate) -> None:
        if has_truth(predicate):
            self._texts.insert(pid, predicate)
            return
        operator, negated, constants = _posting(predicate)
        table = self._negative if negated else self._positive
        table.setdefault(operator, _Family()).post(pid, constants)

    def delete(self, pid: int, predicate: Predicate) -> None:
        if has_truth(predicate):
            self._texts.delete(pid, predicate)
            return
        operator, negated, constants = _posting(predicate)
        table = self._negative if negated else self._positive
        table[operator].drop(pid, constants)
        if not table[operator].all:
            del table[operator]

    def search(self, value: Value) -> Iterator[int]:
        """Predicates that hold for the value, each once."""
        if self._texts and value.kind is Kind.STRING:
            yield from self._texts.search(value)
        for operator, family in self._positive.items():
            yield from self._named(operator, family, value)
        for operator, family in self._negative.items():
            if value.kind is Kind.BOOLEAN and OPERATORS[operator].needs is Needs.ORDER:
                continue  # no order among booleans, so not even a negated one holds
            named = set(self._named(operator, family, value))
            yield from (pid for pid in family.all if pid not in named)

    def _named(self, operator: Operator, family: _Family, value: Value) -> Iterator[int]:
        for constant in self._names(operator, family, value):
            self._looked_up += 1
            yield from family.by_constant.get(constant, ())

    def _names(self, operator: Operator, family: _Family, value: Value) -> Iterator[Value]:
        """The constants under which a predicate of the operator is posted if the value satisfies it."""
        shape = OPERATORS[operator].shape
        match shape:
            case Shape.POINTS:
                yield value
            case Shape.PREFIX:
                text = str(value.data)
                yield from (Value(Kind.STRING, text[:n]) for n in family.lengths if n <= len(text))
            case Shape.BELOW | Shape.UP_TO | Shape.ABOVE | Shape.FROM:
                if isinstance(self._domain, Finite):
                    yield from self._related(operator, family, self._domain, value)
            case Shape.SUFFIX | Shape.SUBSTRING | Shape.PATTERN | Shape.COUNT | Shape.RECORDS | Shape.PRESENCE:
                raise AssertionError(f"{operator.value!r} is not posted")
            case never:
                assert_never(never)

    def _related(self, operator: Operator, family: _Family, domain: Finite, value: Value) -> Iterator[Value]:
        """Constants that the value is below (`<`, `<=`) or above."""
        order, name, relations = domain.order, str(value.data), OPERATORS[operator].relations
        names = order.above(name) if "<" in relations else order.below(name)
        if "=" in relations:
            yield value
        if len(names) <= len(family.by_constant):
            yield from (Value(Kind.STRING, one) for one in names)
        else:
            yield from (constant for constant in family.by_constant if constant.data in names)


def _posting(predicate: Predicate) -> tuple[Operator, bool, tuple[Value, ...]]:
    """The positive operator, whether it is negated, and the constants to post under."""
    operator, negated = predicate.operator, OPERATORS[predicate.operator].negated
    return COMPLEMENT[operator] if negated else operator, negated, tuple(dict.fromkeys(predicate.constants))
