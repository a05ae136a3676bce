"""Spark SQL as a database of the SQL matchers: `Engine(algorithm="sql-grouping", database=SparkDatabase(session))`.

Spark has no tables that change in memory, so each table is a few Arrow tables, the *parts*, and a set of marks for what
is gone; a view over both is made anew when a changed table is next asked about. Fit to compare the papers' strategies
on, not to run a matcher on: the pipeline's own steps do that.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ChangingTable", "SparkDatabase"]

_TYPES = {"INTEGER": pa.int32(), "TEXT": pa.string(), "STRING": pa.string()}
_NUMBER = "row_number"
_DEAD_SHARE = 4
"""Marks are applied for good when there is one for every so many rows."""


class ChangingTable:
    """Rows in parts, each less than half as large as the one before it, numbered in the order they came.

    A deletion marks an id: its rows below the number that comes next are gone, and rows of the same id that come later
    are not. So inserting moves each row O(log n) times in all, deleting O(1) rows per id in the long run.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema.append(pa.field(_NUMBER, pa.int64()))
        self.parts: list[pa.Table] = []
        self.gone: dict[str, dict[int, int]] = {}
        self.moved = 0
        self._next = 0

    @property
    def rows(self) -> int:
        return sum(part.num_rows for part in self.parts)

    def insert(self, columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> None:
        count = len(next(iter(columns.values())))
        numbered = {**columns, _NUMBER: np.arange(self._next, self._next + count)}
        part = pa.table([pa.array(numbered[field.name], field.type) for field in self.schema], schema=self.schema)
        self._next += count
        while self.parts and self.parts[-1].num_rows <= 2 * part.num_rows:
            part = pa.concat_tables([self.parts.pop(), part])
            self.moved += part.num_rows
        self.parts.append(part.combine_chunks())

    def delete(self, column: str, ids: Sequence[int]) -> None:
        self.gone.setdefault(column, {}).update(dict.fromkeys(ids, self._next))
        if _DEAD_SHARE * sum(map(len, self.gone.values())) > self.rows:
            self._sweep()

    def _sweep(self) -> None:
        everything = pa.concat_tables([self.schema.empty_table(), *self.parts])
        self.moved += everything.num_rows
        for column, marks in self.gone.items():
            upto = pa.array(marks.values(), pa.int64())
            place = pc.index_in(everything.column(column), pa.array(marks.keys(), self.schema.field(column).type))
            dead = pc.less(everything.column(_NUMBER), pc.take(upto, place))
            everything = everything.filter(pc.invert(pc.fill_null(dead, False)))
        self.parts, self.gone = [everything.combine_chunks()] if everything.num_rows else [], {}


class SparkDatabase:
    """Keeps the protocol of `tamis.matchers.sql.databases`. Views have names of their own, so that many may live."""

    mark, text, joins = "?", "STRING", False

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._suffix = uuid.uuid4().hex[:12]
        self._tables: dict[str, ChangingTable] = {}
        self._frames: dict[str, list[tuple[pa.Table, DataFrame]]] = {}
        self._stale: set[str] = set()
        self._lock = threading.Lock()

    def run(self, statement: str) -> None:
        """`CREATE TABLE` alone says something to Spark; there is nothing to index, and no transaction to begin."""
        made = re.fullmatch(r"CREATE TABLE (\w+) \((.*)\)", statement)
        if made:
            columns = (column.split() for column in made[2].split(", "))
            self._tables[made[1]] = ChangingTable(pa.schema([(name, _TYPES[type]) for name, type in columns]))
            self._stale.add(made[1])

    def insert(self, table: str, columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> None:
        self._tables[table].insert(columns)
        self._stale.add(table)

    def delete(self, table: str, column: str, ids: Sequence[int]) -> None:
        self._tables[table].delete(column, ids)
        self._stale.add(table)

    def numbers(self, query: str, parameters: Sequence[int | str]) -> npt.NDArray[np.int64]:
        with self._lock:
            for table in sorted(self._stale):
                self._view(table).createOrReplaceTempView(f"{table}_{self._suffix}")
            self._stale.clear()
        names = "|".join(sorted(self._tables, key=len, reverse=True))
        own = re.sub(rf"(FROM|JOIN) ({names})\b", rf"\1 \2_{self._suffix}", query)
        found = self._session.sql(own, args=list(parameters)).toArrow()
        return np.asarray(found.column(0), dtype=np.int64)

    def _view(self, name: str) -> DataFrame:
        """All parts without what is gone. Only parts and marks that are new are handed to Spark."""
        table = self._tables[name]
        held = self._frames.get(name, [])
        frames = [self._frame(part, held) for part in table.parts or [table.schema.empty_table()]]
        self._frames[name] = list(zip(table.parts, frames, strict=False))
        rows = reduce(lambda left, right: left.unionAll(right), frames)
        for column, marks in table.gone.items():
            listed = {"gone_id": list(marks), "gone_upto": list(marks.values())}
            gone = self._session.createDataFrame(pa.table(listed)).hint("broadcast")
            here = (rows[column] == gone["gone_id"]) & (rows[_NUMBER] < gone["gone_upto"])
            rows = rows.join(gone, here, "left_anti")
        return rows.drop(_NUMBER)

    def _frame(self, part: pa.Table, held: list[tuple[pa.Table, DataFrame]]) -> DataFrame:
        for one, frame in held:
            if one is part:
                return frame
        return self._session.createDataFrame(part)
