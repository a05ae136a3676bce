"""The matcher: reads the log in order, and writes for each position who was met.

A batch of records is taken up to a schema's record. Whoever was born in it is subscribed first, whoever died in it is
taken out last; in between the union is matched, and of the matches those count where `born <= position < died`. So
changes among events do not cut batches, and where batches are cut does not change what is found.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.model import Schema
from tamis.segments.segment_registry import SegmentRegistry
from tamis.service.asking import Found, ask_run, runs_of
from tamis.service.blocks import Block
from tamis.service.changes import Change
from tamis.service.feed_index import FeedIndex
from tamis.service.handles import Handles
from tamis.service.settings import Settings
from tamis.store.derived import Derived, State
from tamis.store.log import Log, Record

__all__ = ["Matched", "Matcher", "subscribe"]

Longs = npt.NDArray[np.int64]

_RECORDS_AT_ONCE = 256


@dataclass
class Matched:
    """One batch, on disk."""

    blocks: list[Block]
    records: list[Record]
    feeds: Longs
    """Those that have news, or are gone."""


def subscribe(registry: SegmentRegistry, born: list[tuple[int, str]]) -> None:
    """Handles and texts."""
    if len(born) == 1:
        registry.subscribe(*born[0])
    elif born:
        ids = pa.array([handle for handle, _ in born], pa.int64())
        registry.subscribe_columns(ids, pa.array([text for _, text in born], pa.large_string()))


class Matcher:
    """One thread at a time calls `match_once`; `reached` and `index.seen` are for all."""

    def __init__(
        self,
        stores: tuple[Log, Derived],
        registry: SegmentRegistry,
        known: tuple[Handles, FeedIndex],
        settings: Settings,
    ) -> None:
        self._log, self._derived = stores
        self.registry = registry
        self.handles, self.index = known
        self.settings = settings
        meta = self._log.meta()
        assert meta is not None
        self.made = meta.made
        self.state = self._derived.state() or State(meta.made, meta.epoch, self.reached)
        self.head = np.zeros(64, np.int64)
        """By feed, the newest position with a notification since the start."""
        self.engine_lock = threading.Lock()
        """Held while the dead are taken out and `reached` moves: who holds it sees the engine as of `reached`."""
        self._inbox: deque[Record] = deque()
        self._inbox_bytes = 0
        self._inbox_lock = threading.Lock()
        self.matched: Callable[[Matched], None] = lambda matched: None
        self.changes = 0
        """Since the last checkpoint."""
        self.failed = 0

    @property
    def reached(self) -> int:
        return self.index.seen.reached

    def failure(self, position: int) -> list[str]:
        """Why an event could not be matched, if it could not."""
        return list(self._derived.failed(position, position).values())

    # -- what is to be matched --------------------------------------------------------------------------------

    def offer(self, records: Iterable[Record]) -> None:
        """Records as they are committed; past a bound of bytes they are read from the log instead."""
        with self._inbox_lock:
            for record in records:
                if self._inbox_bytes + len(record.body) <= self.settings.memory_bytes:
                    self._inbox.append(record)
                    self._inbox_bytes += len(record.body)

    def _offered(self, after: int) -> Iterator[Record]:
        """What was offered and follows without a gap."""
        while True:
            with self._inbox_lock:
                while self._inbox and self._inbox[0].first <= after:
                    self._inbox_bytes -= len(self._inbox.popleft().body)
                if not self._inbox or self._inbox[0].first != after + 1:
                    return
                record = self._inbox.popleft()
                self._inbox_bytes -= len(record.body)
            yield record
            after = record.last

    def _coming(self) -> Iterator[Record]:
        after = self.reached
        for record in self._offered(after):
            yield record
            after = record.last
        while records := self._log.records(after, _RECORDS_AT_ONCE):
            yield from records
            after = records[-1].last

    def _batch(self) -> list[Record]:
        """Records up to a bound of events; a schema's record is a batch of its own."""
        batch: list[Record] = []
        events = 0
        for record in self._coming():
            if record.kind == "schema" and batch:
                break
            batch.append(record)
            events += record.last - record.first + 1
            if record.kind == "schema" or events >= self.settings.batch_events:
                break
        return batch

    # -- matching ---------------------------------------------------------------------------------------------

    def match_once(self) -> bool:
        """Match one batch, and say whether there was one."""
        records = self._batch()
        if not records:
            return False
        if records[0].kind == "schema":
            self.registry.grow(Schema.loads(records[0].body.decode()))
        changes = [(record.first, Change.loads(record.body)) for record in records if record.codec == "change"]
        dead = self.apply(changes)
        found = self._ask([record for record in records if record.kind == "events"])
        blocks = self._blocks(records[0].first, records[-1].last, found, mixed=bool(changes))
        try:
            self._write(blocks, found.failed)
        except BaseException:
            self.index.take_back()
            raise
        with self.engine_lock:
            self.bury(dead)
            self.index.publish()
        self._tell(blocks, records, [no for _, change in changes for no in change.ended])
        return True

    def apply(self, changes: list[tuple[int, Change]]) -> list[int]:
        """Subscribe whoever was born, and note who died, which are given back."""
        dead: list[int] = []
        born: list[tuple[int, str]] = []
        for position, change in changes:
            if change.born:
                handles = np.array([birth[0] for birth in change.born], np.int64)
                self.handles.add(handles, np.array([birth[2] for birth in change.born], np.int64), position)
                born += [(birth[0], birth[3]) for birth in change.born]
            if change.feeds:
                self.feed_room(max(feed[0] for feed in change.feeds) + 1)
            if change.died:
                self.handles.end(np.array(change.died, np.int64), position)
                dead += change.died
            self.changes += len(change)
        subscribe(self.registry, born)
        return dead

    def bury(self, dead: list[int]) -> None:
        if here := [handle for handle in dead if handle in self.registry]:
            self.registry.unsubscribe_many(here)

    def feed_room(self, feeds: int) -> None:
        self.index.room(feeds)
        if feeds > len(self.head):
            self.head = np.concatenate([self.head, np.zeros(max(feeds, 2 * len(self.head)) - len(self.head), np.int64)])

    def _ask(self, records: list[Record]) -> Found:
        found = Found()
        for positions, run in runs_of(records):
            ask_run(self.registry, run, positions, self.settings.block_matches, found)
        return found

    def _blocks(self, first: int, last: int, found: Found, *, mixed: bool) -> list[Block]:
        """They tile the batch; each has a bounded number of matches, unless one event has more. Where nobody was born
        or died in it, whoever was asked lives."""
        positions, handles = found.matches()
        if mixed:
            kept = self.handles.living(handles, positions)
            positions, handles = positions[kept], handles[kept]
        most = self.settings.block_matches
        if len(handles) <= most:
            return [Block.of(first, last, positions - first, handles)]
        ends = np.cumsum(np.bincount(positions - first, minlength=last - first + 1))
        blocks, begin = [], 0
        while begin <= last - first:
            before = int(ends[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(ends, before + most, "right")), begin + 1)
            here = (positions >= first + begin) & (positions < first + end)
            blocks.append(Block.of(first + begin, first + end - 1, positions[here] - first - begin, handles[here]))
            begin = end
        return blocks

    def _write(self, blocks: list[Block], failed: dict[int, str]) -> None:
        state = self.state
        with self._derived.writing() as writing:
            for block in blocks:
                row = block.packed()
                writing.add_block(row)
                more = (state.blocks + 1, state.matches + row.matches, state.bytes + len(row.data))
                state = State(*state[:2], block.last, *more)
                writing.add_nodes(self.index.take(block, self.handles.feed_of[block.handles]))
            if failed:
                writing.add_failed(failed.items())
            writing.reach(state)
        self.state = state
        self.failed += len(failed)

    def _tell(self, blocks: list[Block], records: list[Record], ended: list[int]) -> None:
        news = np.zeros(len(self.head), bool)
        news[ended] = True
        for block in blocks:
            feeds = self.handles.feed_of[block.handles]
            self.head[feeds] = np.repeat(np.arange(block.first, block.last + 1), np.diff(block.offsets))
            news[feeds] = True
        self.matched(Matched(blocks, records, np.flatnonzero(news)))
