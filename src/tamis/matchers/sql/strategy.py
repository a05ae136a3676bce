"""What the two SQL strategies share: a database, which predicates it is asked about, and the event as parameters.

The paper writes an event's attributes and values into the query; we bind them as parameters of a `VALUES` list, so that
nothing an event says is ever read as SQL. Values are kept as text that compares as they do (`keys.py`), with their kind
beside it. How SQL says an operator stands in the table of operators. What it cannot say — `not in`, partial orders,
sets, `is missing`, truths — is found out here, once per event (`front.py`), and comes with the event as a row for each
such predicate that holds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from tamis.matchers.parts.algorithm import Algorithm
from tamis.matchers.parts.arrays import Ints
from tamis.matchers.parts.changes import Change
from tamis.matchers.parts.front import Front
from tamis.matchers.parts.sorted_clusters import SortedClusters
from tamis.matchers.sql.databases import Database, open_database
from tamis.matchers.sql.keys import KINDS, key
from tamis.model import OPERATORS, Domain, Event, Operator, Predicate, Reference, Schema
from tamis.model.operators import Needs
from tamis.model.regions import region

__all__ = ["HOLDS", "SqlStrategy"]

_O = Operator
_MOST_VALUES = 2000
"""Values of an event that are bound in one query; SQLite takes 32,766 parameters, three per value."""

_SAID = {row.sql: operator.value for operator, row in OPERATORS.items() if row.sql is not None}
"""How SQL says it → the name that a row of the predicate table has for it."""

_COMPARED = "\n    OR ".join(f"p.op = '{name}' AND {sql}" for sql, name in _SAID.items() if name != _O.PRESENT)
HOLDS = f"(p.op = '{_O.PRESENT.value}' OR p.kind = e.kind AND (\n    {_COMPARED}))"
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
        self._front = Front(schema, SortedClusters)
        self._told = 0

    @abstractmethod
    def _store(self, change: Change) -> None: ...

    @abstractmethod
    def _erase(self, change: Change) -> None: ...

    def _insert(self, change: Change) -> None:
        told = self._unsaid(change)
        self._front.insert(told)
        try:
            with self._transaction():
                self._store(change)
        except BaseException:
            self._front.delete(told)
            raise
        self._told += len(told)

    def _delete(self, change: Change) -> None:
        with self._transaction():
            self._erase(change)
        told = self._unsaid(change)
        self._front.delete(told)
        self._told -= len(told)

    def _unsaid(self, change: Change) -> list[tuple[int, Predicate]]:
        """Of the predicates that come or go, those that SQL cannot say."""
        return [(pid, one) for pid, one in change.changed if not _as_rows(self._roster.schema, one)]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.run("BEGIN")
        try:
            yield
        except BaseException:
            self._database.run("ROLLBACK")
            raise
        self._database.run("COMMIT")

    def _rows_of(self, pids: Ints) -> dict[str, list[int] | list[str]]:
        """Columns of a predicate table, a row per test, any of which is enough; in `at` the place in `pids` that it
        comes from. What SQL cannot say has an attribute of its own, which an event has a row of if it holds."""
        at: list[int] = []
        attr: list[int] = []
        rows: list[tuple[str, str, str]] = []
        for place, pid in enumerate(pids.tolist()):
            predicate = self._roster.predicate(pid)
            found = _as_rows(self._roster.schema, predicate)
            at += [place] * max(len(found), 1)
            attribute = self._roster.attribute_number(predicate.attribute) if found else _truth(pid)
            attr += [attribute] * max(len(found), 1)
            rows += found or [(_O.PRESENT.value, "", "")]
        op, kind, val = ([row[column] for row in rows] for column in range(3))
        return {"at": at, "attr": attr, "op": op, "kind": kind, "val": val}

    def _find(self, event: Event) -> Ints:
        values: list[int | str] = [
            parameter
            for name, given in event.values.items()
            if (number := self._roster.attributes.get(name)) is not None
            for value in given
            for parameter in (number, KINDS[value.kind], key(value))
        ]
        for pid in self._front.search(event).tolist() if self._told else ():
            values += (_truth(pid), "", "")
        if len(values) > 3 * _MOST_VALUES:
            found = np.array([row for rows in self._roster.subscriptions.values() for row in rows], np.int32)
            return self._roster.verified(found, np.ones(len(found), np.bool_), event, self._work)
        return self._ask(values) if values else np.empty(0, np.int32)

    def _ask(self, values: list[int | str]) -> Ints:
        mark = self._database.mark
        text = self.query.format(values=", ".join([f"({mark}, {mark}, {mark})"] * (len(values) // 3)))
        return self._database.numbers(text, values).astype(np.int32)

    def _details(self) -> Mapping[str, int | float | str]:
        return {"database": type(self._database).__name__, "told": self._told}

    def _check(self) -> None:
        self._front.check()


def _truth(pid: int) -> int:
    """The attribute that stands for the truth of a predicate."""
    return -1 - pid


def _as_rows(schema: Schema, predicate: Predicate) -> list[tuple[str, str, str]]:
    """The predicate as rows (op, kind, val), any of which is enough; none if SQL cannot say it."""
    row = OPERATORS[predicate.operator]
    if row.sql is None or isinstance(predicate.operand, Reference):
        return []
    found = region(_domain(schema, predicate), predicate)
    if row.needs is Needs.ORDER and (found is None or not found.inside):
        return []  # a partial order, or none
    name = _SAID[row.sql]
    if not predicate.constants:
        return [(name, "", "")]
    return [(name, KINDS[value.kind], key(value)) for value in predicate.constants]


def _domain(schema: Schema, predicate: Predicate) -> Domain:
    domain = schema.domain(predicate.attribute)
    assert domain is not None
    return domain
