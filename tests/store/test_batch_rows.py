"""Rows of batches in a SQL table: a batch takes its own place, all of it or nothing, and a table has one stream."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tamis import OptionError
from tamis.store.batch_rows import SCHEMES, BatchTable

COLUMNS = {"id": "TEXT", "count": "BIGINT"}


@pytest.fixture(params=["sqlite", "duckdb"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}:///{tmp_path}/some.db"


def rows(url: str, table: str = "found") -> list[tuple[object, ...]]:
    base = SCHEMES[url.partition(":")[0]].connect(url)
    try:
        return sorted(base.execute(f"SELECT * FROM {table}").fetchall())
    finally:
        base.close()


def test_a_batch_that_comes_again_takes_its_own_place(url: str) -> None:
    table = BatchTable(url, "found", COLUMNS)

    counts = [
        table.replace("s", 0, [("a", 1), ("b", 2)]),
        table.replace("s", 1, iter([("c", 3)])),
        table.replace("s", 0, [("a", 1), ("d", 4), ("e", None)]),
        table.replace("s", 2, []),
    ]

    assert counts == [2, 1, 3, 0]
    assert rows(url) == [(0, "a", 1), (0, "d", 4), (0, "e", None), (1, "c", 3)]
    assert rows(url, "tamis_batches") == [("s", "found", 0, 3), ("s", "found", 1, 1), ("s", "found", 2, 0)]


@pytest.mark.postgres
def test_postgresql_has_every_batch_once_as_well() -> None:
    url, name = os.environ["TAMIS_POSTGRES"], f"found_{uuid4().hex[:12]}"
    table = BatchTable(url, name, COLUMNS)

    table.replace("s", 0, [("a", 1), ("b", 2)])
    table.replace("s", 0, [("a", 1), ("100 %", None)])
    with pytest.raises(OptionError, match="found batches of another one"):
        table.replace("t", 0, [])

    try:
        assert rows(url, name) == [(0, "100 %", None), (0, "a", 1)]
    finally:
        base = SCHEMES["postgresql"].connect(url)
        base.execute(f"DROP TABLE {name}")
        base.execute("DELETE FROM tamis_batches WHERE output = %s", [name])
        base.close()


def test_what_fails_in_the_midst_leaves_everything_as_it_was(url: str) -> None:
    table = BatchTable(url, "found", COLUMNS)
    table.replace("s", 0, [("a", 1)])

    def failing() -> Iterator[tuple[str, int]]:
        yield from (("x", number) for number in range(6000))
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        table.replace("s", 0, failing())

    assert rows(url) == [(0, "a", 1)]


def test_a_table_belongs_to_one_stream(url: str) -> None:
    BatchTable(url, "found", COLUMNS).replace("s", 0, [("a", 1)])
    BatchTable(url, "other", COLUMNS).replace("t", 0, [("b", 1)])

    with pytest.raises(OptionError, match="found: expected a table of this stream, found batches of another one"):
        BatchTable(url, "found", COLUMNS).replace("t", 0, [("b", 1)])
    assert rows(url) == [(0, "a", 1)]


def test_odd_urls_and_names_are_told() -> None:
    with pytest.raises(OptionError, match="expected a URL that begins with sqlite, duckdb, postgresql, found 'mysql:"):
        BatchTable("mysql://host/base", "found", COLUMNS)
    with pytest.raises(OptionError, match="expected the name of a table, of letters, digits and _, found 'x; DROP"):
        BatchTable("sqlite:///x", "x; DROP TABLE y", COLUMNS)
    with pytest.raises(OptionError, match=r"expected a file, as in sqlite:///folder/name\.db, found none"):
        BatchTable("sqlite:///", "found", COLUMNS).replace("s", 0, [])
