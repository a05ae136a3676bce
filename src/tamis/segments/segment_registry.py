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

import tamis.batches.json_bytes
import tamis.batches.mappings  # noqa: F401 - not in the midst of a call: a fork would leave the import's lock locked
from tamis import forks
from tamis.batches.batch import ReadBatch
from tamis.errors import LanguageError, LimitError, OptionError, SegmentError, UnknownSubscription
from tamis.kernels.numbering import sorted_hashes
from tamis.language.quick import QuickCheck
from tamis.matches import Matches
from tamis.model import Conjunction, Event, Schema, SubscriptionId
from tamis.registry.attributes import Attributes
from tamis.registry.finishing import finish
from tamis.registry.receipts import Receipt, Unreadable, mistake_in, parse_text
from tamis.segments.collection import Collection
from tamis.segments.compile.statistics import Statistics, observe
from tamis.segments.compile.tuning import DEFAULT, Tuning
from tamis.segments.extending import extended
from tamis.segments.ids import IdColumn
from tamis.segments.keep.beside import until_quiet
from tamis.segments.keep.folder import UNREAD, Folder, Record
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
        verify: str = "full",
        observe: bool = True,
        seed: int = 0,
    ) -> None:
        self.schema = schema
        if statistics is None and folder is not None:
            statistics = folder.statistics
        self.subscriptions = Subscriptions(schema, statistics, tuning)
        self.collection = Collection(self.subscriptions)
        if observe:
            self.collection.watch(seed)
        self._seed, self._moved = seed, 0
        self._quick = QuickCheck(schema)
        self._folder: Folder | None = None
        self._logging = folder is not None and not folder.marked
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
        forks.tell(self)

    def after_fork(self) -> None:
        self._checkpointing, self._writing = forks.renewed(self._checkpointing), forks.renewed(self._writing)

    def _replay(self, records: list[tuple[str, SubscriptionId, str]]) -> None:
        """In memory; the texts were right when they were written, and the ids of a record differ."""
        self._logged += len(records)
        verb, id, text = records[0]
        if verb == "u":
            self.subscriptions.unsubscribe_many([id for _, id, _ in records])
        elif len(records) == 1:
            self.subscriptions.subscribe(id, text, self._parsed(text))
        else:
            texts = pa.array([text for _, _, text in records], pa.large_string())
            self.subscriptions.install(self.subscriptions.prepare(IdColumn.of(id for _, id, _ in records), texts))

    def refresh(self) -> bool:
        """What another process wrote since, each write whole."""
        folder = self._folder
        if folder is None or not folder.read_only:
            raise OptionError("only an engine that reads a folder beside its writer is refreshed; see read_only=True")
        with self._writing:
            if folder.closed:
                raise SegmentError("the engine was closed; open it again to refresh it", str(folder.path))
            return until_quiet(folder.path, self._refresh)

    def _refresh(self) -> bool:
        assert self._folder is not None
        more = self._folder.more()
        if more is None:
            self._read_again()
            return True
        news, replayed = more
        if news:
            self._folder.replayed = UNREAD  # until all is taken in: after an interrupt everything is read again
            for records in news:
                self._replay(records)
            self._folder.replayed = replayed
        return bool(news)

    def _read_again(self) -> None:
        """From the list on, aside; whoever asks meanwhile is answered from what there was."""
        assert self._folder is not None
        old, folder = self._folder, Folder(self._folder.path, read_only=True)
        try:
            read = SegmentRegistry(folder.schema, None, self.subscriptions.tuning, folder, observe=False)
        except BaseException:
            folder.close()
            raise
        self._use(read.subscriptions)  # the writer may have extended the schema
        self._folder = folder
        old.close()

    def _use(self, subscriptions: Subscriptions) -> None:
        collection, quick = Collection(subscriptions), QuickCheck(subscriptions.schema)
        if self.collection.observer is not None:
            collection.watch(self._seed, self.collection.observer)
        self._moved = subscriptions.moved
        self.schema, self.subscriptions, self.collection, self._quick = (
            subscriptions.schema,
            subscriptions,
            collection,
            quick,
        )

    def extend(self, addition: Schema) -> Schema:
        with self._checkpointing, self._writing:
            return self.grow(self.schema.extend(addition))

    def grow(self, schema: Schema) -> Schema:
        """The same with the schema that the extension comes to. Nobody writes meanwhile; whoever reads is answered from
        what there was."""
        with self._checkpointing, self._writing:
            if schema == self.schema:
                return schema
            folder = None if self._in_memory else self._open_folder()
            there, grown = self.subscriptions, extended(self.subscriptions, schema)
            if folder is None:
                self._see_through(grown)
                return schema
            number = folder.number
            try:
                self._use(grown)
                folder.schema = schema
                if self._logging:
                    self.checkpoint()
            except BaseException:
                if self._logging and folder.number == number:
                    folder.schema = there.schema
                    self._see_through(there)
                else:
                    folder.schema = schema
                    self._see_through(grown)
                raise
            return schema

    def _see_through(self, subscriptions: Subscriptions) -> None:
        try:
            self._use(subscriptions)
        except BaseException:
            finish(self._use, subscriptions)
            raise

    @property
    def path(self) -> Path | None:
        return self._folder.path if self._folder is not None else None

    def _write(self, records: list[Record], apply: Callable[[*_Arguments], _T], *arguments: *_Arguments) -> _T:
        """Before a write is applied it is on disk; once it is there, it is applied, whoever interrupts."""
        if not self._logging:
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
        self._folder.check_process()
        if self._folder.closed:
            raise SegmentError("the engine was closed; open it again to write", str(self._folder.path))
        if self._folder.read_only:
            raise SegmentError("this folder is open for reading only: nothing can be written", str(self._folder.path))
        return self._folder

    def _applied(self) -> None:
        """After a write: a long log is turned into segments. If that fails the write stands, for it is in the log."""
        if self._logging and self._logged >= self._checkpoint_at:
            self._checkpoint_at = self._logged + _LONG_LOG
            with suppress(SegmentError):
                self.checkpoint()

    @property
    def mark(self) -> int | None:
        """Of the log, kept elsewhere, that the folder is a checkpoint of."""
        return self._folder.mark if self._folder is not None else None

    def checkpoint_at(self, mark: int) -> None:
        if self._folder is None or not self._folder.marked:
            raise OptionError("only an engine opened with marked=True has checkpoints with marks")
        with self._checkpointing, self._writing:
            segments = self.subscriptions.snapshot(freeze=True).segments
            self._open_folder().checkpoint(segments, self.subscriptions.statistics, mark)

    def checkpoint(self) -> None:
        """Put everything in segment files and start an empty log. Others write while the large files are written."""
        if not self._logging:
            return
        with self._checkpointing:
            self._open_folder().keep(self.subscriptions.snapshot(freeze=True).segments)
            with self._writing:
                moved, segments = self.subscriptions.moved, self.subscriptions.snapshot(freeze=True).segments
                self._open_folder().checkpoint(segments, self.subscriptions.statistics)
                self._logged, self._checkpoint_at = 0, _LONG_LOG
                self._moved = moved

    def save(self, path: Path, mode: int | None = None) -> None:
        """Write everything to a folder; what was there before stays until the new is whole."""
        kept = self._folder
        if kept is not None and (kept.foreign or not kept.closed) and path.exists() and path.samefile(kept.path):
            self.checkpoint()
            return
        folder = Folder(path, self.schema, replace=True, mode=mode)
        try:
            folder.checkpoint(self.subscriptions.snapshot(freeze=True).segments, self.subscriptions.statistics)
        finally:
            folder.close()

    def close(self) -> None:
        """Checkpoint what is logged or was learned, and let the folder go."""
        with self._checkpointing, self._writing:
            if self._folder is not None:
                try:
                    learned = self.subscriptions.moved != self._moved
                    kept = self._folder.closed or self._folder.read_only or not self._logging
                    if (self._logged or learned) and not kept:
                        self.checkpoint()
                finally:
                    self._folder.close()

    def subscribe(self, id: SubscriptionId, text: str) -> Receipt:
        conjunctions = self._parsed(text)
        with self._writing:
            if not self._logging:
                return self.subscriptions.subscribe(id, text, conjunctions)
            receipt = self._write([["s", id, text]], self.subscriptions.subscribe, id, text, conjunctions)
        self._applied()
        return receipt

    def _parsed(self, text: str) -> tuple[Conjunction, ...] | None:
        """None if the text is surely right and can match."""
        sure = isinstance(text, str) and self._quick.surely(text)
        return None if sure else parse_text(text, self.schema)

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
        if self._logging and len(ids) >= _LONG_LOG:
            return self._install_many(prepared)
        with self._writing:
            pairs = zip(ids.listed(), texts.to_pylist(), strict=True) if self._logging else ()
            receipt = self._write([["s", id, text] for id, text in pairs], self.subscriptions.install, prepared)
        self._applied()
        return receipt

    def _install_many(self, prepared: Prepared) -> Receipt:
        """Past the log, straight into segment files."""
        with self._checkpointing:
            self._open_folder().keep([prepared.compiled.segment])
            return self._checkpointed(self.subscriptions.install, prepared)

    def _checkpointed(self, apply: Callable[[*_Arguments], _T], *arguments: *_Arguments) -> _T:
        """A change that no log has: undone if it cannot be put in the list of segments. Nobody else checkpoints."""
        with self._writing:
            folder = self._open_folder()
            before, number = self.subscriptions.snapshot(), folder.number
            try:
                found = apply(*arguments)
                self.checkpoint()
            except BaseException:
                if folder.number == number:
                    finish(self.subscriptions.restore, before)
                raise
        return found

    def unsubscribe(self, id: SubscriptionId) -> None:
        with self._writing:
            if self._logging and id not in self.subscriptions:
                raise UnknownSubscription(id)  # before it is in the log; without a log it is said below
            self._write([["u", id]], self.subscriptions.unsubscribe, id)
        self._applied()

    def unsubscribe_many(self, ids: Sequence[SubscriptionId]) -> None:
        with self._writing:
            known = list(dict.fromkeys(ids))
            for id in known:
                if id not in self.subscriptions:
                    raise UnknownSubscription(id)
            if known:
                self._write([["u", id] for id in known], self.subscriptions.unsubscribe_many, known)
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
        statistics = observe(events)
        if self._in_memory or not self._logging:
            with self.subscriptions.recompiled(statistics) as renewed:
                self.subscriptions.exchange(renewed, statistics)
            return
        folder = self._open_folder()
        with self.subscriptions.recompiled(statistics) as renewed, self._checkpointing:
            folder.keep([new for _, new in renewed])
            self._checkpointed(self.subscriptions.exchange, renewed, statistics)

    def settle(self) -> None:
        """Wait until nothing is left to merge, and to move for what passing events have told."""
        if self.collection.observer is None:
            self.subscriptions.finish_merging()
        else:
            self.collection.observer.settle()

    @property
    def _in_memory(self) -> bool:
        """Whether no folder is to be written, because there is none, or none any more."""
        folder = self._folder
        return folder is None or folder.read_only or (folder.closed and not folder.foreign)

    def text(self, id: SubscriptionId) -> str:
        return self.subscriptions.text(id)

    def items(self) -> list[tuple[SubscriptionId, str]]:
        return self.collection.items()

    def __len__(self) -> int:
        return len(self.subscriptions)

    def __contains__(self, id: object) -> bool:
        return id in self.subscriptions

    def stats(self) -> dict[str, Any]:
        if self._folder is None:
            return self.collection.stats()
        recovered = self._folder.recovered
        return self.collection.stats() | {"recovered": None if recovered is None else recovered._asdict()}

    def attributes(self) -> Attributes:
        return self.collection.attributes()

    def check(self) -> None:
        self.collection.check()
