"""Hanson (Le Subscribe, figure 6; Hanson et al. 1990): the most selective predicate finds, the others are verified.

Each subscription is filed under one predicate, the one expected to hold least often, in an interval binary search tree
per attribute. An event's values search the trees; the rest of each subscription found is evaluated one by one.

The selectivity comes from statistics of recent events (`statistics.py`) or from a `sample` of events given at the
start; a choice once made stays. We deviate in that predicates which are no interval (lists, partial orders, sets,
presence, references) may be chosen too: the shared front finds those.

Cost: match O(attributes × search in a tree + predicates of the candidates), add and remove O(log predicates +
predicates of the subscription), memory O(all predicates of all subscriptions). Poor where nothing is selective.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from tamis.errors import TamisError
from tamis.kernels.matchers.verifying import Candidates
from tamis.matchers.base import MatcherStats
from tamis.matchers.parts.algorithm import Algorithm, index_maker
from tamis.matchers.parts.arrays import Ints, grown
from tamis.matchers.parts.associations import Associations
from tamis.matchers.parts.changes import Change, Uses
from tamis.matchers.parts.front import Front
from tamis.matchers.parts.selectivity import Selectivity
from tamis.matchers.parts.verifier import Verifier
from tamis.model import Event, Schema

__all__ = ["Hanson"]


class Hanson(Algorithm):
    def __init__(self, schema: Schema, index: str = "ibs-tree", sample: Iterable[Event] = ()) -> None:
        super().__init__(schema)
        self._statistics = Selectivity(schema, sample)
        self._front = Front(schema, index_maker(index))
        self._filed = Uses(self._roster)
        self._lists = Associations()
        self._verifier = Verifier(schema)
        self._verified = Uses(self._roster)
        self._selectivity = np.empty(0, np.float64)
        self._heads = np.empty(0, np.int64)
        self._evaluated = 0

    def _insert(self, change: Change) -> None:
        self._selectivity = grown(self._selectivity, self._roster.predicate_count)
        for pid, predicate in change.changed:
            self._selectivity[pid] = self._statistics.selectivity(predicate)
        chosen = self._most_selective(change)
        try:
            self._front.insert(self._filed.add(change.pids[chosen]))
        except TamisError:
            self._filed.remove(change.pids[chosen])
            raise
        self._lists.add(change.pids[chosen], change.rows, change.rows.astype(np.int64))
        change = self._roster.put_first(change, ~chosen)
        rest = change.leading(change.sizes - 1)
        self._heads = grown(self._heads, self._roster.row_count)
        self._heads[change.rows] = self._roster.heads(rest)
        self._verifier.insert(self._verified.add(rest.pids))
        self._verifier.reserve(self._roster.row_count)

    def _most_selective(self, change: Change) -> npt.NDArray[np.bool_]:
        """One predicate per row."""
        of = np.repeat(np.arange(len(change.rows)), change.sizes)
        order = np.lexsort((self._selectivity[change.pids], of))
        chosen = np.zeros(len(change.pids), np.bool_)
        chosen[order[change.starts[:-1]]] = True
        return chosen

    def _delete(self, change: Change) -> None:
        filed = change.pids[change.starts[1:] - 1]
        self._verifier.delete(self._verified.remove(change.leading(change.sizes - 1).pids))
        self._lists.remove(filed, change.rows.astype(np.int64))
        self._front.delete(self._filed.remove(filed))

    def _find(self, event: Event) -> Ints:
        self._statistics.observe(event)
        candidates = Candidates(self._heads, self._roster.slot_pids)
        passed = self._verifier.verify(self._front.search(event), self._lists, candidates, event)
        self._work.candidates_verified += passed.verified
        self._evaluated += passed.evaluated
        return passed.rows

    def stats(self) -> MatcherStats:
        self._work.predicates_evaluated = self._evaluated + self._front.evaluated()
        return super().stats()

    def _details(self) -> Mapping[str, int | float | str]:
        return {"predicates": self._roster.predicate_count}

    def _bytes(self) -> int:
        return self._front.bytes_used() + self._lists.bytes_used() + self._verifier.bytes_used()

    def _check(self) -> None:
        self._front.check()
        self._lists.check()
        self._verifier.check()
        for rows in self._roster.subscriptions.values():
            for row in rows:
                filed = int(self._roster.pids_of(row)[-1])
                assert row in self._lists.members(filed), f"row {row} is not filed under its last predicate"
