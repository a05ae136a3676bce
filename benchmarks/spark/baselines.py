"""Le Subscribe's workload in plain SQL: cross join, equality/range split, predicate grouping.

The same queries run on Spark SQL and DuckDB. Subscriptions come as a table with a column per attribute (its constant,
null where it asks nothing) and per number its operator, and as a table of single predicates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa

__all__ = ["QUERIES", "predicates", "wide"]

STRINGS, NUMBERS = ("s0", "s1", "s2"), ("n0", "n1", "n2")
_PREDICATE = re.compile(r"(\w+) (=|<=|>=|<|>) '?(\w+)'?")


def wide(subscriptions: pa.Table) -> pa.Table:
    """One row per subscription."""
    rows = []
    for id, text in zip(subscriptions["id"].to_pylist(), subscriptions["expression"].to_pylist(), strict=True):
        row: dict[str, object] = {"id": id}
        for name, operator, constant in _PREDICATE.findall(text):
            row[name] = int(constant) if name in NUMBERS else constant
            if name in NUMBERS:
                row[f"{name}_op"] = operator
        rows.append(row)
    kinds = [("id", pa.int64()), *((name, pa.string()) for name in STRINGS)]
    kinds += [(name, pa.int64()) for name in NUMBERS] + [(f"{name}_op", pa.string()) for name in NUMBERS]
    return pa.Table.from_pylist(rows, pa.schema(kinds))


def predicates(subscriptions: pa.Table) -> pa.Table:
    """One row per predicate, with the number of predicates of its subscription."""
    rows = []
    for id, text in zip(subscriptions["id"].to_pylist(), subscriptions["expression"].to_pylist(), strict=True):
        found = _PREDICATE.findall(text)
        for name, operator, constant in found:
            number = int(constant) if name in NUMBERS else None
            word = None if name in NUMBERS else constant
            rows.append({"id": id, "attribute": name, "op": operator, "word": word, "number": number, "n": len(found)})
    kinds = [("id", pa.int64()), ("attribute", pa.string()), ("op", pa.string()), ("word", pa.string())]
    return pa.Table.from_pylist(rows, pa.schema([*kinds, ("number", pa.int64()), ("n", pa.int64())]))


def _holds(left: str, operator: str, right: str) -> str:
    signs = ("=", "<", "<=", ">", ">=")
    return "(" + " OR ".join(f"({operator} = '{sign}' AND {left} {sign} {right})" for sign in signs) + ")"


_STRING_TESTS = [f"(s.{name} IS NULL OR e.{name} = s.{name})" for name in STRINGS]
_NUMBER_TESTS = [f"(s.{name} IS NULL OR {_holds(f'e.{name}', f's.{name}_op', f's.{name}')})" for name in NUMBERS]
_ALL = " AND ".join(_STRING_TESTS + _NUMBER_TESTS)


def _split() -> str:
    """A join on the first string that a subscription fixes; a cross join for those that fix none."""
    parts = []
    for at, name in enumerate(STRINGS):
        without = "".join(f" AND s.{other} IS NULL" for other in STRINGS[:at])
        parts.append(f"SELECT e.event_id, s.id FROM e JOIN s ON e.{name} = s.{name} WHERE {_ALL}{without}")
    none = " AND ".join(f"s.{name} IS NULL" for name in STRINGS)
    parts.append(f"SELECT e.event_id, s.id FROM e CROSS JOIN s WHERE {none} AND {_ALL}")
    return " UNION ALL ".join(parts)


_WORDS = "SELECT event_id, '{0}' AS attribute, {0} AS word, CAST(NULL AS BIGINT) AS number FROM e WHERE {0} IS NOT NULL"
_DIGITS = "SELECT event_id, '{0}', CAST(NULL AS VARCHAR(9)), {0} FROM e WHERE {0} IS NOT NULL"
_VALUES = " UNION ALL ".join([_WORDS.format(name) for name in STRINGS] + [_DIGITS.format(name) for name in NUMBERS])

QUERIES: Mapping[str, str] = {
    "cross join": f"SELECT e.event_id, s.id FROM e CROSS JOIN s WHERE {_ALL}",
    "equality/range split": _split(),
    "predicate grouping": f"""
        SELECT v.event_id, p.id FROM ({_VALUES}) v JOIN p ON v.attribute = p.attribute
        WHERE v.word = p.word OR {_holds("v.number", "p.op", "p.number")}
        GROUP BY v.event_id, p.id, p.n HAVING count(*) = p.n
    """,
}
