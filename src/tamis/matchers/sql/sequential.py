"""Sequential search in a database (ToPSS §4.1): subscriptions are rows, and a query per event tries every predicate.

One table has a row per predicate, `subs (sid, pno, attr, op, kind, val)`. The query joins it with the event, counts per
subscription the predicates that hold, and compares with the number there are.

We deviate in binding the event as parameters, where the paper writes it into the query, and in telling it what
SQL cannot say; `strategy.py` says both. A predicate may take several rows (`in`), which share their `pno`.

Cost: match a scan of all predicates of all subscriptions, add a bulk insertion, remove a deletion by id, memory the
database's.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.matchers.parts.changes import Change
from tamis.matchers.sql.strategy import HOLDS, SqlStrategy

__all__ = ["SqlSequential"]

_QUERY = f"""
WITH event (attr, kind, val) AS (VALUES {{values}}),
     counts AS (SELECT sid, count(DISTINCT pno) AS n FROM subs GROUP BY sid)
SELECT p.sid
FROM subs p JOIN event e ON p.attr = e.attr JOIN counts c ON c.sid = p.sid
WHERE {HOLDS}
GROUP BY p.sid, c.n
HAVING count(DISTINCT p.pno) = c.n"""


class SqlSequential(SqlStrategy):
    """ToPSS §4.1."""

    tables = ("CREATE TABLE subs (sid INTEGER, pno INTEGER, attr INTEGER, op TEXT, kind TEXT, val {text})",)
    indexes = ("CREATE INDEX subs_by_sid ON subs (sid)",)
    query = _QUERY

    def _store(self, change: Change) -> None:
        columns = self._rows_of(change.pids)
        at = np.array(columns.pop("at"), np.int64)
        if len(at):
            self._database.insert("subs", {"sid": change.members[at], "pno": at - _row_starts(change)[at], **columns})

    def _erase(self, change: Change) -> None:
        self._database.delete("subs", "sid", change.rows.tolist())


def _row_starts(change: Change) -> npt.NDArray[np.int64]:
    """For each predicate of the change, where its row starts."""
    return np.repeat(change.starts[:-1], change.sizes)
