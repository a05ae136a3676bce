"""Sets of values as sorted, disjoint intervals: what the predicates on one attribute admit together.

price > 5 and price not in (7, 9)      (5, 7) (7, 9) (9, …)
name starts with 'ab'                  ['ab', 'ac')
category <= 'table'                    the preorder numbers of what is a table
"""

from __future__ import annotations

from typing import Any

from tamis.language.intervals import Cut, Interval, prefix_range
from tamis.language.simplify import admitted_names
from tamis.model import Finite, Kind, Operator, Predicate, Value

__all__ = ["NOTHING", "FiniteCodes", "point", "value_intervals"]

_O = Operator


def value_intervals(predicates: list[Predicate]) -> tuple[Kind, list[Interval]]:
    """The intervals that all predicates admit. Constants are of one kind, of a domain with a total order."""
    admitted = []
    kind = Kind.NUMBER
    for predicate in predicates:
        operand = predicate.operand
        values = (operand,) if isinstance(operand, Value) else operand
        assert isinstance(values, tuple)
        constants = [value for value in values if isinstance(value, Value)]
        kind = constants[0].kind
        admitted.append(_of_predicate(predicate.operator, sorted(value.data for value in constants)))
    return kind, _meet_all(admitted)


def _meet_all(lists: list[list[Interval]]) -> list[Interval]:
    """What all have in common, in order. By halves: of a thousand, none is gone through a thousand times."""
    if len(lists) <= 1:
        return lists[0] if lists else [Interval(None, None)]
    half = len(lists) // 2
    return _meet(_meet_all(lists[:half]), _meet_all(lists[half:]))


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


def point(data: Any) -> Interval:
    """One value."""
    return Interval(Cut(data, False), Cut(data, True))


def _of_predicate(operator: Operator, data: list[Any]) -> list[Interval]:
    """One predicate's intervals; `data` are its constants in order."""
    at = data[0]
    match operator:
        case _O.EQ | _O.IN:
            return [point(one) for one in data]
        case _O.NE | _O.NOT_IN:
            starts, ends = [Cut(one, True) for one in data], [Cut(one, False) for one in data]
            return [Interval(start, end) for start, end in zip([None, *starts], [*ends, None], strict=True)]
        case _O.LT | _O.LE:
            return [Interval(None, Cut(at, operator is _O.LE))]
        case _O.GT | _O.GE:
            return [Interval(Cut(at, operator is _O.GT), None)]
        case _O.STARTS:
            return [prefix_range(at)]
    inside = prefix_range(at)  # NOT_STARTS
    return [Interval(None, inside.start), *([] if inside.end is None else [Interval(inside.end, None)])]


# -- finite domains ----------------------------------------------------------------------------------------------


class FiniteCodes:
    """The names of a finite domain under codes from 1 on: a hierarchy's in preorder, so that a subtree is one run."""

    def __init__(self, domain: Finite) -> None:
        self.domain = domain
        self.code = domain.numbers
        self._runs: dict[tuple[Predicate, ...], list[tuple[int, int]]] = {}

    def runs(self, predicates: tuple[Predicate, ...]) -> list[tuple[int, int]]:
        """What the predicates admit together, as runs of codes; `NOTHING` alone if nothing."""
        found = self._runs.get(predicates)
        if found is None:
            if len(self._runs) > _MOST_RUNS:
                self._runs.clear()
            found = self._runs[predicates] = self._admitted(predicates) or [NOTHING]
        return found

    def _admitted(self, predicates: tuple[Predicate, ...]) -> list[tuple[int, int]]:
        """Costs what the predicates list, not what the domain has: `!=` is two runs of however many names."""
        inside, names = admitted_names(self.domain, predicates)
        runs = _as_runs(sorted(self.code[str(name)] for name in names))
        return runs if inside else _between(runs, len(self.code))


NOTHING = (1, 0)
"""The run that no code is in: what a domain that may still grow admits as yet."""
_MOST_RUNS = 10_000


def _as_runs(codes: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def _between(runs: list[tuple[int, int]], last: int) -> list[tuple[int, int]]:
    """The codes from 1 to `last` that are in none of the runs."""
    starts, ends = [1, *(high + 1 for _, high in runs)], [*(low - 1 for low, _ in runs), last]
    return [(low, high) for low, high in zip(starts, ends, strict=True) if low <= high]
