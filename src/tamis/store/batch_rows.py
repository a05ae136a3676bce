"""Rows of batches in a table of a SQL database, each batch once: its number goes in by the same transaction.

    sqlite:///some/path              a file
    duckdb:///some/path              a file
    postgresql://user@host/name      a server

Beside the table stands `tamis_batches`, with the batches that are in. A batch that comes again takes its own place: its
rows are deleted and written anew in one transaction, so that a reader sees them once, whenever the writer dies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tamis.errors import OptionError

__all__ = ["BATCH_ID", "SCHEMES", "BatchTable"]

BATCH_ID = "batch_id"
_AT_ONCE = 5_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BATCHES = (
    "CREATE TABLE IF NOT EXISTS tamis_batches (stream VARCHAR(64), output VARCHAR(200), batch_id BIGINT, "
    "row_count BIGINT, PRIMARY KEY (output, batch_id))"
)


def _sqlite(url: str) -> Any:
    import sqlite3

    return sqlite3.connect(_file(url), isolation_level=None, timeout=60)


def _duckdb(url: str) -> Any:
    import duckdb

    return duckdb.connect(_file(url))


def _postgresql(url: str) -> Any:
    import psycopg

    return psycopg.connect(url, autocommit=True)


def _file(url: str) -> str:
    path = unquote(urlsplit(url).path)
    if not path.strip("/"):
        raise OptionError(f"{url}: expected a file, as in sqlite:///folder/name.db, found none")
    # As everywhere: three slashes begin a relative path, four an absolute one.
    return path[1:]


class _Dialect(NamedTuple):
    connect: Callable[[str], Any]
    mark: str


SCHEMES: Mapping[str, _Dialect] = {
    "sqlite": _Dialect(_sqlite, "?"),
    "duckdb": _Dialect(_duckdb, "?"),
    "postgresql": _Dialect(_postgresql, "%s"),
}


class BatchTable:
    """A table that belongs to one stream. `columns` are names with their SQL types; `batch_id` comes first."""

    def __init__(self, url: str, table: str, columns: Mapping[str, str]) -> None:
        scheme = urlsplit(url).scheme
        if scheme not in SCHEMES:
            raise OptionError(f"expected a URL that begins with {', '.join(SCHEMES)}, found {url!r}")
        if not _NAME.fullmatch(table):
            raise OptionError(f"expected the name of a table, of letters, digits and _, found {table!r}")
        self._url = url
        self._dialect = SCHEMES[scheme]
        self._table = table
        self._columns = {BATCH_ID: "BIGINT", **columns}

    def replace(self, stream: str, batch: int, rows: Iterable[Sequence[object]]) -> int:
        """All rows of a batch in the place of those it had; how many there are. Nothing changes if this fails."""
        with closing(self._dialect.connect(self._url)) as base, _transaction(base) as cursor:
            self._make(cursor)
            self._check_owner(cursor, stream)
            self._run(cursor, f"DELETE FROM {self._table} WHERE {BATCH_ID} = @", batch)
            self._run(cursor, f"DELETE FROM tamis_batches WHERE output = @ AND {BATCH_ID} = @", self._table, batch)
            count = 0
            numbered = ((batch, *row) for row in rows)
            marks = ", ".join("@" for _ in self._columns)
            statement = self._marked(f"INSERT INTO {self._table} ({self._names()}) VALUES ({marks})")
            while some := list(islice(numbered, _AT_ONCE)):
                cursor.executemany(statement, some)
                count += len(some)
            self._run(cursor, "INSERT INTO tamis_batches VALUES (@, @, @, @)", stream, self._table, batch, count)
        return count

    def _make(self, cursor: Any) -> None:
        columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in self._columns.items())
        cursor.execute(_BATCHES)
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {self._table} ({columns})")
        cursor.execute(f"CREATE INDEX IF NOT EXISTS {self._table}_by_batch ON {self._table} ({BATCH_ID})")

    def _check_owner(self, cursor: Any, stream: str) -> None:
        """Batches are numbered from 0 in every checkpoint: another stream's would take the place of this one's."""
        self._run(cursor, "SELECT 1 FROM tamis_batches WHERE output = @ AND stream <> @ LIMIT 1", self._table, stream)
        if cursor.fetchone():
            raise OptionError(
                f"{self._table}: expected a table of this stream, found batches of another one, with another "
                "checkpoint; name another table, or drop this one and its rows in tamis_batches"
            )

    def _run(self, cursor: Any, statement: str, *parameters: object) -> None:
        cursor.execute(self._marked(statement), parameters)

    def _marked(self, statement: str) -> str:
        return statement.replace("@", self._dialect.mark)

    def _names(self) -> str:
        return ", ".join(map(_quoted, self._columns))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("@", "") + '"'


@contextmanager
def _transaction(base: Any) -> Iterator[Any]:
    cursor = base.cursor()
    cursor.execute("BEGIN")
    try:
        yield cursor
    except BaseException:
        cursor.execute("ROLLBACK")
        raise
    cursor.execute("COMMIT")
