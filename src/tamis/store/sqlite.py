"""SQLite as the service's files use it: one writer at a time, a connection for each thread that reads.

Every statement that writes is told to `touch` first, and every commit before and after: a simulation counts them there,
and stops the store at the one it likes. What a stop leaves is what the end of the process leaves.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from tamis.errors import SegmentError

__all__ = ["Database", "Touch", "Writing", "untouched"]

Touch: TypeAlias = Callable[[str], None]
Arguments: TypeAlias = Sequence[Any]

_BUSY_MS = 10_000
_WAL_PAGES = 4_000
"""About sixteen megabytes of log ahead before it is written back."""


def untouched(what: str) -> None:
    """Nobody is told."""


class Writing:
    """A transaction that writes."""

    def __init__(self, connection: sqlite3.Connection, touch: Touch) -> None:
        self._connection = connection
        self._touch = touch

    def execute(self, sql: str, arguments: Arguments = ()) -> sqlite3.Cursor:
        self._touch(sql)
        return self._connection.execute(sql, arguments)

    def execute_many(self, sql: str, rows: Iterable[Arguments]) -> None:
        self._touch(sql)
        self._connection.executemany(sql, rows)

    def query(self, sql: str, arguments: Arguments = ()) -> list[Any]:
        return self._connection.execute(sql, arguments).fetchall()

    def one(self, sql: str, arguments: Arguments = ()) -> Any:
        return self._connection.execute(sql, arguments).fetchone()


class Database:
    """One file. `synchronous` FULL: a commit that returned survives the loss of power; NORMAL: the last may not."""

    def __init__(self, path: Path, tables: str, version: int, *, synchronous: str, touch: Touch = untouched) -> None:
        self.path = path
        self._touch = touch
        self._all: list[sqlite3.Connection] = []
        self._mine = threading.local()
        self._guard = threading.Lock()
        self._writer_lock = threading.Lock()
        try:
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute(f"PRAGMA synchronous = {synchronous}")
            self._writer.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
            self._make(tables, version)
        except sqlite3.DatabaseError as error:
            self.close()
            raise self.damaged(str(error)) from None
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        # Each connection is one thread's, but all are closed by whoever closes the database.
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        with self._guard:
            self._all.append(connection)
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        return connection

    def _make(self, tables: str, version: int) -> None:
        found = self._writer.execute("PRAGMA user_version").fetchone()[0]
        if found == 0:
            with self.writing() as writing:
                for statement in filter(str.strip, tables.split(";")):
                    writing.execute(statement)
                writing.execute(f"PRAGMA user_version = {version}")
        elif found != version:
            age = "a newer" if found > version else "an older"
            raise self.damaged(f"expected format {version}, found {found}; {age} Tamis may have written it")

    def damaged(self, why: str) -> SegmentError:
        return SegmentError(why, str(self.path))

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """All of it is on disk when this ends, or none if it fails."""
        with self._writer_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield Writing(self._writer, self._touch)
                self._touch("COMMIT")
                self._writer.execute("COMMIT")
            except BaseException as error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise self.damaged(f"cannot write here: {error}") from None
                raise
            self._touch("committed")

    def write_back(self) -> None:
        """Move what the log ahead has into the file, and both onto the disk."""
        with self._writer_lock:
            self._touch("write back")
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    @property
    def _reader(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._mine, "connection", None)
        if found is None:
            found = self._connect()
            found.execute("PRAGMA query_only = 1")
            self._mine.connection = found
        return found

    def query(self, sql: str, arguments: Arguments = ()) -> list[Any]:
        """All rows, at once: no transaction stays open."""
        try:
            return self._reader.execute(sql, arguments).fetchall()
        except sqlite3.DatabaseError as error:
            raise self.damaged(str(error)) from None

    def one(self, sql: str, arguments: Arguments = ()) -> Any:
        found = self.query(sql, arguments)
        return found[0] if found else None

    def close(self) -> None:
        with self._guard:
            for connection in self._all:
                connection.close()
            self._all.clear()
