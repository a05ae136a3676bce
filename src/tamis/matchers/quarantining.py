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

from tamis.kernels.verify import Candidates
from tamis.matchers.algorithm import Algorithm, index_maker
from tamis.matchers.arrays import Ids, grown
from tamis.matchers.base import MatcherStats
from tamis.matchers.counting_lists import Counters
from tamis.matchers.equality_clusters import EqualityClusters
from tamis.matchers.front import Front
from tamis.matchers.registry import Batch, Uses
from tamis.matchers.verifier import Verifier
from tamis.model import Event, Schema

__all__ = ["Quarantining"]


class Quarantining(Algorithm):
    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._clusters = EqualityClusters()
        self._verifier = Verifier(schema)
        self._verified = Uses(self._registry)
        self._rest_sizes = np.empty(0, np.int32)
        self._quarantine = Counters()
        self._front = Front(schema, index_maker(None))
        self._counted = Uses(self._registry)
        self._evaluated = 0

    def _insert(self, batch: Batch) -> None:
        used = self._clusters.add(batch, self._registry.conjunctions)
        batch = self._registry.put_first(batch, ~used)
        rest = batch.leading(batch.only(~used).sizes)
        alone = rest.sizes == batch.sizes
        self._rest_sizes = grown(self._rest_sizes, self._registry.row_count)
        self._rest_sizes[batch.rows] = rest.sizes
        self._verifier.insert(self._verified.add(rest.rows_where(~alone).pids))
        self._verifier.reserve(self._registry.row_count)
        quarantined = batch.rows_where(alone)
        self._front.insert(self._counted.add(quarantined.pids))
        self._quarantine.add(quarantined)

    def _delete(self, batch: Batch) -> None:
        clustered = self._clusters.remove(batch)
        rest = batch.leading(self._rest_sizes[batch.rows].astype(np.int64))
        self._verifier.delete(self._verified.remove(rest.rows_where(clustered).pids))
        quarantined = batch.rows_where(~clustered)
        self._quarantine.remove(quarantined)
        self._front.delete(self._counted.remove(quarantined.pids))

    def _find(self, event: Event) -> Ids:
        registry = self._registry
        candidates = Candidates(registry.row_starts, self._rest_sizes, registry.slot_pids)
        partial = self._clusters.search(event)
        passed = self._verifier.verify(partial, self._clusters.lists, candidates, event)
        self._work.candidates_verified += passed.verified
        self._evaluated += passed.evaluated
        counted, bumped = self._quarantine.count(self._front.search(event))
        self._work.counters_bumped += bumped
        return np.concatenate([passed.rows, counted])

    def stats(self) -> MatcherStats:
        self._work.predicates_evaluated = self._evaluated + self._front.evaluated()
        return super().stats()

    def _details(self) -> Mapping[str, int | float | str]:
        return {"clusters": len(self._clusters), "quarantined": int((self._quarantine.sizes > 0).sum())}

    def _bytes(self) -> int:
        parts = (self._clusters, self._verifier, self._quarantine, self._front)
        return sum(part.bytes_used() for part in parts) + self._rest_sizes.nbytes

    def _check(self) -> None:
        self._clusters.check()
        self._verifier.check()
        self._quarantine.lists.check()
        self._front.check()
