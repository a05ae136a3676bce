"""Predicate grouping in a database (ToPSS §4.2): each distinct predicate is evaluated once, whoever shares it.

`preds` has the distinct predicates, `subs_preds` says who uses which, `subs` how many each subscription has. The query
finds the predicates that hold, counts the associations of each subscription, and keeps those that are complete.

We deviate in binding the event as parameters, where the paper writes it into the query, and in telling it what
SQL cannot say; `strategy.py` says both.

Cost: match a scan of the distinct predicates and the associations of those that hold, add bulk insertions, remove
deletions by id, memory the database's.
"""

from __future__ import annotations

import numpy as np

from tamis.matchers.parts.changes import Change
from tamis.matchers.sql.strategy import HOLDS, SqlStrategy

__all__ = ["SqlGrouping"]

_QUERY = f"""
WITH event (attr, kind, val) AS (VALUES {{values}})
SELECT s.sid
FROM subs s JOIN subs_preds a ON a.sid = s.sid
WHERE a.pid IN (SELECT p.pid FROM preds p JOIN event e ON p.attr = e.attr WHERE {HOLDS})
GROUP BY s.sid, s.cnt
HAVING count(*) = s.cnt"""


class SqlGrouping(SqlStrategy):
    """ToPSS §4.2."""

    tables = (
        "CREATE TABLE subs (sid INTEGER, cnt INTEGER)",
        "CREATE TABLE preds (pid INTEGER, attr INTEGER, op TEXT, kind TEXT, val {text})",
        "CREATE TABLE subs_preds (sid INTEGER, pid INTEGER)",
    )
    indexes = (
        "CREATE INDEX subs_by_sid ON subs (sid)",
        "CREATE INDEX preds_by_pid ON preds (pid)",
        "CREATE INDEX subs_preds_by_sid ON subs_preds (sid)",
    )
    joins = ("CREATE INDEX subs_preds_by_pid ON subs_preds (pid)",)
    query = _QUERY

    def _store(self, change: Change) -> None:
        fresh = np.array([pid for pid, _ in change.changed], np.int32)
        columns = self._rows_of(fresh)
        at = np.array(columns.pop("at"), np.int64)
        if len(at):
            self._database.insert("preds", {"pid": fresh[at], **columns})
        if len(change.pids):
            self._database.insert("subs", {"sid": change.rows, "cnt": change.sizes.astype(np.int32)})
            self._database.insert("subs_preds", {"sid": change.members, "pid": change.pids})

    def _erase(self, change: Change) -> None:
        self._database.delete("subs_preds", "sid", change.rows.tolist())
        self._database.delete("subs", "sid", change.rows.tolist())
        self._database.delete("preds", "pid", [pid for pid, _ in change.changed])
