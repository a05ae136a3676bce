"""The databases that the SQL matchers run on; what differs between them stands here and nowhere else.

    duckdb:                          in memory, the default
    sqlite: or sqlite:///some/path   in memory or in a file
    postgresql://user@host/name      tables of their own in a schema made for the matcher, dropped when it goes

A database that is none of these is passed as an object that keeps this protocol, as
`tamis.spark.running.sql_database` does.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tamis.errors import OptionError

__all__ = ["Database", "open_database"]

_IDS_AT_ONCE = 100
"""Ids in one deletion on DuckDB. As a list in the statement they are looked up in an index, as a table they are not."""
_NO_ID = -2
"""In every such list: without it ids that follow one another become a range, and DuckDB scans for ranges."""
_MOST_BY_INDEX = 1_000_000
"""Rows that DuckDB may look up by an index; by its own measure, 2,048, a large deletion would scan."""
_LEAST_DEAD = 10_000

TableColumns = Mapping[str, Sequence[int] | Sequence[str] | npt.NDArray[Any]]


class Database(Protocol):
    """A connection. Statements are written once for all; `mark` stands for a parameter, `text` for the type of keys."""

    mark: str
    text: str
    joins: bool
    """Whether an index helps the query to join; a column store hashes instead."""

    def run(self, statement: str) -> None: ...

    def insert(self, table: str, columns: TableColumns) -> None: ...

    def delete(self, table: str, column: str, ids: Sequence[int]) -> None:
        """Delete the rows with these ids, at a cost that does not grow with the table, or does so seldom enough."""

    def numbers(self, query: str, parameters: Sequence[int | str]) -> npt.NDArray[np.int64]:
        """The one column of integers that the query answers with."""


class DuckDb:
    """The main-memory column store of today, in the place of the paper's Kdb.

    A deletion finds its rows by an index (DuckDB's ART) and marks them; they are read, and take room, until a
    checkpoint drops them. We make one when more rows are marked than are left: a constant per removal.
    """

    mark, text, joins = "?", "VARCHAR", False

    def __init__(self) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:")
        self._connection.execute(f"SET index_scan_max_count = {_MOST_BY_INDEX}")
        self._rows = self._dead = 0

    def run(self, statement: str) -> None:
        self._connection.execute(statement)
        if statement == "COMMIT" and self._dead > max(_LEAST_DEAD, self._rows):
            self._connection.execute("CHECKPOINT")
            self._dead = 0

    def insert(self, table: str, columns: TableColumns) -> None:
        import pyarrow as pa

        rows = pa.table({name: pa.array(values) for name, values in columns.items()})
        self._connection.register("new_rows", rows)
        self._connection.execute(f"INSERT INTO {table} SELECT {', '.join(columns)} FROM new_rows")
        self._connection.unregister("new_rows")
        self._rows += len(rows)

    def delete(self, table: str, column: str, ids: Sequence[int]) -> None:
        for at in range(0, len(ids), _IDS_AT_ONCE):
            some = [_NO_ID, *ids[at : at + _IDS_AT_ONCE]]
            deletion = f"DELETE FROM {table} WHERE {column} IN ({', '.join('?' * len(some))})"
            ((gone,),) = self._connection.execute(deletion, some).fetchall()
            self._rows, self._dead = self._rows - gone, self._dead + gone

    def numbers(self, query: str, parameters: Sequence[int | str]) -> npt.NDArray[np.int64]:
        found = self._connection.cursor().execute(query, list(parameters)).fetchnumpy()
        (column,) = found.values()
        return np.asarray(column, dtype=np.int64)


class Sqlite:
    """One connection behind a lock: SQLite allows one statement at a time."""

    mark, text, joins = "?", "TEXT", True

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path or ":memory:", check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def insert(self, table: str, columns: TableColumns) -> None:
        lists = [values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()]
        marks = ", ".join("?" * len(lists))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        self._connection.executemany(statement, zip(*lists, strict=True))

    def delete(self, table: str, column: str, ids: Sequence[int]) -> None:
        self._connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", ((id,) for id in ids))

    def numbers(self, query: str, parameters: Sequence[int | str]) -> npt.NDArray[np.int64]:
        with self._lock:
            return np.array([row[0] for row in self._connection.execute(query, parameters)], np.int64)


class PostgreSql:
    """A server. Text keys compare by bytes, whatever the server's own language."""

    mark, text, joins = "%s", 'TEXT COLLATE "C"', True

    def __init__(self, url: str) -> None:
        import psycopg

        self._process = os.getpid()
        self._connection = psycopg.connect(url, autocommit=True)
        schema = f"tamis_{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE SCHEMA {schema}")
        self.run(f"SET search_path TO {schema}")
        self._schema = schema

    def __del__(self) -> None:
        mine = hasattr(self, "_schema") and self._process == os.getpid()  # a forked child leaves it alone
        if mine and not self._connection.closed:
            self.run(f"DROP SCHEMA {self._schema} CASCADE")
            self._connection.close()

    def run(self, statement: str) -> None:
        self._connection.execute(statement.encode())

    def insert(self, table: str, columns: TableColumns) -> None:
        lists = [values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()]
        statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        with self._connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for row in zip(*lists, strict=True):
                copy.write_row(row)

    def delete(self, table: str, column: str, ids: Sequence[int]) -> None:
        self._connection.execute(f"DELETE FROM {table} WHERE {column} = ANY(%s)".encode(), [list(ids)])

    def numbers(self, query: str, parameters: Sequence[int | str]) -> npt.NDArray[np.int64]:
        rows = self._connection.execute(query.encode(), list(parameters)).fetchall()
        return np.array([row[0] for row in rows], np.int64)


def open_database(url: str) -> Database:
    scheme, _, rest = url.partition(":")
    if scheme == "duckdb" and not rest:
        return DuckDb()
    if scheme == "sqlite":
        return Sqlite(rest.removeprefix("//").removeprefix("/") if rest.startswith("//") else rest)
    if scheme in ("postgresql", "postgres"):
        return PostgreSql(url)
    raise OptionError(f"expected a database such as 'duckdb:', 'sqlite:' or 'postgresql://…', found {url!r}")
