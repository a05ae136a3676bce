"""The adaptive engine behind the engine's door: columns in, columns out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import LanguageError, LimitError
from tamis.matchers.registry import Found, Receipt, at_row, parse_row, parse_text
from tamis.model import Event, Schema, SubscriptionId
from tamis.segments.collection import Collection, Rejected
from tamis.segments.events import Batch, batch_of_arrow, batch_of_events
from tamis.segments.ids import IdColumn
from tamis.segments.segment import Segment
from tamis.segments.statistics import Statistics, observe
from tamis.segments.tuning import DEFAULT, Tuning

__all__ = ["SegmentIds", "SegmentRegistry"]


class SegmentIds(Sequence[SubscriptionId]):  # type: ignore[misc]  # __getitem__ takes positions only
    """The ids of several segments under one range of codes."""

    def __init__(self, segments: Sequence[Segment], bases: list[int]) -> None:
        self._segments = segments
        self._bases = bases

    def __len__(self) -> int:
        return sum(segment.rows for segment in self._segments)

    def __getitem__(self, code: int) -> SubscriptionId:  # type: ignore[override]
        at = bisect_right(self._bases, code) - 1
        return self._segments[at].ids[code - self._bases[at]]

    def take(self, codes: npt.NDArray[np.int64]) -> IdColumn:
        """The ids of many codes as a column."""
        if not self._segments:
            return IdColumn(pa.array([], pa.large_string()))
        return IdColumn.concat([segment.ids for segment in self._segments]).take(codes)


class SegmentRegistry:
    """A `Registry` over a `Collection`."""

    def __init__(self, schema: Schema, statistics: Statistics | None = None, tuning: Tuning = DEFAULT) -> None:
        self.schema = schema
        self.collection = Collection(schema, statistics, tuning)

    def subscribe(self, id: SubscriptionId, text: str) -> Receipt:
        return Receipt(*self.collection.subscribe(id, text, parse_text(text, self.schema)))

    def subscribe_many(self, pairs: Iterable[tuple[SubscriptionId, str]]) -> Receipt:
        listed = list(pairs)
        last = {id: row for row, (id, _) in enumerate(listed)}
        rows = sorted(last.values())
        for row in sorted(set(range(len(listed))) - set(rows)) if len(rows) < len(listed) else []:
            parse_row(row, *listed[row], self.schema)  # a text that is replaced at once must be right all the same
        ids = IdColumn.of(listed[row][0] for row in rows)
        try:
            texts = pa.array([listed[row][1] for row in rows], pa.large_string())
        except (pa.ArrowException, UnicodeError, TypeError):
            for row in rows:  # find the text that is none
                parse_row(row, *listed[row], self.schema)
            raise
        return self._subscribe_columns(ids, texts, rows)

    def subscribe_columns(self, ids: IdColumn, texts: pa.Array) -> Receipt:
        """Columns without nulls; an id that comes twice has its last text."""
        order = np.argsort(ids.hashes, kind="stable")
        if len(ids) > 1 and (np.diff(ids.hashes[order]) == 0).any():
            return self.subscribe_many(zip(ids.listed(), texts.to_pylist(), strict=True))
        return self._subscribe_columns(ids, texts, range(len(ids)))

    def _subscribe_columns(self, ids: IdColumn, texts: pa.Array, rows: Sequence[int]) -> Receipt:
        try:
            return Receipt(*self.collection.subscribe_many(ids, texts))
        except Rejected as error:
            assert isinstance(error.reason, LanguageError | LimitError)
            raise at_row(rows[error.row], ids[error.row], error.reason) from None

    def unsubscribe(self, id: SubscriptionId) -> None:
        self.collection.unsubscribe(id)

    def match(self, event: Event) -> list[SubscriptionId]:
        return self.collection.match(event)

    def match_many(self, events: Sequence[Event]) -> Found:
        return self.match_batch(batch_of_events(events, self.schema))

    def match_batch(self, batch: Batch, threads: int = 1) -> Found:
        answer = self.collection.match_batch(batch, threads)
        return Found(answer.offsets, answer.rows, SegmentIds(answer.segments, answer.bases))

    def count_batch(self, batch: Batch) -> npt.NDArray[np.int64]:
        """The number of matches of each event."""
        return self.collection.count_batch(batch)

    def read_arrow(self, table: pa.Table | pa.RecordBatch) -> Batch:
        return batch_of_arrow(table, self.schema)

    def observe(self, events: Iterable[Event]) -> None:
        self.collection.use_statistics(observe(events))

    def text(self, id: SubscriptionId) -> str:
        return self.collection.text(id)

    def items(self) -> list[tuple[SubscriptionId, str]]:
        return self.collection.items()

    def __len__(self) -> int:
        return len(self.collection)

    def __contains__(self, id: object) -> bool:
        return id in self.collection

    def stats(self) -> dict[str, Any]:
        return self.collection.stats()

    def check(self) -> None:
        self.collection.check()
