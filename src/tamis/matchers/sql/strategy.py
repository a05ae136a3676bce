"""What the two SQL strategies share: a database, which predicates it is asked about, and the event as parameters.

The paper writes an event's attributes and values into the query; we bind them as parameters of a `VALUES` list, so that
nothing an event says is ever read as SQL. Values are kept as text that compares as they do (`keys.py`), with their kind
beside it. What SQL is not asked — `not in`, partial orders, sets, `is missing`, references — is verified on the
candidates that the query finds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from tamis.matchers.parts.algorithm import Algorithm
from tamis.matchers.parts.arrays import Ints, grown
from tamis.matchers.parts.changes import Change
from tamis.matchers.parts.front import as_six
from tamis.matchers.sql.databases import Database, open_database
from tamis.matchers.sql.keys import KINDS, key
from tamis.model import Event, Operator, Predicate, Schema, Value

__all__ = ["HOLDS", "SqlStrategy"]

_O = Operator
_MOST_VALUES = 2000
"""Values of an event that are bound in one query; SQLite takes 32,766 parameters, three per value."""

HOLDS = """(p.op = 'present' OR p.kind = e.kind AND (
    p.op = '=' AND e.val = p.val OR p.op = '!=' AND e.val <> p.val
    OR p.op = '<' AND e.val < p.val OR p.op = '<=' AND e.val <= p.val
    OR p.op = '>' AND e.val > p.val OR p.op = '>=' AND e.val >= p.val
    OR p.op = 'starts' AND substr(e.val, 1, length(p.val)) = p.val))"""
"""Whether predicate row `p` holds for value row `e`, both of one attribute."""


class SqlStrategy(Algorithm):
    """A strategy says which tables it keeps and what it asks them. `url` names a database, or `database` is one."""

    tables: tuple[str, ...]
    indexes: tuple[str, ...]
    """What removal looks up, so that it never reads a whole table."""
    joins: tuple[str, ...] = ()
    """Further indexes that the query can use."""
    query: str

    def __init__(self, schema: Schema, url: str = "duckdb:", database: Database | None = None) -> None:
        super().__init__(schema)
        self._database = database if database is not None else open_database(url)
        for statement in self.tables + self.indexes + (self.joins if self._database.joins else ()):
            self._database.run(statement.format(text=self._database.text))
        self._asks = np.empty(0, np.bool_)
        self._asked = np.empty(0, np.int32)
        self._unasked: set[int] = set()
        self._doubtful = np.empty(0, np.bool_)

    @abstractmethod
    def _store(self, change: Change, asked: Change) -> None: ...

    @abstractmethod
    def _erase(self, change: Change) -> None: ...

    def _insert(self, change: Change) -> None:
        self._asks = grown(self._asks, self._roster.predicate_count)
        for pid, _ in change.changed:
            self._asks[pid] = bool(self._tests(pid))
        asked = change.only(self._asks[change.pids])
        self._asked, self._doubtful = (grown(array, self._roster.row_count) for array in (self._asked, self._doubtful))
        self._asked[change.rows] = asked.sizes
        self._doubtful[change.rows] = asked.sizes < change.sizes
        with self._transaction():
            self._store(change, asked)
        self._unasked.update(change.rows[asked.sizes == 0].tolist())

    def _delete(self, change: Change) -> None:
        with self._transaction():
            self._erase(change)
        self._unasked.difference_update(change.rows.tolist())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.run("BEGIN")
        try:
            yield
        except BaseException:
            self._database.run("ROLLBACK")
            raise
        self._database.run("COMMIT")

    def _tests(self, pid: int) -> list[tuple[str, str, str]]:
        """The predicate as rows (op, kind, val), any of which is enough; none if SQL is not asked about it."""
        predicate = self._roster.predicates[pid]
        return [] if predicate is None else _as_rows(self._roster.schema, predicate)

    def _rows_of(self, pids: Ints) -> dict[str, list[int] | list[str]]:
        """Columns of a predicate table, a row per test, and in `at` the place in `pids` that it comes from."""
        at: list[int] = []
        attr: list[int] = []
        rows: list[tuple[str, str, str]] = []
        for place, pid in enumerate(pids.tolist()):
            attribute = self._roster.attribute_number(self._roster.predicate(pid).attribute)
            for row in self._tests(pid):
                at.append(place)
                attr.append(attribute)
                rows.append(row)
        op, kind, val = ([row[column] for row in rows] for column in range(3))
        return {"at": at, "attr": attr, "op": op, "kind": kind, "val": val}

    def _find(self, event: Event) -> Ints:
        values = [
            parameter
            for name, given in event.values.items()
            if (number := self._roster.attributes.get(name)) is not None
            for value in given
            for parameter in (number, KINDS[value.kind], key(value))
        ]
        if len(values) > 3 * _MOST_VALUES:
            found = np.array([row for rows in self._roster.subscriptions.values() for row in rows], np.int32)
            return self._roster.verified(found, np.ones(len(found), np.bool_), event, self._work)
        rows = self._ask(values) if values else np.empty(0, np.int32)
        rows = np.concatenate([rows, np.fromiter(self._unasked, np.int32)])
        return self._roster.verified(rows, self._doubtful[rows], event, self._work)

    def _ask(self, values: list[int | str]) -> Ints:
        mark = self._database.mark
        text = self.query.format(values=", ".join([f"({mark}, {mark}, {mark})"] * (len(values) // 3)))
        return self._database.numbers(text, values).astype(np.int32)

    def _details(self) -> Mapping[str, int | float | str]:
        return {"database": type(self._database).__name__, "unasked": len(self._unasked)}

    def _check(self) -> None:
        live = {row for rows in self._roster.subscriptions.values() for row in rows}
        assert self._unasked <= live, "a row that is gone is still verified"


def _as_rows(schema: Schema, predicate: Predicate) -> list[tuple[str, str, str]]:
    operator, operand = predicate.operator, predicate.operand
    if operator is _O.PRESENT:
        return [("present", "", "")]
    if operator is _O.IN and isinstance(operand, tuple):
        return [("=", KINDS[value.kind], key(value)) for value in operand if isinstance(value, Value)]
    if not isinstance(operand, Value):
        return []
    kind, text = KINDS[operand.kind], key(operand)
    if operator in (_O.EQ, _O.CONTAINS):
        return [("=", kind, text)]
    if operator is _O.NE:
        return [("!=", kind, text)]
    if operator is _O.STARTS:
        return [("starts", kind, text)]
    domain = schema.domain(predicate.attribute)
    assert domain is not None
    six = as_six(domain, predicate)
    return [] if six is None else [(six[0].value, kind, text)]
