"""The adaptive engine behind the engine's door: columns in, columns out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import ReadBatch
from tamis.errors import LanguageError, LimitError, SegmentError, UnknownSubscription
from tamis.kernels.numbering import sorted_hashes
from tamis.language.quick import QuickCheck
from tamis.matches import Matches
from tamis.model import Event, Schema, SubscriptionId
from tamis.registry.attributes import Attributes
from tamis.registry.finishing import finish
from tamis.registry.receipts import Receipt, Unreadable, mistake_in, parse_text
from tamis.segments.collection import Collection
from tamis.segments.compile.statistics import Statistics, observe
from tamis.segments.compile.tuning import DEFAULT, Tuning
from tamis.segments.ids import IdColumn
from tamis.segments.keep.folder import Folder, Record
from tamis.segments.subscriptions import Prepared, Subscriptions

__all__ = ["SegmentRegistry"]

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")

_Mistake = tuple[int, SubscriptionId, LanguageError | LimitError]
"""A text that cannot be read: its row, its id and why."""
_LONG_LOG = 10_000
"""Writes after which a log is turned into segments; a larger batch never goes through the log."""


class SegmentRegistry:
    """A `Registry`: subscriptions that are written, logged, and asked as a `Collection`."""

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
        self.subscriptions = Subscriptions(schema, statistics, tuning)
        self.collection = Collection(self.subscriptions)
        self._quick = QuickCheck(schema)
        self._folder: Folder | None = None
        self._checkpointing = threading.RLock()  # taken before the next, by those who take both
        self._writing = threading.RLock()
        self._logged = 0
        self._checkpoint_at = _LONG_LOG
        if folder is not None:
            for segment in folder.segments(verify=verify):
                self.subscriptions.adopt(segment)
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

    def _write(self, records: list[Record], apply: Callable[[*_Arguments], _T], *arguments: *_Arguments) -> _T:
        """Before a write is applied it is on disk; once it is there, it is applied, whoever interrupts."""
        if self._folder is None:
            return apply(*arguments)
        folder = self._open_folder()
        logged, applied = folder.log_bytes, self.subscriptions.applied
        try:
            folder.append(records)
            self._logged += len(records)
            return apply(*arguments)
        except BaseException:
            if folder.log_bytes != logged:
                finish(self._apply_once, applied, partial(apply, *arguments))
            raise

    def _apply_once(self, applied: int, apply: Callable[[], object]) -> None:
        if self.subscriptions.applied == applied:
            apply()

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
            self._open_folder().keep(self.subscriptions.snapshot(freeze=True).segments)
            with self._writing:
                segments = self.subscriptions.snapshot(freeze=True).segments
                self._open_folder().checkpoint(segments, self.subscriptions.statistics)
                self._logged, self._checkpoint_at = 0, _LONG_LOG

    def save(self, path: Path) -> None:
        """Write everything to a folder; what was there before stays until the new is whole."""
        kept = self._folder
        if kept is not None and not kept.closed and path.exists() and path.samefile(kept.path):
            self.checkpoint()
            return
        folder = Folder(path, self.schema, replace=True)
        try:
            folder.checkpoint(self.subscriptions.snapshot(freeze=True).segments, self.subscriptions.statistics)
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
            if self._folder is None:
                return self.subscriptions.subscribe(id, text, conjunctions)
            receipt = self._write([["s", id, text]], self.subscriptions.subscribe, id, text, conjunctions)
        self._applied()
        return receipt

    def subscribe_many(self, pairs: Iterable[tuple[SubscriptionId, str]]) -> Receipt:
        listed = list(pairs)
        last = {id: row for row, (id, _) in enumerate(listed)}
        rows = sorted(last.values())
        again = sorted(set(range(len(listed))) - set(rows)) if len(rows) < len(listed) else []
        unreadable = self._unreadable(listed, again)  # a text that is replaced at once must be right all the same
        ids = IdColumn.of(listed[row][0] for row in rows)
        try:
            texts = pa.array([listed[row][1] for row in rows], pa.large_string())
        except (pa.ArrowException, UnicodeError, TypeError):
            raise Unreadable(self._unreadable(listed, range(len(listed)))) from None  # some text is none
        return self._subscribe_columns(ids, texts, rows, unreadable)

    def _unreadable(self, pairs: Sequence[tuple[SubscriptionId, str]], rows: Iterable[int]) -> list[_Mistake]:
        found = ((row, pairs[row][0], mistake_in(pairs[row][1], self.schema)) for row in rows)
        return [(row, id, mistake) for row, id, mistake in found if mistake is not None]

    def subscribe_columns(self, ids: pa.Array, texts: pa.Array) -> Receipt:
        column = IdColumn(ids)
        hashes, _ = sorted_hashes(column.hashes)
        if (hashes[1:] == hashes[:-1]).any():
            return self.subscribe_many(zip(column.listed(), texts.to_pylist(), strict=True))
        return self._subscribe_columns(column, texts, range(len(column)))

    def _subscribe_columns(
        self, ids: IdColumn, texts: pa.Array, rows: Sequence[int], unreadable: Sequence[_Mistake] = ()
    ) -> Receipt:
        if not len(ids):
            return Receipt(0, 0, ())
        prepared = self.subscriptions.prepare(ids, texts)
        if unreadable or prepared.compiled.rejected:
            found = [(rows[row], ids[row], error) for row, error in prepared.compiled.rejected]
            raise Unreadable([*unreadable, *found])
        if self._folder is not None and len(ids) >= _LONG_LOG:
            return self._install_many(prepared)
        with self._writing:
            pairs = zip(ids.listed(), texts.to_pylist(), strict=True) if self._folder is not None else ()
            receipt = self._write([["s", id, text] for id, text in pairs], self.subscriptions.install, prepared)
        self._applied()
        return receipt

    def _install_many(self, prepared: Prepared) -> Receipt:
        """Past the log, straight into segment files; undone if they cannot be written."""
        assert self._folder is not None
        with self._checkpointing:
            self._open_folder().keep([prepared.compiled.segment])
            with self._writing:
                before, number = self.subscriptions.snapshot(), self._open_folder().number
                try:
                    receipt = self.subscriptions.install(prepared)
                    self.checkpoint()
                except BaseException:
                    if self._folder.number == number:
                        finish(self.subscriptions.restore, before)
                    raise
        return receipt

    def unsubscribe(self, id: SubscriptionId) -> None:
        with self._writing:
            if self._folder is not None and id not in self.subscriptions:
                raise UnknownSubscription(id)  # before it is in the log; without a log it is said below
            self._write([["u", id]], self.subscriptions.unsubscribe, id)
        self._applied()

    def match(self, raw: Mapping[str, object]) -> list[SubscriptionId]:
        return self.collection.match(raw)

    def match_event(self, event: Event) -> list[SubscriptionId]:
        return self.collection.match_event(event)

    def match_many(self, read: ReadBatch, threads: int = 1) -> Matches:
        return self.collection.match_many(read, threads)

    def count_many(self, read: ReadBatch) -> npt.NDArray[np.int64]:
        return self.collection.count_many(read)

    def observe(self, events: Sequence[Event]) -> None:
        """Compile everything again with what a sample of events tells; a durable engine keeps it with the segments."""
        self.subscriptions.use_statistics(observe(events))
        if self._folder is not None and not self._folder.closed:
            self.checkpoint()

    def text(self, id: SubscriptionId) -> str:
        return self.subscriptions.text(id)

    def items(self) -> list[tuple[SubscriptionId, str]]:
        return self.collection.items()

    def __len__(self) -> int:
        return len(self.subscriptions)

    def __contains__(self, id: object) -> bool:
        return id in self.subscriptions

    def stats(self) -> dict[str, Any]:
        return self.collection.stats()

    def attributes(self) -> Attributes:
        return self.collection.attributes()

    def check(self) -> None:
        self.collection.check()
