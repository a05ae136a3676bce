"""Sets of values as sorted, disjoint intervals: what the predicates on one attribute admit together.

price > 5 and price not in (7, 9)      (5, 7) (7, 9) (9, …)
name starts with 'ab'                  ['ab', 'ac')
category <= 'table'                    the preorder numbers of what is a table
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from tamis.model import Domain, Finite, Hierarchical, Kind, Operator, Predicate, Value, compare
from tamis.model.values import string

__all__ = ["NOTHING", "FiniteCodes", "Interval", "past_prefix", "value_intervals"]

_O = Operator


class Interval(NamedTuple):
    """From `low` to `high`; None is unbounded."""

    low: Any = None
    low_open: bool = False
    high: Any = None
    high_open: bool = False


def value_intervals(predicates: list[Predicate]) -> tuple[Kind, list[Interval]]:
    """The intervals that all predicates admit. Constants are of one kind, of a domain with a total order."""
    found = [Interval()]
    kind = Kind.NUMBER
    for predicate in predicates:
        operand = predicate.operand
        values = (operand,) if isinstance(operand, Value) else operand
        assert isinstance(values, tuple)
        constants = [value for value in values if isinstance(value, Value)]
        kind = constants[0].kind
        found = _intersect(found, _of_predicate(predicate.operator, sorted(value.data for value in constants)))
    return kind, found


def _of_predicate(operator: Operator, data: list[Any]) -> list[Interval]:
    """One predicate's intervals; `data` are its constants in order."""
    at = data[0]
    match operator:
        case _O.EQ | _O.IN:
            return [Interval(one, False, one, False) for one in data]
        case _O.NE | _O.NOT_IN:
            edges = [None, *data, None]
            return [Interval(a, a is not None, b, b is not None) for a, b in pairwise(edges)]
        case _O.LT | _O.LE:
            return [Interval(None, False, at, operator is _O.LT)]
        case _O.GT | _O.GE:
            return [Interval(at, operator is _O.GT, None, False)]
        case _O.STARTS:
            return [Interval(at, False, past_prefix(at), True)]
    past = past_prefix(at)  # NOT_STARTS
    return [Interval(None, False, at, True), *([] if past is None else [Interval(past, False, None, False)])]


def past_prefix(prefix: str) -> str | None:
    """The least string after all that start with the prefix; None if there is none."""
    trimmed = prefix.rstrip("\U0010ffff")
    if not trimmed:
        return None
    last = ord(trimmed[-1])
    return trimmed[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)  # surrogates are no characters


def _intersect(left: list[Interval], right: list[Interval]) -> list[Interval]:
    found = []
    for a in left:
        for b in right:
            low, low_open = _later(a, b)
            high, high_open = _earlier(a, b)
            room = low is None or high is None or low < high or (low == high and not low_open and not high_open)
            if room:
                found.append(Interval(low, low_open, high, high_open))
    return found


def _later(a: Interval, b: Interval) -> tuple[Any, bool]:
    if a.low is None or (b.low is not None and (b.low > a.low or (b.low == a.low and b.low_open))):
        return b.low, b.low_open
    return a.low, a.low_open


def _earlier(a: Interval, b: Interval) -> tuple[Any, bool]:
    if a.high is None or (b.high is not None and (b.high < a.high or (b.high == a.high and b.high_open))):
        return b.high, b.high_open
    return a.high, a.high_open


# -- finite domains ----------------------------------------------------------------------------------------------


class FiniteCodes:
    """The names of a finite domain under codes from 1 on: a hierarchy's in preorder, so that a subtree is one run."""

    def __init__(self, domain: Finite) -> None:
        self.domain = domain
        self.names = _preorder(domain) if isinstance(domain, Hierarchical) else domain.names
        self.code = {name: at for at, name in enumerate(self.names, 1)}
        self._runs: dict[tuple[Predicate, ...], list[tuple[int, int]]] = {}

    def runs(self, predicates: tuple[Predicate, ...]) -> list[tuple[int, int]]:
        """What the predicates admit together, as runs of codes; `NOTHING` alone if nothing."""
        found = self._runs.get(predicates)
        if found is None:
            if len(self._runs) > _MOST_RUNS:
                self._runs.clear()
            found = self._runs[predicates] = _as_runs(sorted(self._admitted(predicates))) or [NOTHING]
        return found

    def _admitted(self, predicates: tuple[Predicate, ...]) -> list[int]:
        first = predicates[0]
        if len(predicates) == 1 and isinstance(first.operand, Value) and first.operator in _BY_ORDER:
            name = str(first.operand.data)
            order = self.domain.order
            names = order.below(name) if first.operator in (_O.LT, _O.LE) else frozenset[str]()
            names = order.above(name) if first.operator in (_O.GT, _O.GE) else names
            own = [self.code[name]] if first.operator in (_O.EQ, _O.LE, _O.GE) else []
            return own + [self.code[other] for other in names]
        return [
            code for name, code in self.code.items() if all(_admits(self.domain, p, string(name)) for p in predicates)
        ]


NOTHING = (1, 0)
"""The run that no code is in: what a domain that may still grow admits as yet."""
_BY_ORDER = (_O.EQ, _O.LT, _O.LE, _O.GT, _O.GE)
_MOST_RUNS = 10_000


def _preorder(domain: Hierarchical) -> tuple[str, ...]:
    children: dict[str, list[str]] = {name: [] for name in domain.names}
    for name, above in domain.parents:
        if above:
            children[above[0]].append(name)  # a name with several parents is numbered under its first
    found: list[str] = []
    stack = [name for name, above in reversed(domain.parents) if not above]
    while stack:
        name = stack.pop()
        found.append(name)
        stack.extend(reversed(children[name]))
    return tuple(found)


def _as_runs(codes: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def _admits(domain: Domain, predicate: Predicate, value: Value) -> bool:
    operand = predicate.operand
    assert isinstance(operand, tuple)
    return compare(domain, predicate.operator, value, operand)  # type: ignore[arg-type]  # no references here
