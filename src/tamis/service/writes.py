"""The other writes: events, extensions of the schema, cursors and leases."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

from tamis.errors import Conflict, TwinDomainWarning, UnknownFeed
from tamis.model import Schema
from tamis.segments.extending import changed_names, reads_otherwise, words_of, would_say_else
from tamis.service.answers import Acknowledged, Extended, Lease, Published
from tamis.service.commit import Commit
from tamis.service.door import Body
from tamis.service.subscribing import moment

__all__ = ["Acknowledge", "Extend", "Publish", "TakeLease", "Write"]


class Write(Protocol):
    """What is done on the log. An error of ours leaves nothing of it."""

    kind: Any
    """By which its answer is read back."""

    def apply(self, commit: Commit) -> Any: ...


@dataclass(frozen=True)
class Publish:
    body: Body
    kind = "publish"

    def apply(self, commit: Commit) -> Published:
        body = self.body
        if body.version != commit.standing.version:
            body = body.checked_again(commit.schema, commit.standing.version)
        if not len(body):
            return Published(None, None, 0, body.rejected)
        first, last = commit.events(body)
        return Published(first, last, len(body), body.rejected)


@dataclass(frozen=True)
class Extend:
    addition: Schema
    kind = "extend"

    def apply(self, commit: Commit) -> Extended:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TwinDomainWarning)
            schema = commit.schema.extend(self.addition)
        told = tuple(str(one.message) for one in caught)
        if schema == commit.schema:
            return Extended(commit.standing.version, None, told)
        changed = changed_names(commit.schema, schema)
        living = commit.log.living_that_say(words_of(changed)) if changed else []
        if found := [id for id, text in living if reads_otherwise(text, commit.schema, schema)]:
            raise would_say_else(list(found))
        at = commit.extend(schema)
        return Extended(commit.standing.version, at, told)


def _feed(commit: Commit, name: str) -> int:
    row = commit.log.feed(name)
    if row is None:
        raise UnknownFeed(name)
    return row.no


@dataclass(frozen=True)
class TakeLease:
    feed: str
    microseconds: int
    delivered: int
    token: str | None
    kind = "lease"

    def apply(self, commit: Commit) -> Lease:
        no = _feed(commit, self.feed)
        cursor = commit.log.cursor(no)
        held = cursor.until is not None and cursor.until > commit.time
        if held and self.token != cursor.token:
            assert cursor.until is not None
            until = moment(cursor.until).isoformat()
            raise Conflict(f"the feed {self.feed!r} is leased to another reader until {until}")
        mine = held or (self.token is not None and self.token == cursor.token)
        token = self.token if mine and self.token is not None else commit.random(16).hex()
        until_micros = commit.time + self.microseconds
        delivered = max(self.delivered, cursor.delivered or 0) if mine else self.delivered
        commit.log.set_cursor(no, cursor._replace(token=token, until=until_micros, delivered=delivered))
        commit.touched = True
        return Lease(token, moment(until_micros), cursor.acked)


@dataclass(frozen=True)
class Acknowledge:
    """`reached` is as far as anybody can have read."""

    feed: str
    position: int
    token: str | None
    reached: int
    kind = "acknowledge"

    def apply(self, commit: Commit) -> Acknowledged:
        no = _feed(commit, self.feed)
        cursor = commit.log.cursor(no)
        held = cursor.until is not None and cursor.until > commit.time
        if (held or self.token is not None) and self.token != cursor.token:
            raise Conflict(f"the feed {self.feed!r} is leased to another reader, or the lease has gone to one since")
        most = self.reached if self.token is None else (cursor.delivered or 0)
        if self.position > most:
            raise Conflict(f"the feed {self.feed!r}: position {self.position} was not delivered yet; {most} was")
        if self.position > cursor.acked:
            commit.log.set_cursor(no, cursor._replace(acked=self.position))
            commit.touched = True
        return Acknowledged(max(self.position, cursor.acked))
