"""Reading feeds and stored events: from the index to chunks, from these to blocks, to handles, to names.

Nothing is locked and no transaction stays open: what was reached never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tamis.batches.arrow_rows import raws
from tamis.errors import EventError, UnknownFeed, UnknownPosition
from tamis.service.answers import Notification, Page
from tamis.service.blocks import Block
from tamis.service.door import arrow_event, read_line, table_of
from tamis.service.feed_index import CHUNK_BITS, LEVELS, SHARD_BITS, Walk
from tamis.service.keeping import Kept
from tamis.service.matcher import Matcher
from tamis.service.settings import Settings
from tamis.service.subscribing import moment
from tamis.store.derived import Derived
from tamis.store.log import FeedRow, Log, Record

__all__ = ["Reader", "Stored", "StoredEvent"]


@dataclass(frozen=True)
class StoredEvent:
    """An event of the log: its text as published, when that was, the schema's version it was read under."""

    position: int
    text: bytes
    at: int
    version: int


class Stored:
    """A record of events, cut into its events."""

    def __init__(self, record: Record) -> None:
        self.record = record
        arrow = record.codec == "arrow"
        self._events: list[bytes] | pa.Table = table_of(record.body) if arrow else record.body.split(b"\n")

    def event(self, position: int) -> StoredEvent:
        at = position - self.record.first
        text = arrow_event(self._events, at) if isinstance(self._events, pa.Table) else self._events[at]
        return StoredEvent(position, text, self.record.at, self.record.schema)


@dataclass
class _Found:
    """A page in the making: positions and handles; names are looked up for all at once."""

    limit: int
    most_bytes: int
    events: list[tuple[StoredEvent, list[int]]] = field(default_factory=list)
    bytes: int = 0

    def add(self, event: StoredEvent, handles: list[int]) -> bool:
        """Whether the page is full now."""
        self.events.append((event, handles))
        self.bytes += len(event.text) + 32 * len(handles)
        return len(self.events) >= self.limit or self.bytes >= self.most_bytes


class Reader:
    """Called from any thread."""

    def __init__(self, log: Log, derived: Derived, matcher: Matcher, settings: Settings) -> None:
        self._log = log
        self._derived = derived
        self._matcher = matcher
        self._settings = settings
        self._blocks: Kept[int, Block] = Kept(settings.cache_bytes // 2)
        self._records: Kept[int, Stored] = Kept(settings.cache_bytes // 2)

    # -- events and blocks ------------------------------------------------------------------------------------

    def event(self, position: int) -> StoredEvent:
        """`UnknownPosition` if none has it."""
        first = self._log.record_begin(position)
        stored = None if first is None else self._records.get(first)
        if stored is None:
            record = self._log.record_at(position)
            if record is None or record.kind != "events":
                raise UnknownPosition(position)
            stored = Stored(record)
            self._records.put(record.first, stored, 2 * len(record.body) + 64 * (record.last - record.first + 1))
        return stored.event(position)

    def raw(self, position: int) -> Mapping[str, object]:
        """The event as a mapping, for whoever reads it under a schema."""
        self.event(position)
        record = self._log.record_at(position)
        assert record is not None
        if record.codec == "arrow":
            (found,) = raws(table_of(record.body).slice(position - record.first, 1))
            assert not isinstance(found, EventError)
            return found
        read = read_line(self.event(position).text)
        assert not isinstance(read, EventError)
        return read

    def latest(self, count: int) -> Iterator[Record]:
        """Records with the last so many events, the newest first."""
        before, left = self._matcher.reached, count
        while left > 0 and (records := self._log.records_before(before, 16)):
            for record in records:
                if left <= 0:
                    return
                yield record
                left -= record.last - record.first + 1
            before = records[-1].first - 1

    def blocks(self, first: int, last: int) -> Iterator[Block]:
        """Those that have these positions, all of which were reached."""
        for begin, _ in self._derived.block_spans(first, last):
            block = self._blocks.get(begin)
            if block is None:
                block = Block.unpacked(self._derived.block(begin))
                self._blocks.put(begin, block, block.nbytes)
            yield block

    def keep(self, block: Block) -> None:
        """One that was just made, and will be read soon."""
        self._blocks.put(block.first, block, block.nbytes)

    @property
    def kept_bytes(self) -> int:
        return self._blocks.bytes + self._records.bytes

    def counts(self, first: int, last: int) -> list[int]:
        found: list[int] = []
        for block in self.blocks(first, last):
            found += block.counts(max(first, block.first), min(last, block.last)).tolist()
        return found

    # -- feeds ------------------------------------------------------------------------------------------------

    def feed(self, name: str) -> FeedRow:
        row = self._log.feed(name)
        if row is None:
            raise UnknownFeed(name)
        return row

    def page(self, name: str, after: int | None, limit: int) -> Page:
        row = self.feed(name)
        reached = self._matcher.reached
        start = self._log.acknowledged(row.no) if after is None else after
        if start >= reached:
            return Page((), min(start, reached))
        found = _Found(max(1, min(limit, self._settings.page_notifications)), self._settings.page_bytes)
        upto = self._gather(row, max(start, row.born - 1), found)
        return Page(self._named(row.name, found), upto)

    def _gather(self, row: FeedRow, after: int, found: _Found) -> int:
        """The position that was scanned to."""
        nodes = self._matcher.index.seen
        shard = row.no >> SHARD_BITS

        def next_top(number: int) -> int | None:
            node = self._derived.next_node(LEVELS - 1, shard, number)
            return None if node is None else node.range

        for chunk in Walk(nodes, row.no, self._derived.node, next_top).chunks(after):
            first = max(after + 1, chunk << CHUNK_BITS)
            last = min(((chunk + 1) << CHUNK_BITS) - 1, nodes.reached)
            for position, handles in self._mine(row.no, first, last):
                if found.add(self.event(position), handles):
                    return position
        return nodes.reached

    def _mine(self, feed: int, first: int, last: int) -> Iterator[tuple[int, list[int]]]:
        """Positions and handles of a feed, in order."""
        if first > last:
            return
        for block in self.blocks(first, last):
            begin = max(first, block.first) - block.first
            end = min(last, block.last) - block.first + 1
            offsets = block.offsets[begin : end + 1]
            handles = block.handles[offsets[0] : offsets[-1]]
            mine = np.flatnonzero(self._matcher.handles.feed_of[handles] == feed)
            places = np.searchsorted(offsets, mine + offsets[0], "right") - 1
            for place in np.unique(places).tolist():
                yield block.first + begin + place, handles[mine[places == place]].tolist()

    def _named(self, feed: str, found: _Found) -> list[Notification]:
        names = self._log.ids(sorted({handle for _, handles in found.events for handle in handles}))
        return [
            Notification(event.position, feed, event.text, [names[one] for one in handles], moment(event.at))
            for event, handles in found.events
        ]
