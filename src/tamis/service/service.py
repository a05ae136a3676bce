"""Service: publish, subscribe, be told, on one ordered log in a folder. No HTTP in here, and no SQL.

**Writes** may be called from any thread, never wait for the disk, and answer once through `done(outcome)`, on the
writer's thread, after the commit. What can be told at once is raised by the call itself: an expression that cannot be
read (`LanguageError`), a body that is none (`EventError`, `LimitError`), too much waiting (`TooBusy`), a service that
was closed (`ServiceClosed`). What only the log's order can tell (`Conflict`, `KeyReused`, `UnknownSubscription`,
`UnknownFeed`, `SchemaError`) is handed to `done`.

**Reads** take moments, hold no transaction between calls and see nothing past `reached`.

Without `start` no thread runs: `write_once` and `match_once` are the steps that the threads take.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, Self

from tamis.errors import EventError, LimitError, OptionError, TooBusy, UnknownPosition, UnknownSubscription
from tamis.model import Schema
from tamis.model.values import show_raw
from tamis.service.answers import (
    Acknowledged,
    Explained,
    Extended,
    Feed,
    Lease,
    Loaded,
    Matched,
    Notification,
    Page,
    Published,
    Staged,
    Subscribed,
    Subscription,
    Tried,
)
from tamis.service.door import digest_of, read_publishing
from tamis.service.matcher import Matched as Batch
from tamis.service.questions import Questions
from tamis.service.reading import Reader
from tamis.service.recovery import recover, take_lock
from tamis.service.requests import Done, FeedSettings, Form, NewSubscription, Publishing
from tamis.service.running import Running
from tamis.service.settings import DEFAULT, Settings
from tamis.service.subscribing import (
    Checking,
    DeleteFeed,
    Load,
    LoadStaged,
    PutFeed,
    Stage,
    Subscribe,
    Unsubscribe,
    checked_name,
    feed_settings,
    request_digest,
    subscription_of,
)
from tamis.service.tails import LiveTails
from tamis.service.waiting import Waiting
from tamis.service.writer import Key, Queued, Writer
from tamis.service.writes import Acknowledge, Extend, Publish, TakeLease, Write
from tamis.store.log import FeedRow, Record
from tamis.store.sqlite import Touch, untouched

__all__ = ["Service", "Tail", "Watch"]

_RETRY_SECONDS = 1.0
_EXPORT_AT_ONCE = 5_000


class Watch(Protocol):
    """Someone who is woken when a feed has news, until it is closed."""

    def close(self) -> None: ...


class Tail(Protocol):
    """The live tail of one expression: nothing is stored, and a slow reader loses the oldest."""

    dropped: int
    ended: bool
    """Whether an extension of the schema ended it: its expression would say something else."""

    def take(self) -> list[Notification]:
        """What came since, `feed` and `subscriptions` empty."""

    def close(self) -> None: ...


class Service:
    """The service in a folder. Made by `Service.open`."""

    def __init__(
        self, folder: Path, schema: Schema | None, settings: Settings, clock: Callable[[], float],
        random: Callable[[int], bytes], touch: Touch,
    ) -> None:  # fmt: skip
        self.settings = settings
        self._clock = clock
        self._lock = take_lock(folder)
        try:
            found = recover(folder, schema, settings, random, touch)
        except BaseException:
            self._lock.close()
            raise
        self._log, self._derived = found.log, found.derived
        self._schemas = found.schemas
        self.matcher = found.matcher
        self.writer = Writer(self._log, found.standing, settings, clock, random)
        self._reader = Reader(self._log, self._derived, self.matcher, settings)
        self._waiting = Waiting()
        self._tails = LiveTails(self.matcher.registry.schema, settings)
        self._questions = Questions(self._log, self._reader, self.matcher, self._schemas, settings)
        self._running = Running(folder, self.writer, self.matcher, self._derived, clock)
        self._running.touch = touch
        self.writer.written = self._written
        self.matcher.matched = self._told

    @classmethod
    def open(
        cls,
        folder: Path,
        schema: Schema | None = None,
        settings: Settings = DEFAULT,
        *,
        clock: Callable[[], float] = time.time,
        random: Callable[[int], bytes] = secrets.token_bytes,
        touch: Touch = untouched,
    ) -> Self:
        """Make a service, with that schema or an open one, or recover what is there. No thread runs yet.

        A `schema` that the folder never had is an `OptionError`: extend the one it has. `clock` gives seconds since
        1970, `random` so many random bytes; `touch` is told every write to the disk before it is done.
        """
        return cls(Path(folder), schema, settings, clock, random, touch)

    def start(self) -> None:
        """Start the threads: the writer and the matcher, which also checkpoints."""
        self._running.start()

    def close(self) -> None:
        """Finish what was accepted, match it, checkpoint, and let the folder go. Closing again does nothing."""
        if not self._lock.closed:
            try:
                self._running.finish()
            finally:
                self.abandon()

    def abandon(self) -> None:
        """Let the folder go as the end of the process does, whatever is under way. For simulations."""
        self.writer.close()
        self._running.stop()
        self.matcher.registry.close()
        self._derived.close()
        self._log.close()
        self._lock.close()

    def write_once(self) -> int:
        """One commit of what waits; how many writes it had."""
        return self.writer.write_once()

    def match_once(self) -> bool:
        """One batch matched, and a checkpoint if one is due; whether there was a batch."""
        return self._running.match_once()

    def checkpoint(self) -> None:
        """Put the engine on disk as of `reached`, so that the next start reads on from there."""
        self._running.checkpoint()

    def _written(self, records: list[Record]) -> None:
        for record in records:
            if record.kind == "schema":
                self._schemas[record.schema] = self.writer.standing.schema
        self.matcher.offer(records)
        self._running.news()

    def _told(self, matched: Batch) -> None:
        for block in matched.blocks:
            self._reader.keep(block)
        self._tails.told(matched.records)
        self._waiting.told(matched.feeds, self.reached)

    # -- where it stands --------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """The newest schema on the log."""
        return self.writer.standing.schema

    @property
    def schema_version(self) -> int:
        """From 1, one more with each extension."""
        return self.writer.standing.version

    @property
    def tail(self) -> int:
        """The last position on the log."""
        return self.writer.standing.meta.tail

    @property
    def reached(self) -> int:
        """The last position that was matched."""
        return self.matcher.reached

    def lag(self) -> int:
        """Positions between them."""
        return max(self.tail - self.reached, 0)

    def health(self) -> Mapping[str, object]:
        """`ready` (bool), `lag`, and where it is not ready, `why`."""
        lag, trouble = self.lag(), self.writer.trouble or self._running.trouble
        busy = f"the matcher is {lag:,} positions behind" if lag > self.settings.most_lag else None
        why = trouble or busy or (None if self._running.alive else "the service is not started")
        return {"ready": why is None, "lag": lag, "why": why}

    def metrics(self) -> Mapping[str, float]:
        """Counters and gauges by name, without the `tamis_` before them."""
        state = self.matcher.state
        return {
            "tail_position": self.tail,
            "reached_position": self.reached,
            "lag_positions": self.lag(),
            "commits_total": self.writer.commits,
            "writes_waiting": self.writer.waiting,
            "blocks": state.blocks,
            "block_matches": state.matches,
            "block_bytes": state.bytes,
            "failed_events_total": self.matcher.failed,
            "subscriptions": len(self.matcher.registry),
            "live_tails": len(self._tails),
            "waiting_readers": len(self._waiting),
            "cached_bytes": self._reader.kept_bytes,
            "checkpoints_total": self._running.checkpoints,
        }

    # -- writing ----------------------------------------------------------------------------------------------

    def _put(
        self, write: Write, done: Done[Any], key: Key | None = None, *, size: int = 0, always: bool = False
    ) -> None:
        if not always and self.lag() > self.settings.most_lag:
            raise TooBusy(f"the matcher is {self.lag():,} positions behind; try again", _RETRY_SECONDS)
        self.writer.put(Queued(write, done, key, size, always))

    def publish(self, publishing: Publishing, done: Done[Published]) -> None:
        """Events onto the log; those that are refused are told in the receipt and hinder nobody."""
        if self.lag() > self.settings.most_lag:  # before anything is read
            raise TooBusy(f"the matcher is {self.lag():,} positions behind; try again", _RETRY_SECONDS)
        standing = self.writer.standing
        body = read_publishing(publishing, standing.schema, standing.version, self.settings)
        if not body.indexes and not body.rejected:
            raise EventError("expected an event at least, found none")
        key = None if publishing.key is None else Key(checked_name("a key", publishing.key), digest_of(publishing))
        self._put(Publish(body), done, key, size=body.bytes)

    def subscribe(
        self, new: NewSubscription, done: Done[Subscribed], *, key: str | None = None, if_match: str | None = None
    ) -> None:
        """Subscribe an id or replace what it had. `if_match` is an etag, "*" for any, or "" for none there yet."""
        standing = self.writer.standing
        checking = Checking(standing.schema, self.settings)
        checking.names(new)
        never = checking.never_matches(new.expression)
        write = Subscribe(new, if_match, standing.version, never, self.settings)
        self._put(write, done, _key(key, "subscribe", asdict(new), if_match), size=len(new.expression))

    def subscribe_many(self, items: Sequence[NewSubscription], done: Done[Loaded], *, key: str | None = None) -> None:
        """All or none; a mistake is an error whose message begins with the row, counted from 0."""
        version = self._check_many(items)
        size = sum(len(item.expression) for item in items)
        digest = _key(key, "load", [asdict(item) for item in items]) if key is not None else None
        self._put(Load(items, version, self.settings), done, digest, size=size)

    def _check_many(self, items: Sequence[NewSubscription]) -> int:
        """The version of the schema that they are right under."""
        if not items:
            raise OptionError("expected a subscription at least, found none")
        most = self.settings.most_subscriptions
        if len(items) > most:
            raise LimitError(f"expected at most {most:,} subscriptions at once, found {len(items):,}", most, len(items))
        standing = self.writer.standing
        Checking(standing.schema, self.settings).all(items)
        return standing.version

    def stage(self, upload: str, piece: int, items: Sequence[NewSubscription], done: Done[Staged]) -> None:
        """A piece of a bulk load, numbered from 0: kept, without effect. The same piece again is taken once."""
        if isinstance(piece, bool) or not isinstance(piece, int) or piece < 0:
            raise OptionError(f"expected the number of a piece from 0 on, found {show_raw(piece)}")
        write = Stage(checked_name("an upload", upload), piece, items, self._check_many(items))
        self._put(write, done, size=sum(len(item.expression) for item in items))

    def commit(self, upload: str, pieces: int, done: Done[Loaded]) -> None:
        """All pieces take effect at one position. `Conflict` if there are others than `pieces`. Again: same answer."""
        write = LoadStaged(checked_name("an upload", upload), pieces, self.settings)
        self._put(write, done, _key(f"upload {upload}", "load", pieces))

    def unsubscribe(self, id: str, done: Done[int], *, key: str | None = None, if_match: str | None = None) -> None:
        """Always admitted. The outcome is the position."""
        self._put(Unsubscribe([id], if_match), done, _key(key, "unsubscribe", id, if_match), always=True)

    def unsubscribe_many(self, ids: Sequence[str], done: Done[int], *, key: str | None = None) -> None:
        """All of them at one position, or none. Always admitted."""
        if not ids:
            raise OptionError("expected an id at least, found none")
        self._put(Unsubscribe(ids), done, _key(key, "unsubscribe", list(ids)), always=True)

    def put_feed(self, name: str, settings: FeedSettings, done: Done[Feed], *, key: str | None = None) -> None:
        """Make a feed, or change its settings; from now on it stays when empty."""
        if settings.channel not in ("stream", "pull"):
            raise OptionError(f"expected the channel 'stream' or 'pull', found {show_raw(settings.channel)}")
        write = PutFeed(checked_name("a feed's name", name), settings)
        self._put(write, done, _key(key, "feed", name, asdict(settings)))

    def delete_feed(self, name: str, done: Done[int]) -> None:
        """Always admitted. Its subscriptions die with it, at the position that is the outcome."""
        self._put(DeleteFeed(name), done, always=True)

    def extend(self, addition: Schema, done: Done[Extended], *, key: str | None = None) -> None:
        """Extend the schema by the four rules; `Conflict` has the ids of subscriptions that would be read otherwise."""
        self._put(Extend(addition), done, _key(key, "extend", addition.dumps()))

    def lease(self, feed: str, seconds: float, delivered: int, done: Done[Lease], *, token: str | None = None) -> None:
        """Take the feed, or renew the lease with that token, having read up to `delivered` from the acknowledged
        cursor. `Conflict` while another holds it. Read a page, lease it, hand it out if `cursor` is where it began."""
        if delivered > self.reached:
            raise UnknownPosition(delivered)
        self._put(TakeLease(feed, int(seconds * 1e6), delivered, token), done, always=True)

    def acknowledge(self, feed: str, position: int, done: Done[Acknowledged], *, token: str | None = None) -> None:
        """The cursor never goes back. `Conflict` past what was delivered, or while another holds the lease."""
        self._put(Acknowledge(feed, position, token, self.reached), done, always=True)

    # -- waiting ----------------------------------------------------------------------------------------------

    def when_reached(self, position: int, wake: Callable[[], None]) -> Watch:
        """Call `wake` once, at once or from the matcher's thread, when all up to a position is matched."""
        return self._waiting.at(position, lambda: self.reached, wake)

    def watch(self, feed: str, wake: Callable[[], None]) -> Watch:
        """Call `wake` from the matcher's thread whenever the feed has news, or is gone. Register, then read."""
        return self._waiting.watch(self._reader.feed(feed).no, wake)

    def tail_live(self, expression: str, wake: Callable[[], None]) -> Tail:
        """Events from now on that match, held in memory for whoever reads them live."""
        return self._tails.add(expression, wake)

    # -- reading ----------------------------------------------------------------------------------------------

    def counts(self, first: int, last: int) -> list[int]:
        """How many subscriptions each event met; the positions must be reached. Failed events met none."""
        if last > self.reached:
            raise UnknownPosition(last)
        return self._reader.counts(first, last)

    def failures(self, first: int, last: int) -> dict[int, str]:
        """The events that could not be matched, each with the reason."""
        return self._derived.failed(first, last)

    def subscription(self, id: str) -> Subscription:
        """The one that lives; `UnknownSubscription` if none does."""
        row = self._log.subscription(id)
        if row is None:
            raise UnknownSubscription(id)
        return subscription_of(row, self._log.feed_names([row.feed])[row.feed])

    def subscriptions(self, after: str | None = None, limit: int = 100, feed: str | None = None) -> list[Subscription]:
        """In the order of their ids."""
        return self._listed(after, limit, None if feed is None else self._reader.feed(feed).no, None)

    def _listed(self, after: str | None, limit: int, feed: int | None, upto: int | None) -> list[Subscription]:
        rows = self._log.subscriptions(after or "", limit, feed, upto)
        names = self._log.feed_names(sorted({row.feed for row in rows}))
        return [subscription_of(row, names[row.feed]) for row in rows]

    def export(self) -> Iterator[list[Subscription]]:
        """All of them as of one moment, piece by piece, in the order of their ids."""
        upto, after = self.tail, ""
        while found := self._listed(after, _EXPORT_AT_ONCE, None, upto):
            yield found
            after = found[-1].id

    def feed(self, name: str) -> Feed:
        """`UnknownFeed` if there is none."""
        return self._feed(self._reader.feed(name))

    def feeds(self, after: str | None = None, limit: int = 100) -> list[Feed]:
        """In the order of their names."""
        return [self._feed(row) for row in self._log.feeds(after or "", limit)]

    def _feed(self, row: FeedRow) -> Feed:
        head = self.matcher.head
        return Feed(
            row.name,
            feed_settings(row.settings),
            bool(row.auto),
            row.born,
            self._log.count_subscriptions(row.no),
            self._log.acknowledged(row.no),
            int(head[row.no]) if row.no < len(head) else 0,
        )

    def read_feed(self, name: str, after: int | None = None, limit: int = 100) -> Page:
        """Notifications after a position, or after the acknowledged cursor."""
        return self._reader.page(name, after, limit)

    def match(self, events: bytes, form: Form = "json") -> Matched:
        """Who would be told as of `reached`; nothing is published. For read your writes, wait for the tail first."""
        return self._questions.match(Publishing(events, form))

    def explain(self, id: str, event: Mapping[str, object] | int) -> Explained:
        """Why an event, or the stored one at a position, does or does not match the subscription."""
        return self._questions.explain(id, event)

    def try_expression(self, expression: str, events: int = 1_000) -> Tried:
        """Over the last stored events, before anything is saved."""
        Checking(self.schema, self.settings).never_matches(expression)
        return self._questions.try_expression(expression, events)


def _key(key: str | None, *parts: object) -> Key | None:
    return None if key is None else Key(checked_name("a key", key), request_digest(*parts))
