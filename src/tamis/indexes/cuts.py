"""Cuts: the six operators as half-open intervals, for structures that know intervals only.

A cut lies just before a constant or just after it, so that open and closed ends need no flags:

    = c    [before c, after c)      < c    [LOWEST, before c)      <= c   [LOWEST, after c)
    != c   the other two pieces     > c    [after c, HIGHEST)      >= c   [before c, HIGHEST)

A value v satisfies `[low, high)` when `low <= before(v) < high`. Cuts are tuples and compare as such.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from tamis.indexes.base import Key, double
from tamis.model import OPERATORS, Operator, regions
from tamis.model.regions import admitted, outside

__all__ = ["HIGHEST", "LOWEST", "KeyCut", "KeyInterval", "before", "intervals", "number"]

KeyCut: TypeAlias = tuple[int, Key, int] | tuple[int]
KeyInterval: TypeAlias = tuple[KeyCut, KeyCut]

LOWEST: KeyCut = (-1,)
HIGHEST: KeyCut = (1,)


def before(key: Key) -> KeyCut:
    return (0, key, 0)


def number(cut: KeyCut) -> float:
    """A cut's constant as `double` has it, and the outermost cuts as infinite."""
    return double(cut[1]) if len(cut) == 3 else cut[0] * math.inf


def intervals(operator: Operator, key: Key) -> tuple[KeyInterval, ...]:
    """One interval, or the two of `!=`."""
    inside = admitted(operator, [key])
    assert inside is not None, "an index holds the six comparisons alone"
    found = outside(inside) if OPERATORS[operator].negated else inside
    return tuple((_cut(one.start, LOWEST), _cut(one.end, HIGHEST)) for one in found)


def _cut(end: regions.Cut | None, unbounded: KeyCut) -> KeyCut:
    return unbounded if end is None else (0, end.data, int(end.after))
