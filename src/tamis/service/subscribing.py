"""Writes to subscriptions and feeds: what is looked at when they are asked for, and what becomes of them on the log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from tamis.errors import (
    Conflict,
    EtagMismatch,
    LanguageError,
    LimitError,
    OptionError,
    UnknownFeed,
    UnknownSubscription,
)
from tamis.language.door import check_new
from tamis.language.quick import QuickCheck
from tamis.model import Schema
from tamis.model.values import ValueRefused, is_text, show_raw
from tamis.registry.receipts import at_row, parse_text
from tamis.segments.compile.reading import read_texts
from tamis.service.answers import Feed, Loaded, Staged, Subscribed, Subscription
from tamis.service.changes import Change
from tamis.service.commit import Commit
from tamis.service.requests import FeedSettings, NewSubscription
from tamis.service.settings import Settings
from tamis.store.log import FeedRow, SubscriptionRow

__all__ = [
    "Checking",
    "DeleteFeed",
    "Load",
    "LoadStaged",
    "PutFeed",
    "Stage",
    "Subscribe",
    "Unsubscribe",
    "checked_name",
    "expire_due",
    "feed_settings",
    "moment",
    "request_digest",
    "subscription_of",
]

_MOST_NAME = 1_024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DUE_AT_ONCE = 10_000
_MANY = 64
"""Texts from which on reading them by their shapes is worth its start."""


def moment(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND


def micros(time: datetime) -> int:
    if time.tzinfo is None:
        raise OptionError(f"expected a time with a zone, found {time.isoformat()}")
    return (time - _EPOCH) // _MICROSECOND


def request_digest(*parts: object) -> bytes:
    """What tells one request from another."""
    return hashlib.blake2b(json.dumps(parts, default=str).encode(), digest_size=16).digest()


def checked_name(what: str, found: object) -> str:
    """An id or a feed's name."""
    if not isinstance(found, str) or not found:
        raise OptionError(f"expected {what} as a text, found {show_raw(found)}")
    try:
        is_text(found)
    except ValueRefused as error:
        raise OptionError(f"{what} {show_raw(found)}: {error}") from None
    if len(found) > _MOST_NAME:
        message = f"expected {what} of at most {_MOST_NAME:,} characters, found {len(found):,}"
        raise LimitError(message, _MOST_NAME, len(found))
    return found


def etag_of(handle: int) -> str:
    return f"{handle:x}"


def subscription_of(row: SubscriptionRow, feed: str) -> Subscription:
    expires = None if row.expires is None else moment(row.expires)
    return Subscription(row.id, row.expression, feed, expires, row.born, etag_of(row.handle))


def feed_settings(text: str) -> FeedSettings:
    return FeedSettings(**json.loads(text))


class Checking:
    """Expressions held against one schema."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        self._schema = schema
        self._most = settings.expression_characters
        self._quick = QuickCheck(schema)

    def never_matches(self, text: str) -> bool:
        """Whether a text that is right contradicts itself; `LanguageError` or `LimitError` if it is not."""
        self._door(text)
        return not (isinstance(text, str) and self._quick.surely(text)) and parse_text(text, self._schema) == ()

    def _door(self, text: str) -> None:
        """What a text may not be, before it is read."""
        if isinstance(text, str) and len(text) > self._most:
            message = f"expected an expression of at most {self._most:,} characters, found {len(text):,}"
            raise LimitError(message, self._most, len(text))
        check_new(text, self._schema)

    def names(self, item: NewSubscription) -> None:
        """What is besides the expression."""
        checked_name("an id", item.id)
        if item.feed is not None:
            checked_name("a feed's name", item.feed)
        if item.expires is not None:
            micros(item.expires)

    def all(self, items: Sequence[NewSubscription]) -> None:
        """Ids, feeds and texts; the first mistake is told with its row. Many are read by their shapes."""
        many = len(items) >= _MANY and all(isinstance(item.expression, str) for item in items)
        for row, item in enumerate(items):
            try:
                self.names(item)
                if many:
                    self._door(item.expression)
                else:
                    self.never_matches(item.expression)
            except OptionError as error:
                raise OptionError(f"subscription {row}: {error}") from None
            except LimitError as error:
                raise error.placed(f"subscription {row}") from None
            except LanguageError as error:
                raise at_row(row, item.id, error) from None
        texts = pa.array([item.expression for item in items] if many else [], pa.large_string())
        for row, mistake in sorted(read_texts(texts, self._schema).rejected, key=lambda one: one[0]):
            raise at_row(row, items[row].id, mistake)


def expire_due(commit: Commit) -> None:
    """What is due by the log's time dies now."""
    while due := commit.log.due(commit.time, _DUE_AT_ONCE):
        change = Change(died=[handle for handle, _ in due])
        _end_empty(commit, change, {feed for _, feed in due})
        commit.change("expire", change)


def _end_empty(commit: Commit, change: Change, feeds: Iterable[int]) -> None:
    """Feeds that were made for their subscriptions go with the last of them."""
    dying = set(change.died)
    reborn = {birth[2] for birth in change.born}
    for no in sorted(set(feeds) - reborn - set(change.ended)):
        if commit.log.feed_by_number(no).auto and dying.issuperset(commit.log.subscriptions_of(no, len(dying) + 1)):
            change.ended.append(no)


class _Feeds:
    """Feeds by name, as they are looked up or made for new subscriptions."""

    def __init__(self, commit: Commit, change: Change) -> None:
        self._commit = commit
        self._change = change
        self._known: dict[str, int] = {}
        self._any_there = commit.log.any_feeds()
        self._settings = json.dumps(_plain(FeedSettings()))

    def number(self, name: str) -> int:
        found = self._known.get(name)
        if found is None:
            row = self._commit.log.feed(name) if self._any_there else None
            if row is not None:
                found = row.no
            else:
                _, found = self._commit.numbers(0, 1)
                self._change.feeds.append((found, name, self._settings, True))
            self._known[name] = found
        return found


def _plain(settings: FeedSettings) -> dict[str, object]:
    return {"channel": settings.channel, "more": dict(settings.more)}


def _born(commit: Commit, items: Sequence[NewSubscription]) -> tuple[Change, list[SubscriptionRow | None]]:
    """The change by which these come, and what each had before."""
    change = Change()
    feeds = _Feeds(commit, change)
    first, _ = commit.numbers(len(items), 0)
    before: list[SubscriptionRow | None] = []
    any_there = commit.log.any_living()
    for handle, item in enumerate(items, first):
        there = commit.log.subscription(item.id) if any_there else None
        before.append(there)
        if item.feed is None and there is not None:
            feed = there.feed
        else:
            feed = feeds.number(item.feed if item.feed is not None else item.id)
        expires = None if item.expires is None else micros(item.expires)
        change.born.append((handle, item.id, feed, item.expression, expires))
    old = [there for there in before if there is not None]
    change.died += [there.handle for there in old]
    _end_empty(commit, change, {there.feed for there in old})
    return change, before


def _check_etag(id: str, there: SubscriptionRow | None, if_match: str | None) -> None:
    if if_match is None:
        return
    etag = None if there is None else etag_of(there.handle)
    wanted = (etag is None) if if_match == "" else (etag is not None and if_match in ("*", etag))
    if not wanted:
        found = "there is none" if etag is None else f"it is {etag!r}"
        meant = "none" if if_match == "" else repr(if_match)
        raise EtagMismatch(f"the subscription {id!r}: expected the version {meant}, but {found}", etag)


@dataclass(frozen=True)
class Subscribe:
    """One subscription; `version` is that of the schema it was read under."""

    new: NewSubscription
    if_match: str | None
    version: int
    never: bool
    settings: Settings
    kind = "subscribe"

    def apply(self, commit: Commit) -> Subscribed:
        new, never = self.new, self.never
        if commit.standing.version != self.version:
            never = Checking(commit.schema, self.settings).never_matches(new.expression)
        _check_etag(new.id, commit.log.subscription(new.id), self.if_match)
        change, (before,) = _born(commit, [new])
        at = commit.change("subscribe", change)
        row = SubscriptionRow(*change.born[0], born=at, died=None)
        return Subscribed(subscription_of(row, commit.log.feed_by_number(row.feed).name), before is None, never)


@dataclass(frozen=True)
class Load:
    """Several at one position. Of an id that comes twice, the last counts."""

    items: Sequence[NewSubscription]
    version: int
    settings: Settings
    kind = "load"

    def apply(self, commit: Commit) -> Loaded:
        if commit.standing.version != self.version:
            Checking(commit.schema, self.settings).all(self.items)
        last = {item.id: item for item in self.items}
        order = {item.id: at for at, item in enumerate(self.items)}
        change, _ = _born(commit, sorted(last.values(), key=lambda item: order[item.id]))
        return Loaded(len(self.items), commit.change("load", change))


def _listed(items: Sequence[NewSubscription]) -> list[list[object]]:
    return [[one.id, one.expression, one.feed, None if one.expires is None else micros(one.expires)] for one in items]


@dataclass(frozen=True)
class Stage:
    """A piece of an upload, kept aside."""

    upload: str
    piece: int
    items: Sequence[NewSubscription]
    version: int
    kind = "stage"

    def apply(self, commit: Commit) -> Staged:
        body = json.dumps([self.version, _listed(self.items)], ensure_ascii=False).encode()
        digest = request_digest(_listed(self.items))
        there = {piece: known for piece, _, known in commit.log.staged(self.upload)}
        if there.get(self.piece, digest) != digest:
            raise Conflict(f"piece {self.piece} of the upload {self.upload!r} was sent before, with other content")
        if self.piece not in there:
            commit.log.stage(self.upload, self.piece, len(self.items), commit.time, digest, body)
            commit.touched = True
        found = commit.log.staged(self.upload)
        return Staged(self.upload, len(found), sum(count for _, count, _ in found))


@dataclass(frozen=True)
class LoadStaged:
    """An upload takes effect."""

    upload: str
    pieces: int
    settings: Settings
    kind = "load"

    def apply(self, commit: Commit) -> Loaded:
        found = [piece for piece, _, _ in commit.log.staged(self.upload)]
        if found != list(range(self.pieces)):
            there = ", ".join(map(str, found[:20])) or "none"
            raise Conflict(f"the upload {self.upload!r}: expected pieces 0 to {self.pieces - 1}, found {there}")
        items: list[NewSubscription] = []
        versions = {commit.standing.version}
        for piece in found:
            version, listed = json.loads(commit.log.piece(self.upload, piece))
            versions.add(version)
            items += [
                NewSubscription(id, text, feed, None if expires is None else moment(expires))
                for id, text, feed, expires in listed
            ]
        if not items:
            raise Conflict(f"the upload {self.upload!r} has no subscriptions")
        loaded = Load(items, min(versions), self.settings).apply(commit)
        commit.log.unstage(self.upload)
        return loaded


@dataclass(frozen=True)
class Unsubscribe:
    """All of them, or none."""

    ids: Sequence[str]
    if_match: str | None = None
    kind = "unsubscribe"

    def apply(self, commit: Commit) -> int:
        rows = []
        for id in dict.fromkeys(self.ids):
            row = commit.log.subscription(id)
            _check_etag(id, row, self.if_match)
            if row is None:
                raise UnknownSubscription(id)
            rows.append(row)
        change = Change(died=[row.handle for row in rows])
        _end_empty(commit, change, {row.feed for row in rows})
        return commit.change("unsubscribe", change)


@dataclass(frozen=True)
class PutFeed:
    """Make a feed, or keep the one that is there."""

    name: str
    settings: FeedSettings
    kind = "feed"

    def apply(self, commit: Commit) -> Feed:
        text = json.dumps(_plain(self.settings), ensure_ascii=False)
        there = commit.log.feed(self.name)
        if there is None:
            _, no = commit.numbers(0, 1)
            at = commit.change("feed", Change(feeds=[(no, self.name, text, False)]))
            return Feed(self.name, self.settings, False, at, 0, 0, 0)
        if there.settings != text or there.auto:
            commit.change("feed", Change(kept=[(there.no, text)]))
        count = len(commit.log.subscriptions_of(there.no))
        return Feed(self.name, self.settings, False, there.born, count, commit.log.cursor(there.no).acked, 0)


@dataclass(frozen=True)
class DeleteFeed:
    """With its subscriptions."""

    name: str
    key: str | None = field(default=None)
    kind = "unsubscribe"

    def apply(self, commit: Commit) -> int:
        there: FeedRow | None = commit.log.feed(self.name)
        if there is None:
            raise UnknownFeed(self.name)
        return commit.change("unfeed", Change(died=commit.log.subscriptions_of(there.no), ended=[there.no]))
