"""The names of a finite domain as codes, and sets of names as runs of them.

category <= 'table'      one run: a hierarchy is numbered in preorder
period != 'XVII'         two runs, however many names there are
"""

from __future__ import annotations

from tamis.language.simplify import admitted_names
from tamis.model import Finite, Predicate

__all__ = ["NOTHING", "FiniteCodes"]


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
