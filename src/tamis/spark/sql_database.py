"""Spark SQL as a database of the SQL matchers: `Engine(algorithm="sql-grouping", database=SparkDatabase(session))`.

Spark has no tables that change in memory, so rows wait here as Arrow tables and become temporary views when they are
next asked about. Fit to compare the papers' strategies on, not to run a matcher on: the pipeline's own steps do that.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

__all__ = ["SparkDatabase"]

_TYPES = {"INTEGER": pa.int32(), "TEXT": pa.string(), "STRING": pa.string()}


class SparkDatabase:
    """Keeps the protocol of `tamis.matchers.sql.databases`. Views have names of their own, so that many may live."""

    mark, text, indexes = "?", "STRING", False

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._suffix = uuid.uuid4().hex[:12]
        self._tables: dict[str, pa.Table] = {}
        self._stale: set[str] = set()
        self._lock = threading.Lock()

    def run(self, statement: str) -> None:
        """`CREATE TABLE` alone says something to Spark; there is nothing to index, and no transaction to begin."""
        made = re.fullmatch(r"CREATE TABLE (\w+) \((.*)\)", statement)
        if made:
            columns = (column.split() for column in made[2].split(", "))
            self._tables[made[1]] = pa.schema([(name, _TYPES[type]) for name, type in columns]).empty_table()
            self._stale.add(made[1])

    def insert(self, table: str, columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> None:
        before = self._tables[table]
        arrays = [pa.array(columns[name], before.schema.field(name).type) for name in before.column_names]
        self._tables[table] = pa.concat_tables([before, pa.table(arrays, schema=before.schema)])
        self._stale.add(table)

    def delete(self, table: str, column: str, ids: Sequence[int]) -> None:
        before = self._tables[table]
        gone = pc.is_in(before.column(column), pa.array(ids, before.schema.field(column).type))
        self._tables[table] = before.filter(pc.invert(gone))
        self._stale.add(table)

    def numbers(self, query: str, parameters: Sequence[int | str]) -> npt.NDArray[np.int64]:
        with self._lock:
            for table in sorted(self._stale):
                rows = self._session.createDataFrame(self._tables[table].combine_chunks())
                rows.createOrReplaceTempView(f"{table}_{self._suffix}")
            self._stale.clear()
        names = "|".join(sorted(self._tables, key=len, reverse=True))
        own = re.sub(rf"(FROM|JOIN) ({names})\b", rf"\1 \2_{self._suffix}", query)
        found = self._session.sql(own, args=list(parameters)).toArrow()
        return np.asarray(found.column(0), dtype=np.int64)
