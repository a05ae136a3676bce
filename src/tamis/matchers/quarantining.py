"""Equality-preferred with non-equality quarantining (Le Subscribe, figure 5).

Subscriptions with an equality are found in their clusters and the rest of their predicates verified one by one; those
without any are kept apart, in quarantine, and only they are counted. So the many sums that counting costs are
made for the few subscriptions that leave no other way.

We deviate as in `equality_preferred`: `contains` is an equality too, one per attribute, and clusters are hashed.

Cost: match O(look-ups + predicates of the partially satisfied + lists of the quarantined predicates that hold), add and
remove O(predicates of the subscription), memory O(all predicates of all subscriptions).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tamis.kernels.matchers.verifying import HEAD_BITS, Candidates
from tamis.matchers.base import Entry, MatcherStats
from tamis.matchers.fair_predicate import FairPredicate
from tamis.matchers.parts.algorithm import Algorithm
from tamis.matchers.parts.arrays import Ints, grown
from tamis.matchers.parts.changes import Change, Uses
from tamis.matchers.parts.equality_clusters import EqualityClusters
from tamis.matchers.parts.verifier import Verifier
from tamis.model import Event, Schema

__all__ = ["Quarantining"]


class Quarantining(Algorithm):
    """Clusters, a verifier for what they find, and a small fair-predicate matcher for the rows in quarantine."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._clusters = EqualityClusters()
        self._verifier = Verifier(schema)
        self._verified = Uses(self._roster)
        self._heads = np.empty(0, np.int64)
        self._quarantine = FairPredicate(schema)
        self._evaluated = 0

    def _insert(self, change: Change) -> None:
        used = self._clusters.add(change, self._roster.conjunctions)
        change = self._roster.put_first(change, ~used)
        rest = change.leading(change.only(~used).sizes)
        alone = rest.sizes == change.sizes
        self._heads = grown(self._heads, self._roster.row_count)
        self._heads[change.rows] = self._roster.heads(rest)
        self._verifier.insert(self._verified.add(rest.rows_where(~alone).pids))
        self._verifier.reserve(self._roster.row_count)
        self._quarantine.add([self._entry(row) for row in change.rows[alone].tolist()])

    def _entry(self, row: int) -> Entry:
        """A row in quarantine: its key there is its row here."""
        conjunction = self._roster.conjunctions[row]
        assert conjunction is not None
        return row, (conjunction,)

    def _delete(self, change: Change) -> None:
        clustered = self._clusters.remove(change)
        rest = change.leading(self._heads[change.rows] & ((1 << HEAD_BITS) - 1))
        self._verifier.delete(self._verified.remove(rest.rows_where(clustered).pids))
        self._quarantine.remove(change.rows[~clustered].tolist())

    def _find(self, event: Event) -> Ints:
        candidates = Candidates(self._heads, self._roster.slot_pids)
        partial = self._clusters.search(event, self._work)
        passed = self._verifier.verify(partial, self._clusters.lists, candidates, event)
        self._work.candidates_verified += passed.verified
        self._evaluated += passed.evaluated
        return np.concatenate([passed.rows, self._quarantine.candidates(event).astype(np.int32)])

    def stats(self) -> MatcherStats:
        quarantine = self._quarantine.stats()
        self._work.predicates_evaluated = self._evaluated + quarantine.work["predicates_evaluated"]
        self._work.counters_bumped = quarantine.work["counters_bumped"]
        return super().stats()

    def _details(self) -> Mapping[str, int | float | str]:
        return {"clusters": len(self._clusters), "quarantined": self._quarantine.stats().subscriptions}

    def _bytes(self) -> int:
        parts = self._clusters.bytes_used() + self._verifier.bytes_used() + self._heads.nbytes
        return parts + self._quarantine.stats().bytes

    def _check(self) -> None:
        self._clusters.check()
        self._verifier.check()
        self._quarantine.check()
