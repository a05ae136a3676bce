"""The databases that the SQL matchers run on; what differs between them stands here and nowhere else.

    duckdb:                          in memory, the default
    sqlite: or sqlite:///some/path   in memory or in a file
    postgresql://user@host/name      tables of their own in a schema made for the matcher, dropped when it goes

A database that is none of these is passed as an object that keeps this protocol, as `tamis.spark.sql_database` does.
"""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tamis.errors import OptionError

__all__ = ["Database", "open_database"]

Columns = Mapping[str, Sequence[int] | Sequence[str] | npt.NDArray[Any]]


class Database(Protocol):
    """A connection. Statements are written once for all; `mark` stands for a parameter, `text` for the type of keys."""

    mark: str
    text: str
    indexes: bool
    """Whether an index on an id is worth having; a column store scans."""

    def run(self, statement: str) -> None: ...

    def insert(self, table: str, columns: Columns) -> None: ...

    def delete(self, table: str, column: str, ids: Sequence[int]) -> None: ...

    def numbers(self, query: str, parameters: Sequence[int | str]) -> npt.NDArray[np.int64]:
        """The one column of integers that the query answers with."""


class DuckDb:
    """The main-memory column store of today, in the place of the paper's Kdb."""

    mark, text, indexes = "?", "VARCHAR", False

    def __init__(self) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:")

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def insert(self, table: str, columns: Columns) -> None:
        import pyarrow as pa

        rows = pa.table({name: pa.array(values) for name, values in columns.items()})
        self._connection.register("new_rows", rows)
        self._connection.execute(f"INSERT INTO {table} SELECT {', '.join(columns)} FROM new_rows")
        self._connection.unregister("new_rows")

    def delete(self, table: str, column: str, ids: Sequence[int]) -> None:
        self._connection.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT unnest(?::BIGINT[]))", [list(ids)])

    def numbers(self, query: str, parameters: Sequence[int | str]) -> npt.NDArray[np.int64]:
        found = self._connection.cursor().execute(query, list(parameters)).fetchnumpy()
        (column,) = found.values()
        return np.asarray(column, dtype=np.int64)


class Sqlite:
    """One connection behind a lock: SQLite allows one statement at a time."""

    mark, text, indexes = "?", "TEXT", True

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path or ":memory:", check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def insert(self, table: str, columns: Columns) -> None:
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

    mark, text, indexes = "%s", 'TEXT COLLATE "C"', True

    def __init__(self, url: str) -> None:
        import psycopg

        self._connection = psycopg.connect(url, autocommit=True)
        schema = f"tamis_{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE SCHEMA {schema}")
        self.run(f"SET search_path TO {schema}")
        self._schema = schema

    def __del__(self) -> None:
        if hasattr(self, "_schema") and not self._connection.closed:
            self.run(f"DROP SCHEMA {self._schema} CASCADE")
            self._connection.close()

    def run(self, statement: str) -> None:
        self._connection.execute(statement.encode())

    def insert(self, table: str, columns: Columns) -> None:
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
