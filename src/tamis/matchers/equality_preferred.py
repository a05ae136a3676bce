"""Equality-preferred (Le Subscribe, figure 4): subscriptions clustered by their equalities, counting for the rest.

The event's values are looked up in the clusters, which gives the subscriptions whose equalities hold; the other
predicates are found and counted as in fair predicate. A subscription matches if all its others were counted and it
was found in a cluster or has no equality at all.

We deviate in that `contains` is an equality too, one equality per attribute is used, and clusters are hashed.

Cost: match O(2^attributes look-ups at most + lengths of the satisfied non-equality predicates' lists), add and remove
O(predicates of the subscription), memory O(all predicates of all subscriptions).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tamis.matchers.base import MatcherStats
from tamis.matchers.counting_lists import Counters
from tamis.matchers.parts.algorithm import Algorithm, index_maker
from tamis.matchers.parts.arrays import Ints, grown
from tamis.matchers.parts.changes import Change, Uses
from tamis.matchers.parts.equality_clusters import EqualityClusters
from tamis.matchers.parts.front import Front
from tamis.model import Event, Schema

__all__ = ["EqualityPreferred"]


class EqualityPreferred(Algorithm):
    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._clusters = EqualityClusters()
        self._counters = Counters()
        self._front = Front(schema, index_maker(None))
        self._counted = Uses(self._roster)
        self._alone = np.empty(0, np.bool_)

    def _insert(self, change: Change) -> None:
        used = self._clusters.add(change, self._roster.conjunctions)
        change = self._roster.put_first(change, ~used)
        rest = change.leading(change.only(~used).sizes)
        self._front.insert(self._counted.add(rest.pids))
        self._counters.add(rest)
        self._alone = grown(self._alone, self._roster.row_count)
        self._alone[change.rows] = rest.sizes == change.sizes

    def _delete(self, change: Change) -> None:
        self._clusters.remove(change)
        rest = change.leading(self._counters.sizes[change.rows].astype(np.int64))
        self._counters.remove(rest)
        self._front.delete(self._counted.remove(rest.pids))
        self._alone[change.rows] = False

    def _find(self, event: Event) -> Ints:
        partial = self._clusters.search(event, self._work)
        satisfied = self._front.search(event)
        rows, bumped = self._counters.count_clusters(satisfied, partial, self._clusters.lists.groups, self._alone)
        self._work.counters_bumped += bumped
        return rows

    def stats(self) -> MatcherStats:
        self._work.predicates_evaluated = self._front.evaluated()
        return super().stats()

    def _details(self) -> Mapping[str, int | float | str]:
        return {"clusters": len(self._clusters), "without_equality": int(self._alone.sum())}

    def _bytes(self) -> int:
        return self._clusters.bytes_used() + self._counters.bytes_used() + self._front.bytes_used()

    def _check(self) -> None:
        self._clusters.check()
        self._counters.lists.check()
        self._front.check()
