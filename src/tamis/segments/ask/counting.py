"""`at least 2 of (…)`, counted for a batch: the members of all that subscriptions ask for are a segment of their own.

Each distinct member is found once per event, by the same index as any subscription; an event then counts, for each
`at least`, how many of its members were found. No combination of members is ever made.

    at least 2 of (a = 1, b = 2, c = 3)     members 0 1 2      an event with a = 1, b = 2 has members 0 and 1: 2 and 2
    at least 2 of (b = 2, d = 4)            members 1 3        for the first, 1 for the second
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch
from tamis.kernels.segments.thresholds import Asked, count_thresholds
from tamis.language import print_subscription
from tamis.model import Conjunction, Predicate, Schema, Threshold
from tamis.segments.compile.coding import Counted
from tamis.segments.compile.truths import FIRST_TRUTH
from tamis.segments.ids import IdColumn

if TYPE_CHECKING:
    from tamis.segments.collection import Collection

__all__ = ["Members", "count_members"]

Ints = npt.NDArray[np.int32]


def count_members(counted: Counted, batch: Batch, schema: Schema) -> tuple[Ints, Ints]:
    """Events, and the code of an `at least` that holds for each."""
    if not counted.kept:  # two threads may both make them, and one is kept
        counted.kept.append(Members(counted.truth.members, schema))
    kept = counted.kept[0]
    assert isinstance(kept, Members)
    return kept.holding(batch)


class Members:
    """The members of several `at least`, compiled."""

    def __init__(self, predicates: tuple[Predicate, ...], schema: Schema) -> None:
        numbers: dict[tuple[Conjunction, ...], int] = {}
        asked: list[tuple[int, int]] = []
        least: list[int] = []
        for at, predicate in enumerate(predicates):
            assert isinstance(predicate.operand, Threshold)
            least.append(predicate.operand.least)
            asked += [(numbers.setdefault(member, len(numbers)), at) for member in predicate.operand.members]
        member, of = np.array(asked, np.int64).T
        start = np.r_[0, np.cumsum(np.bincount(member, minlength=len(numbers)))]
        order = np.argsort(member, kind="stable")
        self._asked = Asked(start, of[order].astype(np.int32), np.array(least, np.int32))
        self._most = 4.0
        """How many hold for an event, as far as is known: room is made for as many."""
        self._collection = _collection([print_subscription(one) for one in numbers], schema)

    def holding(self, batch: Batch) -> tuple[Ints, Ints]:
        """Events, and the code of each `at least` that holds for them."""
        found = self._collection.match_many(lambda _: batch)
        members = found.ids.column(found.codes).cast(pa.int64()).to_numpy()
        counts, room = np.zeros(len(self._asked.least), np.int32), 64 + int(self._most * len(found))
        while True:
            rows, at = np.empty(room, np.int32), np.empty(room, np.int32)
            total = count_thresholds(found.offsets.astype(np.int64), members, self._asked, counts, rows, at)
            self._most = max(self._most, total / max(len(found), 1))
            if total <= room:
                return rows[:total], at[:total] + FIRST_TRUTH
            room = total


def _collection(texts: list[str], schema: Schema) -> Collection:
    """Subscriptions whose ids are their places."""
    from tamis.segments.collection import Collection  # which asks segments, and so counts members itself
    from tamis.segments.subscriptions import Subscriptions

    subscriptions = Subscriptions(schema)
    subscriptions.install(subscriptions.prepare(IdColumn(pa.array(range(len(texts)))), pa.array(texts)))
    return Collection(subscriptions)
