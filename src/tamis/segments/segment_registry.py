"""The adaptive engine behind the engine's door: columns in, columns out."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch, batch_of_events
from tamis.errors import SegmentError, UnknownSubscription
from tamis.kernels.numbering import sorted_hashes
from tamis.language.quick import QuickCheck
from tamis.model import Event, Kind, Schema, SubscriptionId
from tamis.registry.plain import (
    Attributes,
    Found,
    Receipt,
    arrow_ids,
    at_row,
    attributes_of,
    parse_row,
    parse_text,
)
from tamis.segments.collection import Collection
from tamis.segments.compile.statistics import Statistics, observe
from tamis.segments.compile.tuning import DEFAULT, Tuning
from tamis.segments.ids import IdColumn
from tamis.segments.keep.folder import Folder, Record
from tamis.segments.segment import Segment
from tamis.segments.subscriptions import Prepared, Rejected

__all__ = ["SegmentIds", "SegmentRegistry"]

_PLAIN_STRING_BYTES = 1 << 30
"""Columns of ids up to this size are ordinary Arrow strings, as users expect."""
_LONG_LOG = 10_000
"""Writes after which a log is turned into segments; a larger batch never goes through the log."""


class SegmentIds:
    """The ids of several segments under one range of codes."""

    def __init__(self, segments: Sequence[Segment], bases: list[int]) -> None:
        self._segments = segments
        self._bases = bases

    def __len__(self) -> int:
        """One more than the last code; between two segments a few codes stand for nobody."""
        return self._bases[-1] + self._segments[-1].rows if self._segments else 0

    def __getitem__(self, code: int) -> SubscriptionId:
        if not 0 <= code < len(self):
            raise IndexError(code)
        at = bisect_right(self._bases, code) - 1
        return self._segments[at].ids[int(code) - self._bases[at]]

    def listed(self, codes: npt.NDArray[np.integer]) -> list[SubscriptionId]:
        """The ids of many codes; what it costs grows with their number, not with that of all ids."""
        of = self._segments_of(codes)
        if len(of) and (of == of[0]).all():
            return self._segments[of[0]].ids.at(codes - self._bases[of[0]])
        return self._take(codes, of).listed() if len(of) else []

    def column(self, codes: npt.NDArray[np.integer]) -> pa.Array:
        """The same in Arrow."""
        if not len(codes):
            return arrow_ids([])
        found = self._take(codes, self._segments_of(codes))
        if found.marked:
            return arrow_ids(found.listed())
        fits = pa.types.is_large_string(found.array.type) and found.array.nbytes < _PLAIN_STRING_BYTES
        return found.array.cast(pa.string()) if fits else found.array

    def _segments_of(self, codes: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
        return np.searchsorted(self._bases, codes, side="right") - 1

    def _take(self, codes: npt.NDArray[np.integer], of: npt.NDArray[np.intp]) -> IdColumn:
        """Segment by segment, then put in order; `of` is the segment of each code."""
        order = np.argsort(of, kind="stable")
        ends = np.searchsorted(of[order], np.arange(len(self._segments) + 1))
        pieces = [
            segment.ids.take(codes[order[first:last]].astype(np.int64) - base)
            for segment, base, first, last in zip(self._segments, self._bases, ends, ends[1:], strict=False)
            if first < last
        ]
        if len(pieces) == 1:
            return pieces[0]
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return IdColumn.concat(pieces).take(places)


class SegmentRegistry:
    """A `Registry` over a `Collection`."""

    def __init__(
        self,
        schema: Schema,
        statistics: Statistics | None = None,
        tuning: Tuning = DEFAULT,
        folder: Folder | None = None,
        verify: bool = True,
    ) -> None:
        self.schema = schema
        if statistics is None and folder is not None:
            statistics = folder.statistics
        self.collection = Collection(schema, statistics, tuning)
        self._quick = QuickCheck(schema)
        self._folder: Folder | None = None
        self._checkpointing = threading.RLock()  # taken before the next, by those who take both
        self._writing = threading.RLock()
        self._logged = 0
        self._checkpoint_at = _LONG_LOG
        if folder is not None:
            for segment in folder.segments(verify=verify):
                self.collection.adopt(segment)
            for records in folder.replay():
                self._replay(records)
            self._folder = folder

    def _replay(self, records: list[tuple[str, SubscriptionId, str]]) -> None:
        self._logged += len(records)
        if records[0][0] == "u":
            self.unsubscribe(records[0][1])
        elif len(records) == 1:
            self.subscribe(records[0][1], records[0][2])
        else:
            self.subscribe_many((id, text) for _, id, text in records)

    def _log(self, records: list[Record]) -> None:
        """Before a write is applied it is on disk."""
        if self._folder is not None:
            self._open_folder().append(records)
            self._logged += len(records)

    def _open_folder(self) -> Folder:
        assert self._folder is not None
        if self._folder.closed:
            raise SegmentError("the engine was closed; open it again to write", str(self._folder.path))
        return self._folder

    def _applied(self) -> None:
        """After a write: a long log is turned into segments. If that fails the write stands, for it is in the log."""
        if self._folder is not None and self._logged >= self._checkpoint_at:
            self._checkpoint_at = self._logged + _LONG_LOG
            with suppress(SegmentError):
                self.checkpoint()

    def checkpoint(self) -> None:
        """Put everything in segment files and start an empty log. Others write while the large files are written."""
        if self._folder is None:
            return
        with self._checkpointing:
            self._open_folder().keep(self.collection.snapshot(freeze=True).segments)
            with self._writing:
                segments = self.collection.snapshot(freeze=True).segments
                self._open_folder().checkpoint(segments, self.collection.statistics)
                self._logged, self._checkpoint_at = 0, _LONG_LOG

    def save(self, path: Path) -> None:
        """Write everything to a folder; what was there before stays until the new is whole."""
        kept = self._folder
        if kept is not None and not kept.closed and path.exists() and path.samefile(kept.path):
            self.checkpoint()
            return
        folder = Folder(path, self.schema, replace=True)
        try:
            folder.checkpoint(self.collection.snapshot(freeze=True).segments, self.collection.statistics)
        finally:
            folder.close()

    def close(self) -> None:
        """Checkpoint what is logged and let the folder go."""
        with self._checkpointing, self._writing:
            if self._folder is not None and not self._folder.closed:
                try:
                    if self._logged:
                        self.checkpoint()
                finally:
                    self._folder.close()

    def subscribe(self, id: SubscriptionId, text: str) -> Receipt:
        sure = isinstance(text, str) and self._quick.surely(text)
        conjunctions = None if sure else parse_text(text, self.schema)
        with self._writing:
            self._log([["s", id, text]])
            receipt = Receipt(*self.collection.subscribe(id, text, conjunctions))
        self._applied()
        return receipt

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

    def subscribe_columns(self, plain_ids: pa.Array, texts: pa.Array) -> Receipt:
        """Columns of strings or int64 without nulls; an id that comes twice has its last text."""
        ids = IdColumn(plain_ids)
        hashes, _ = sorted_hashes(ids.hashes)
        if (hashes[1:] == hashes[:-1]).any():
            return self.subscribe_many(zip(ids.listed(), texts.to_pylist(), strict=True))
        return self._subscribe_columns(ids, texts, range(len(ids)))

    def _subscribe_columns(self, ids: IdColumn, texts: pa.Array, rows: Sequence[int]) -> Receipt:
        if not len(ids):
            return Receipt(0, 0, ())
        try:
            prepared = self.collection.prepare(ids, texts)
        except Rejected as rejected:
            raise at_row(rows[rejected.row], ids[rejected.row], rejected.reason) from None
        if self._folder is not None and len(ids) >= _LONG_LOG:
            return self._install_many(prepared)
        with self._writing:
            if self._folder is not None:
                self._log([["s", id, text] for id, text in zip(ids.listed(), texts.to_pylist(), strict=True)])
            receipt = Receipt(*self.collection.install(prepared))
        self._applied()
        return receipt

    def _install_many(self, prepared: Prepared) -> Receipt:
        """Past the log, straight into segment files; undone if they cannot be written."""
        with self._checkpointing:
            self._open_folder().keep([prepared.compiled.segment])
            with self._writing:
                before = self.collection.snapshot()
                receipt = Receipt(*self.collection.install(prepared))
                try:
                    self.checkpoint()
                except BaseException:
                    self.collection.restore(before)
                    raise
        return receipt

    def unsubscribe(self, id: SubscriptionId) -> None:
        with self._writing:
            if self._folder is not None and id not in self.collection:
                raise UnknownSubscription(id)  # before it is in the log; without a log the collection says so itself
            self._log([["u", id]])
            self.collection.unsubscribe(id)
        self._applied()

    def match(self, event: Event) -> list[SubscriptionId]:
        return self.collection.match(event)

    def match_mapping(self, raw: Mapping[str, object]) -> list[SubscriptionId] | None:
        """The answer to a mapping of plain values; None if it must be read as an event first."""
        return self.collection.match_mapping(raw)

    def match_many(self, events: Sequence[Event]) -> Found:
        return self.match_batch(batch_of_events(events, self.schema))

    def match_batch(self, batch: Batch, threads: int = 1) -> Found:
        answer = self.collection.match_batch(batch, threads)
        return Found(answer.offsets, answer.rows, SegmentIds(answer.segments, answer.bases))

    def count_batch(self, batch: Batch) -> npt.NDArray[np.int64]:
        """The number of matches of each event."""
        return self.collection.count_batch(batch)

    def observe(self, events: Iterable[Event]) -> None:
        """Compile everything again with what a sample of events tells; a durable engine keeps it with the segments."""
        self.collection.use_statistics(observe(events))
        if self._folder is not None and not self._folder.closed:
            self.checkpoint()

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

    def attributes(self) -> Attributes:
        found: Attributes = {}
        snapshot = self.collection.snapshot()
        for held in snapshot.delta.values():
            attributes_of(held.conjunctions(self.schema), found)
        for columns in (segment.layout.columns for segment in snapshot.segments):
            for name, codes in columns.attributes.items():
                kinds = codes.dictionaries if codes.names is None else (Kind.STRING,)
                found.setdefault(name, set()).update(map(Kind, kinds))
            attributes_of((truth.members for truth in columns.truths), found)
        return found

    def check(self) -> None:
        self.collection.check()
