"""One commit of the log, under way: positions are given, records and rows are written in their order.

Events that follow one another go in one record. A write that fails leaves nothing; those before and behind it stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from tamis.model import Schema
from tamis.service.changes import Change
from tamis.service.door import Body, body_bytes
from tamis.store.log import FeedRow, LogWriting, Meta, Record, SubscriptionRow

__all__ = ["Commit", "Standing"]


class Standing(NamedTuple):
    """Where the log stands, and its newest schema."""

    meta: Meta
    schema: Schema
    version: int


@dataclass
class Commit:
    """What a write writes to."""

    log: LogWriting
    standing: Standing
    random: Callable[[int], bytes]
    records: list[Record] = field(default_factory=list)
    """What was appended, for the matcher."""
    touched: bool = False
    """Whether anything was written, if only beside the log."""
    _lines: list[bytes] = field(default_factory=list)
    _lines_version: int = 0

    @property
    def schema(self) -> Schema:
        return self.standing.schema

    @property
    def time(self) -> int:
        """The log's, in microseconds."""
        return self.standing.meta.time

    @contextmanager
    def whole(self) -> Iterator[None]:
        """All of a write, or nothing."""
        self.flush()
        before, records = self.standing, len(self.records)
        self.log.savepoint()
        try:
            yield
        except BaseException:
            self.log.undo()
            self.standing = before
            del self.records[records:]
            raise
        self.log.release()

    def _give(self, count: int) -> int:
        """The first of so many positions."""
        meta = self.standing.meta
        self.standing = self.standing._replace(meta=meta._replace(tail=meta.tail + count))
        self.touched = True
        return meta.tail + 1

    def events(self, body: Body) -> tuple[int, int]:
        """The first and the last position of accepted events."""
        if body.codec == "arrow":
            self.flush()
            first = self._give(len(body))
            last = first + len(body) - 1
            self._append(Record(first, last, self.time, "events", "arrow", body.version, body_bytes(body.content)))
            return first, last
        assert isinstance(body.content, list)
        if self._lines and self._lines_version != body.version:
            self.flush()
        first = self._give(len(body))
        self._lines += body.content
        self._lines_version = body.version
        return first, first + len(body) - 1

    def flush(self) -> None:
        """Put the events that wait in one record."""
        if self._lines:
            last = self.standing.meta.tail
            first = last - len(self._lines) + 1
            lines = body_bytes(self._lines)
            self._append(Record(first, last, self.time, "events", "json", self._lines_version, lines))
            self._lines = []

    def _append(self, record: Record) -> None:
        self.log.append(record)
        self.records.append(record)

    def numbers(self, handles: int, feeds: int) -> tuple[int, int]:
        """The first handle and the first feed's number of so many."""
        meta = self.standing.meta
        moved = meta._replace(handle=meta.handle + handles, feed=meta.feed + feeds)
        self.standing = self.standing._replace(meta=moved)
        return meta.handle, meta.feed

    def change(self, kind: str, change: Change) -> int:
        """Record a change, and write the rows that follow from it. Its position."""
        self.flush()
        at = self._give(1)
        self._append(Record(at, at, self.time, kind, "change", self.standing.version, change.dumps()))
        self.log.end_subscriptions(change.died, at)
        self.log.end_feeds(change.ended, at)
        self.log.add_feeds(FeedRow(*feed, born=at, died=None) for feed in change.feeds)
        self.log.add_subscriptions(SubscriptionRow(*birth, born=at, died=None) for birth in change.born)
        for no, settings in change.kept:
            self.log.change_feed(no, settings)
        return at

    def extend(self, schema: Schema) -> int:
        self.flush()
        at, version = self._give(1), self.standing.version + 1
        toml = schema.dumps()
        self._append(Record(at, at, self.time, "schema", "toml", version, toml.encode()))
        self.log.add_schema(version, at, toml)
        self.standing = self.standing._replace(schema=schema, version=version)
        return at
