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
from tamis.kernels.segments.thresholds import Asked, Dense, count_dense, count_thresholds
from tamis.language import print_subscription
from tamis.model import Conjunction, Predicate, Schema, Threshold
from tamis.model.caching import cached_property
from tamis.segments.compile.coding import Counted
from tamis.segments.compile.truths import FIRST_TRUTH
from tamis.segments.ids import IdColumn

if TYPE_CHECKING:
    from tamis.segments.collection import Collection

__all__ = ["Members", "count_members", "numbered"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


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
        self._asked = Asked(start, of[order].astype(np.int32), np.array(least, np.uint8))
        self._is_dense = len(set(asked)) == len(asked) and _is_dense(self._asked)
        self._most = 4.0
        """How many hold for an event, as far as is known: room is made for as many."""
        self._collection = numbered([print_subscription(one) for one in numbers], schema)

    def holding(self, batch: Batch) -> tuple[Ints, Ints]:
        """Events, and the code of each `at least` that holds for them."""
        found = self._collection.match_many(lambda _: batch)
        members = found.ids.column(found.codes).cast(pa.int64()).to_numpy()
        offsets, room = found.offsets.astype(np.int64), 64 + int(self._most * len(found))
        while True:
            rows, at = np.empty(room, np.int32), np.empty(room, np.int32)
            total = self._count(offsets, members, rows, at)
            self._most = max(self._most, total / max(len(found), 1))
            if total <= room:
                return rows[:total], at[:total] + FIRST_TRUTH
            room = total

    def _count(self, offsets: Longs, members: Longs, rows: Ints, at: Ints) -> int:
        if self._is_dense:
            words, bits, begin = self._dense
            scratch = np.empty_like(begin), np.empty(words, np.uint64), np.empty(words, np.uint64)
            return count_dense(offsets, members, Dense(words, bits, begin, *scratch), rows, at)
        return count_thresholds(offsets, members, self._asked, self._asked.least.copy(), rows, at)

    @cached_property
    def _dense(self) -> tuple[int, Words, Words]:
        return _dense(self._asked)


def _counter_bits(asked: Asked) -> int:
    return max(int(asked.least.max(initial=1)) - 1, 1).bit_length()


def _is_dense(asked: Asked) -> bool:
    """Whether words of counters are sooner gone through than the thresholds of a member one by one: eight words in the
    time of one. There are then at most a few times as many bytes of the former."""
    members, words = len(asked.start) - 1, -(-len(asked.least) // 64)
    return words * (_counter_bits(asked) + 2) * members < 8 * len(asked.of)


def _dense(asked: Asked) -> tuple[int, Words, Words]:
    """How many words, the thresholds of each member, and how counters begin."""
    members, words, width = len(asked.start) - 1, -(-len(asked.least) // 64), _counter_bits(asked)
    bits = np.zeros((members, words), np.uint64)
    member = np.repeat(np.arange(members), np.diff(asked.start))
    np.bitwise_or.at(bits, (member, asked.of >> 6), np.uint64(1) << (asked.of & 63).astype(np.uint64))
    first = np.zeros(64 * words, np.uint64)
    first[: len(asked.least)] = (1 << width) - asked.least.astype(np.int64)
    begin = [np.packbits((first >> np.uint64(bit)).astype(np.uint8) & 1, bitorder="little") for bit in range(width)]
    return words, bits.reshape(-1), np.concatenate(begin).view(np.uint64)


def numbered(texts: list[str], schema: Schema) -> Collection:
    """Subscriptions whose ids are their places."""
    from tamis.segments.collection import Collection  # which asks segments, and so counts members itself
    from tamis.segments.subscriptions import Subscriptions

    subscriptions = Subscriptions(schema)
    subscriptions.install(subscriptions.prepare(IdColumn(pa.array(range(len(texts)))), pa.array(texts)))
    return Collection(subscriptions)
