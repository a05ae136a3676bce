"""Predicates that a value satisfies by naming something: a point, a prefix, an ancestor.

Each such predicate is posted under its constants. A value names itself, its prefixes and, in a partial order, the
names above and below it; the predicates posted there hold. The negated ones hold where nothing they were posted
under is named. One `Postings` serves one attribute and one kind.

    a in ('x', 'y')      posted under = x, = y        'x' names = x
    a starts with 'ab'   posted under ^ ab            'abc' names ^ a, ^ ab, ^ abc
    a <= 'table'         posted under <= table        'dining table' names <= dining table, <= table, <= dining room
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from tamis.model import COMPLEMENT, Domain, Finite, Kind, Operator, Predicate, Value

__all__ = ["Postings"]

_O = Operator
_POSITIVE = frozenset({_O.EQ, _O.IN, _O.STARTS, _O.LT, _O.LE, _O.GT, _O.GE, _O.CONTAINS})


class _Family:
    """Predicates of one operator by constant. One goes without a look at the others under its constants."""

    __slots__ = ("all", "by_constant")

    def __init__(self) -> None:
        self.by_constant: defaultdict[Value, dict[int, None]] = defaultdict(dict)
        self.all: dict[int, None] = {}

    def post(self, pid: int, constants: Collection[Value]) -> None:
        self.all[pid] = None
        for constant in constants:
            self.by_constant[constant][pid] = None

    def drop(self, pid: int, constants: Collection[Value]) -> None:
        del self.all[pid]
        for constant in constants:
            posted = self.by_constant[constant]
            del posted[pid]
            if not posted:
                del self.by_constant[constant]


class Postings:
    """Posted predicates. A search costs O(what the value names, or what is posted, the fewer) + O(answer)."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._positive: dict[Operator, _Family] = {}
        self._negative: dict[Operator, _Family] = {}
        self._lengths: Counter[int] = Counter()
        self.looked_up = 0

    def insert(self, pid: int, predicate: Predicate) -> None:
        operator, negated, constants = _posting(predicate)
        table = self._negative if negated else self._positive
        table.setdefault(operator, _Family()).post(pid, constants)
        if operator is _O.STARTS:
            self._lengths[len(str(constants[0].data))] += 1

    def delete(self, pid: int, predicate: Predicate) -> None:
        operator, negated, constants = _posting(predicate)
        table = self._negative if negated else self._positive
        table[operator].drop(pid, constants)
        if not table[operator].all:
            del table[operator]
        if operator is _O.STARTS:
            self._lengths -= Counter([len(str(constants[0].data))])

    def search(self, value: Value) -> Iterator[int]:
        """Predicates that hold for the value, each once."""
        for operator, family in self._positive.items():
            yield from self._named(operator, family, value)
        for operator, family in self._negative.items():
            if value.kind is Kind.BOOLEAN and operator not in (_O.EQ, _O.IN):
                continue  # no order among booleans, so not even a negated one holds
            named = set(self._named(operator, family, value))
            yield from (pid for pid in family.all if pid not in named)

    def _named(self, operator: Operator, family: _Family, value: Value) -> Iterator[int]:
        for constant in self._names(operator, family, value):
            self.looked_up += 1
            yield from family.by_constant.get(constant, ())

    def _names(self, operator: Operator, family: _Family, value: Value) -> Iterator[Value]:
        if operator in (_O.EQ, _O.IN, _O.CONTAINS):
            yield value
        elif operator is _O.STARTS:
            text = str(value.data)
            yield from (Value(Kind.STRING, text[:size]) for size in self._lengths if size <= len(text))
        elif isinstance(self._domain, Finite):
            yield from self._related(operator, family, self._domain, value)

    def _related(self, operator: Operator, family: _Family, domain: Finite, value: Value) -> Iterator[Value]:
        """Constants that the value is below (`<`, `<=`) or above."""
        order, name = domain.order, str(value.data)
        names = order.above(name) if operator in (_O.LT, _O.LE) else order.below(name)
        if operator in (_O.LE, _O.GE):
            yield value
        if len(names) <= len(family.by_constant):
            yield from (Value(Kind.STRING, one) for one in names)
        else:
            yield from (constant for constant in family.by_constant if constant.data in names)


def _posting(predicate: Predicate) -> tuple[Operator, bool, tuple[Value, ...]]:
    """The positive operator, whether it is negated, and the constants to post under."""
    operator, operand = predicate.operator, predicate.operand
    negated = operator not in _POSITIVE
    constants = (operand,) if isinstance(operand, Value) else operand
    assert isinstance(constants, tuple)
    return COMPLEMENT[operator] if negated else operator, negated, tuple(dict.fromkeys(constants))  # type: ignore[arg-type]
