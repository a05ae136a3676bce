"""Texts that never match, that are equal, or that another one covers: from conjunctions to subscriptions.

A subscription covers another when each conjunction of the other is covered by one of its own. For one conjunction of
sets of values on each side that is exact; with `or` it is sound, as several conjunctions may cover one together.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.covering import drop_covered
from tamis.lint.claims import Claimed
from tamis.lint.covering import Covering

__all__ = ["Relations", "relate"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_MOST = 32
"""Conjunctions of a text that are compared with each other."""


class Relations(NamedTuple):
    """Among texts, by their numbers."""

    never: list[int]
    equal: dict[int, int]
    """Text → the first that says the same."""
    covered: dict[int, int]
    """Text → the nearest that covers it; of equal ones the first."""
    undecided: list[int]
    """Texts that nothing was shown to cover and that are no single conjunction of sets of values."""
    work: dict[str, int]


def relate(claimed: Claimed, count: int) -> Relations:
    """How so many texts stand to each other."""
    start = np.searchsorted(claimed.texts, np.arange(count + 1))
    never = np.nonzero(start[1:] == start[:-1])[0].tolist()
    sets = _least(claimed, start)
    first: dict[tuple[int, ...], int] = {}
    equal = {}
    for text, conjunctions in sets.items():
        found = first.setdefault(conjunctions, text)
        if found != text:
            equal[text] = found
    owned = np.zeros(len(claimed.claims.start) - 1, np.bool_)
    owned[[one for conjunctions in first for one in conjunctions]] = True
    covering = Covering(claimed.claims, owned)
    search = _Search(covering, {text: sets[text] for text in first.values()})
    covered = search.covered()
    undecided = [
        text
        for text, conjunctions in search.sets.items()
        if text not in covered
        and (len(conjunctions) > 1 or not claimed.exact[conjunctions[0]] or conjunctions[0] in search.unknown)
    ]
    nodes, looked, compared = covering.work.tolist()
    work = {"conjunctions": len(claimed.claims.start) - 1, "nodes": nodes, "looked_at": looked, "compared": compared}
    return Relations(never, equal, covered, undecided, work)


def _least(claimed: Claimed, start: Longs) -> dict[int, tuple[int, ...]]:
    """The conjunctions of each text that has any, without those that another of its own covers."""
    dropped = np.zeros(len(claimed.conjunctions), np.bool_)
    drop_covered(claimed.claims, start, claimed.conjunctions, _MOST, dropped)
    found: dict[int, list[int]] = defaultdict(list)
    for text, conjunction in zip(
        claimed.texts[~dropped].tolist(), claimed.conjunctions[~dropped].tolist(), strict=True
    ):
        found[text].append(conjunction)
    return {text: tuple(conjunctions) for text, conjunctions in found.items()}


class _Search:
    """The nearest coverer of each text, of which no two are equal."""

    def __init__(self, covering: Covering, sets: dict[int, tuple[int, ...]]) -> None:
        self.sets = sets
        self._covering = covering
        nearest, unknown = covering.nearest()
        self._nearest = nearest.tolist()
        self.unknown = set(unknown.tolist())
        self._owners: dict[int, list[int]] = defaultdict(list)
        """Conjunction → the texts that have it, those with the fewest conjunctions first."""
        for text in sorted(sets, key=lambda one: (len(sets[one]), one)):
            for conjunction in sets[text]:
                self._owners[conjunction].append(text)

    def covered(self) -> dict[int, int]:
        found = {}
        several = []
        for text, conjunctions in self.sets.items():
            if len(conjunctions) > 1:
                several.append(text)
                continue
            coverer = self._of_one(text, conjunctions[0])
            if coverer is not None:
                found[text] = coverer
        return found | self._of_several([text for text in several if all(map(self._shared, self.sets[text]))])

    def _of_one(self, text: int, conjunction: int) -> int | None:
        """Whoever has the same conjunction and others, else whoever has the nearest."""
        other = next((owner for owner in self._owners[conjunction] if owner != text), None)
        if other is not None or self._nearest[conjunction] < 0:
            return other
        return self._owners[self._nearest[conjunction]][0]

    def _shared(self, conjunction: int) -> bool:
        return self._nearest[conjunction] >= 0 or len(self._owners[conjunction]) > 1

    def _of_several(self, texts: list[int]) -> dict[int, int]:
        """Whoever covers all conjunctions of a text."""
        asked = sorted({one for text in texts for one in self.sets[text]})
        coverers = dict(zip(asked, self._covering.listed(np.array(asked, np.int32)), strict=True))
        found = {}
        for text in texts:
            owning = [
                {owner for other in (one, *coverers[one]) for owner in self._owners[other]} for one in self.sets[text]
            ]
            both = set.intersection(*sorted(owning, key=len)) - {text}
            if both:
                found[text] = min(both, key=lambda one: (len(self.sets[one]), one))
        return found
