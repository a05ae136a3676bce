"""Fair predicate (Le Subscribe, figure 2): find the satisfied predicates, each once, then count per subscription.

Predicates are clustered by attribute and operator and sorted by constant. A bisection finds where the event's value
falls, and everything on one side is implied: if `price <= 10` holds, so does `price <= 20`.

We deviate in that a match is seen when its counter runs out, not in a final loop over all subscriptions (lines 13-17);
the counting is that of `counting_lists`. The paper's words for `lesspredmatch` fit *greater than*: we go by meaning.

Cost: match O(attributes × log constants + lengths of the satisfied lists), add and remove O(predicates of the
subscription), memory O(all predicates of all subscriptions). Each distinct predicate is stored once.
"""

from __future__ import annotations

from tamis.matchers.counting_lists import CountingLists

__all__ = ["FairPredicate"]


class FairPredicate(CountingLists):
    """Counting over sorted clusters, which are the shared front's own; another `index` makes another algorithm."""
