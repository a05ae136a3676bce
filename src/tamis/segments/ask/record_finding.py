"""`any(variants: …)`, found out for a batch: what subscriptions ask of one list's records is a segment of its own.

The records of all events are the rows of one inner batch, asked once: each distinct expression is found in it by the
same index as any subscription, however many subscriptions ask. An event has what one of its records has.

    any(variants: size = 'M' and stock > 0)        event 0 has the records 0 and 1, event 1 has record 2
    any(variants: size = 'L')                      record 1 satisfies the first, 2 the second: so do the events 0 and 1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Listed
from tamis.language import print_subscription
from tamis.model import Among, Conjunction, Operator, Schema
from tamis.segments.ask.counting import numbered
from tamis.segments.compile.coding import AskedOfRecords, Columns
from tamis.segments.compile.truths import FIRST_TRUTH

__all__ = ["RecordFinder", "find_records", "records_looked_at"]

Ints = npt.NDArray[np.int32]
Found = tuple[int, Ints, Ints]
"""A column, events, and the code of what holds for each."""


def find_records(asked: AskedOfRecords, lists: Sequence[Listed], schema: Schema) -> Iterator[Found]:
    """What holds for which events."""
    if not asked.kept:  # two threads may both make it, and one is kept
        asked.kept.append(RecordFinder(asked, schema))
    kept = asked.kept[0]
    assert isinstance(kept, RecordFinder)
    return kept.holding(lists)


class RecordFinder:
    """What subscriptions ask of the records of one list, compiled."""

    def __init__(self, asked: AskedOfRecords, schema: Schema) -> None:
        numbers: dict[tuple[Conjunction, ...], int] = {}
        self._any: list[tuple[int, list[int]]] = []
        self._not_any: list[tuple[int, int]] = []
        for column, truth in asked.columns:
            wanted = []
            for predicate in truth.members:
                assert isinstance(predicate.operand, Among)
                wanted.append(numbers.setdefault(predicate.operand.conjunctions, len(numbers)))
            if truth.slot.operator is Operator.ANY:
                self._any.append((column, wanted))
            else:
                self._not_any.append((column, wanted[0]))
        inner = schema.records(asked.attribute)
        assert inner is not None, "the parser lets nobody ask for records elsewhere"
        self._codes = [(column, _codes(wanted, len(numbers))) for column, wanted in self._any]
        self._collection = numbered([print_subscription(one) for one in numbers], inner)
        self.records = 0
        """Looked at so far, each once for all who ask."""

    def holding(self, lists: Sequence[Listed]) -> Iterator[Found]:
        pairs = [self._pairs(one) for one in lists if len(one.rows)]
        if not pairs:
            return
        rows, members = (np.concatenate(side) for side in zip(*pairs, strict=True))
        for column, codes in self._codes:
            found = codes[members]
            yield column, rows[found > 0], found[found > 0]
        there = np.unique(np.concatenate([one.rows for one in lists]))
        for column, member in self._not_any:
            left = np.setdiff1d(there, rows[members == member])
            yield column, left, np.full(len(left), FIRST_TRUTH, np.int32)

    def _pairs(self, listed: Listed) -> tuple[Ints, npt.NDArray[np.int64]]:
        """Events, and what one of their records satisfies."""
        found = self._collection.match_many(lambda _: listed.batch)
        self.records += len(found)
        members = found.ids.column(found.codes).cast(pa.int64()).to_numpy()
        return np.repeat(listed.rows, np.diff(found.offsets)), members


def records_looked_at(columns: Columns) -> int:
    """By a segment, since it was compiled or opened: each record counts once, however many ask."""
    kept = (one for asked in columns.listed.values() for one in asked.kept)
    return sum(one.records for one in kept if isinstance(one, RecordFinder))


def _codes(wanted: list[int], count: int) -> Ints:
    """Member → its code in a column; 0 for those that are not in it."""
    codes = np.zeros(count, np.int32)
    codes[wanted] = np.arange(FIRST_TRUTH, FIRST_TRUTH + len(wanted))
    return codes
