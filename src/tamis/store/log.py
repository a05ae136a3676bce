"""The service's log: every event and every change in one order, and beside it what follows from them row by row.

    meta          one row: the epoch, the last position, the log's time, the numbers given so far
    record        one row for each run of equal kind in a commit: events as lines of JSON or Arrow, or one change
    schema        each version, from the position on where it holds
    subscription  each version of each subscription: it lives where born <= position < died
    feed          each incarnation of each feed, likewise; and its reader's cursor and lease
    idempotency   the answers given to writes that had a key
    staged        pieces of loads that nobody committed yet

A position is epoch * 2**40 + n, below 2**53. Times are microseconds since 1970. `died` is NULL while it lives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tamis.store.packing import pack, sum_of, unpack
from tamis.store.sqlite import Database, Touch, Writing, untouched

__all__ = ["EPOCH", "FeedRow", "KeyRow", "Log", "LogWriting", "Meta", "Record", "SubscriptionRow"]

EPOCH = 1 << 40
_VERSION = 1
_TABLES = """
CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, tail INTEGER NOT NULL,
    time INTEGER NOT NULL, handle INTEGER NOT NULL, feed INTEGER NOT NULL, made TEXT NOT NULL);
CREATE TABLE record (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
    codec TEXT NOT NULL, schema INTEGER NOT NULL, size INTEGER NOT NULL, sum INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE schema (version INTEGER PRIMARY KEY, position INTEGER NOT NULL, toml TEXT NOT NULL);
CREATE TABLE subscription (handle INTEGER PRIMARY KEY, id TEXT NOT NULL, feed INTEGER NOT NULL,
    expression TEXT NOT NULL, expires INTEGER, born INTEGER NOT NULL, died INTEGER);
CREATE INDEX subscription_id ON subscription (id, born);
CREATE INDEX subscription_feed ON subscription (feed) WHERE died IS NULL;
CREATE INDEX subscription_expires ON subscription (expires) WHERE died IS NULL AND expires IS NOT NULL;
CREATE TABLE feed (no INTEGER PRIMARY KEY, name TEXT NOT NULL, settings TEXT NOT NULL, auto INTEGER NOT NULL,
    born INTEGER NOT NULL, died INTEGER);
CREATE UNIQUE INDEX feed_name ON feed (name) WHERE died IS NULL;
CREATE TABLE cursor (feed INTEGER PRIMARY KEY, acked INTEGER NOT NULL, token TEXT, until INTEGER, delivered INTEGER);
CREATE TABLE idempotency (key TEXT PRIMARY KEY, kind TEXT NOT NULL, digest BLOB NOT NULL, answer TEXT NOT NULL,
    at INTEGER NOT NULL);
CREATE INDEX idempotency_at ON idempotency (at);
CREATE TABLE staged (upload TEXT NOT NULL, piece INTEGER NOT NULL, count INTEGER NOT NULL, at INTEGER NOT NULL,
    size INTEGER NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL, PRIMARY KEY (upload, piece))
"""
_AT_ONCE = 500
"""Values in one query."""


class Meta(NamedTuple):
    """Where the log stands."""

    epoch: int
    tail: int
    time: int
    handle: int
    """The next subscription's."""
    feed: int
    """The next feed's."""
    made: str
    """A name of the log's own, that what is derived from it carries."""


class Record(NamedTuple):
    """One row of the log, unpacked. `body` has a line for each position, or a stream of Arrow, or a change."""

    first: int
    last: int
    at: int
    kind: str
    codec: str
    schema: int
    body: bytes


class SubscriptionRow(NamedTuple):
    handle: int
    id: str
    feed: int
    expression: str
    expires: int | None
    born: int
    died: int | None


class FeedRow(NamedTuple):
    no: int
    name: str
    settings: str
    auto: bool
    born: int
    died: int | None


class CursorRow(NamedTuple):
    acked: int
    token: str | None = None
    until: int | None = None
    delivered: int | None = None


class KeyRow(NamedTuple):
    kind: str
    digest: bytes
    answer: str
    at: int


_SUBSCRIPTION = "handle, id, feed, expression, expires, born, died"
_FEED = "no, name, settings, auto, born, died"
_RECORD = "first, last, at, kind, codec, schema, body, size, sum"


class LogWriting:
    """One commit: reads see what it wrote so far."""

    def __init__(self, writing: Writing) -> None:
        self._writing = writing

    def savepoint(self) -> None:
        """Where `undo` goes back to."""
        self._writing.execute("SAVEPOINT one_write")

    def undo(self) -> None:
        self._writing.execute("ROLLBACK TO one_write")
        self.release()

    def release(self) -> None:
        self._writing.execute("RELEASE one_write")

    def move(self, meta: Meta) -> None:
        sql = "UPDATE meta SET epoch = ?, tail = ?, time = ?, handle = ?, feed = ?, made = ?"
        self._writing.execute(sql, meta)

    def append(self, record: Record) -> None:
        packed = pack(record.body)
        row = (*record[:6], len(record.body), sum_of(packed), packed)
        sql = "INSERT INTO record (first, last, at, kind, codec, schema, size, sum, body) VALUES (?,?,?,?,?,?,?,?,?)"
        self._writing.execute(sql, row)

    def add_schema(self, version: int, position: int, toml: str) -> None:
        self._writing.execute("INSERT INTO schema VALUES (?, ?, ?)", (version, position, toml))

    # -- subscriptions ----------------------------------------------------------------------------------------

    def subscription(self, id: str) -> SubscriptionRow | None:
        sql = f"SELECT {_SUBSCRIPTION} FROM subscription WHERE id = ? ORDER BY born DESC LIMIT 1"
        found = self._writing.one(sql, (id,))
        return SubscriptionRow(*found) if found and found[6] is None else None

    def add_subscriptions(self, rows: Iterable[SubscriptionRow]) -> None:
        self._writing.execute_many("INSERT INTO subscription VALUES (?,?,?,?,?,?,?)", rows)

    def end_subscriptions(self, handles: Iterable[int], position: int) -> None:
        rows = ((position, handle) for handle in handles)
        self._writing.execute_many("UPDATE subscription SET died = ? WHERE handle = ?", rows)

    def subscriptions_of(self, feed: int, limit: int = -1) -> list[int]:
        sql = "SELECT handle FROM subscription WHERE feed = ? AND died IS NULL ORDER BY handle LIMIT ?"
        return [handle for (handle,) in self._writing.query(sql, (feed, limit))]

    def due(self, time: int, limit: int) -> list[tuple[int, int]]:
        """Handles and feeds of subscriptions that expire by then."""
        sql = """SELECT handle, feed FROM subscription WHERE died IS NULL AND expires IS NOT NULL AND expires <= ?
                 ORDER BY expires, handle LIMIT ?"""
        return self._writing.query(sql, (time, limit))

    def any_living(self) -> bool:
        return self._writing.one("SELECT 1 FROM subscription LIMIT 1") is not None

    def living_that_say(self, words: list[str]) -> list[tuple[str, str]]:
        """Ids and texts that have one of these words in them."""
        said = " OR ".join("instr(expression, ?)" for _ in words)
        return self._writing.query(f"SELECT id, expression FROM subscription WHERE died IS NULL AND ({said})", words)

    # -- feeds ------------------------------------------------------------------------------------------------

    def feed(self, name: str) -> FeedRow | None:
        found = self._writing.one(f"SELECT {_FEED} FROM feed WHERE name = ? AND died IS NULL", (name,))
        return FeedRow(*found) if found else None

    def feed_by_number(self, no: int) -> FeedRow:
        return FeedRow(*self._writing.one(f"SELECT {_FEED} FROM feed WHERE no = ?", (no,)))

    def any_feeds(self) -> bool:
        return self._writing.one("SELECT 1 FROM feed LIMIT 1") is not None

    def add_feeds(self, rows: Iterable[FeedRow]) -> None:
        self._writing.execute_many("INSERT INTO feed VALUES (?,?,?,?,?,?)", rows)

    def change_feed(self, no: int, settings: str) -> None:
        self._writing.execute("UPDATE feed SET settings = ?, auto = 0 WHERE no = ?", (settings, no))

    def end_feeds(self, numbers: Iterable[int], position: int) -> None:
        self._writing.execute_many("UPDATE feed SET died = ? WHERE no = ?", ((position, no) for no in numbers))

    def cursor(self, feed: int) -> CursorRow:
        found = self._writing.one("SELECT acked, token, until, delivered FROM cursor WHERE feed = ?", (feed,))
        return CursorRow(*found) if found else CursorRow(0)

    def set_cursor(self, feed: int, cursor: CursorRow) -> None:
        self._writing.execute("INSERT OR REPLACE INTO cursor VALUES (?, ?, ?, ?, ?)", (feed, *cursor))

    # -- keys and uploads -------------------------------------------------------------------------------------

    def key(self, key: str) -> KeyRow | None:
        found = self._writing.one("SELECT kind, digest, answer, at FROM idempotency WHERE key = ?", (key,))
        return KeyRow(*found) if found else None

    def set_key(self, key: str, row: KeyRow) -> None:
        self._writing.execute("INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?)", (key, *row))

    def staged(self, upload: str) -> list[tuple[int, int, bytes]]:
        """Piece, how many subscriptions it has, and what it is known by."""
        return self._writing.query("SELECT piece, count, digest FROM staged WHERE upload = ? ORDER BY piece", (upload,))

    def piece(self, upload: str, piece: int) -> bytes:
        sql = "SELECT body, size FROM staged WHERE upload = ? AND piece = ?"
        return unpack(*self._writing.one(sql, (upload, piece)))

    def stage(self, upload: str, piece: int, count: int, at: int, digest: bytes, body: bytes) -> None:
        row = (upload, piece, count, at, len(body), digest, pack(body))
        self._writing.execute("INSERT INTO staged VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def unstage(self, upload: str) -> None:
        self._writing.execute("DELETE FROM staged WHERE upload = ?", (upload,))

    def forget(self, keys_before: int, staged_before: int) -> None:
        """Keys and uploads that are older."""
        if self._writing.one("SELECT 1 FROM idempotency WHERE at < ?", (keys_before,)):
            self._writing.execute("DELETE FROM idempotency WHERE at < ?", (keys_before,))
        if self._writing.one("SELECT 1 FROM staged WHERE at < ?", (staged_before,)):
            self._writing.execute(
                "DELETE FROM staged WHERE upload IN (SELECT upload FROM staged GROUP BY upload HAVING max(at) < ?)",
                (staged_before,),
            )


class Log:
    """The file `log.db`."""

    def __init__(self, path: Path, touch: Touch = untouched) -> None:
        self._database = Database(path, _TABLES, _VERSION, synchronous="FULL", touch=touch)

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def writing(self) -> Iterator[LogWriting]:
        """On disk when this ends."""
        with self._database.writing() as writing:
            yield LogWriting(writing)

    def begin(self, meta: Meta, toml: str) -> None:
        """Make a log that has nothing on it but its first schema."""
        with self._database.writing() as writing:
            writing.execute("INSERT INTO meta VALUES (1, ?, ?, ?, ?, ?, ?)", meta)
            LogWriting(writing).add_schema(1, 0, toml)

    # -- reading ----------------------------------------------------------------------------------------------

    def meta(self) -> Meta | None:
        found = self._database.one("SELECT epoch, tail, time, handle, feed, made FROM meta")
        return Meta(*found) if found else None

    def schemas(self) -> list[tuple[int, int, str]]:
        """Versions, their positions, their TOML."""
        return self._database.query("SELECT version, position, toml FROM schema ORDER BY version")

    def records(self, after: int, limit: int) -> list[Record]:
        """Those that begin after a position."""
        sql = f"SELECT {_RECORD} FROM record WHERE first > ? ORDER BY first LIMIT ?"
        return [self._record(row) for row in self._database.query(sql, (after, limit))]

    def changes(self, after: int, upto: int) -> list[Record]:
        """Records that are no events, between two positions."""
        sql = f"SELECT {_RECORD} FROM record WHERE first > ? AND first <= ? AND kind <> 'events' ORDER BY first"
        return [self._record(row) for row in self._database.query(sql, (after, upto))]

    def records_before(self, position: int, limit: int) -> list[Record]:
        """Events that begin at or before a position, the newest first."""
        sql = f"SELECT {_RECORD} FROM record WHERE first <= ? AND kind = 'events' ORDER BY first DESC LIMIT ?"
        return [self._record(row) for row in self._database.query(sql, (position, limit))]

    def record_begin(self, position: int) -> int | None:
        """Where the record begins that has a position."""
        sql = "SELECT first, last FROM record WHERE first <= ? ORDER BY first DESC LIMIT 1"
        found = self._database.one(sql, (position,))
        return found[0] if found and found[1] >= position else None

    def record_at(self, position: int) -> Record | None:
        sql = f"SELECT {_RECORD} FROM record WHERE first <= ? ORDER BY first DESC LIMIT 1"
        found = self._database.one(sql, (position,))
        return self._record(found) if found and found[1] >= position else None

    def _record(self, row: tuple[int, int, int, str, str, int, bytes, int, int]) -> Record:
        first, last, at, kind, codec, schema, body, size, sum = row
        if sum_of(body) != sum:
            raise self._database.damaged(f"the checksum of the record at position {first} does not fit: it is damaged")
        return Record(first, last, at, kind, codec, schema, unpack(body, size))

    def subscription(self, id: str, position: int | None = None) -> SubscriptionRow | None:
        """The version that lives, or lived at a position."""
        sql = f"SELECT {_SUBSCRIPTION} FROM subscription WHERE id = ? AND born <= ? ORDER BY born DESC LIMIT 1"
        found = self._database.one(sql, (id, 1 << 62 if position is None else position))
        row = SubscriptionRow(*found) if found else None
        alive = row is not None and (row.died is None or (position is not None and position < row.died))
        return row if alive else None

    def subscriptions(
        self, after: str, limit: int, feed: int | None = None, upto: int | None = None
    ) -> list[SubscriptionRow]:
        """Those that live, or lived at `upto`, in the order of their ids."""
        lives = "died IS NULL" if upto is None else "born <= :upto AND (died IS NULL OR died > :upto)"
        among = "" if feed is None else " AND feed = :feed"
        sql = f"SELECT {_SUBSCRIPTION} FROM subscription WHERE id > :after AND {lives}{among} ORDER BY id LIMIT :limit"
        named = {"after": after, "limit": limit, "feed": feed, "upto": upto}
        return [SubscriptionRow(*row) for row in self._database.query(sql, named)]  # type: ignore[arg-type]

    def ids(self, handles: list[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for first in range(0, len(handles), _AT_ONCE):
            some = handles[first : first + _AT_ONCE]
            sql = f"SELECT handle, id FROM subscription WHERE handle IN ({_marks(some)})"
            found.update(self._database.query(sql, some))
        return found

    def versions(self, after: int, limit: int) -> list[tuple[int, int, int, int | None]]:
        """Handle, feed, born, died of every version there was, by handle."""
        sql = "SELECT handle, feed, born, died FROM subscription WHERE handle > ? ORDER BY handle LIMIT ?"
        return self._database.query(sql, (after, limit))

    def expressions(self, after: int, upto: int, limit: int) -> list[tuple[int, str]]:
        """Handles and texts of those that lived at a position, by handle."""
        sql = """SELECT handle, expression FROM subscription WHERE handle > ? AND born <= ? AND
                 (died IS NULL OR died > ?) ORDER BY handle LIMIT ?"""
        return self._database.query(sql, (after, upto, upto, limit))

    def next_expiry(self) -> int | None:
        sql = "SELECT min(expires) FROM subscription WHERE died IS NULL AND expires IS NOT NULL"
        return self._database.one(sql)[0]  # type: ignore[no-any-return]

    def feed(self, name: str) -> FeedRow | None:
        found = self._database.one(f"SELECT {_FEED} FROM feed WHERE name = ? AND died IS NULL", (name,))
        return FeedRow(*found) if found else None

    def feeds(self, after: str, limit: int) -> list[FeedRow]:
        sql = f"SELECT {_FEED} FROM feed WHERE name > ? AND died IS NULL ORDER BY name LIMIT ?"
        return [FeedRow(*row) for row in self._database.query(sql, (after, limit))]

    def feed_names(self, numbers: list[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for first in range(0, len(numbers), _AT_ONCE):
            some = numbers[first : first + _AT_ONCE]
            found.update(self._database.query(f"SELECT no, name FROM feed WHERE no IN ({_marks(some)})", some))
        return found

    def count_subscriptions(self, feed: int) -> int:
        sql = "SELECT count(*) FROM subscription WHERE feed = ? AND died IS NULL"
        return self._database.one(sql, (feed,))[0]  # type: ignore[no-any-return]

    def acknowledged(self, feed: int) -> int:
        found = self._database.one("SELECT acked FROM cursor WHERE feed = ?", (feed,))
        return found[0] if found else 0


def _marks(values: list[int]) -> str:
    return ",".join("?" * len(values))
