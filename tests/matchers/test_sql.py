"""The SQL matchers on each database, and the keys their values are kept under."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis import Engine, OptionError
from tamis.matchers.sql.databases import DuckDb
from tamis.matchers.sql.keys import key
from tamis.model import Number, String, Untyped, value_of
from tests.conformance.histories import History, histories, replay

_SLOW_TO_DRAW = [HealthCheck.too_slow, HealthCheck.data_too_large]
_BOTH = pytest.mark.parametrize("algorithm", ["sql-sequential", "sql-grouping"])


_NUMBERS = st.one_of(st.integers(), st.sampled_from([-0.0, 0.5, 1.0, 2**53 + 1, 2.0**53, 1e300, -(10**400)]))
_TEXTS = st.text("ab\x00é\ud7ff\ue000\U0010ffff", max_size=4)


@given(st.data(), st.sampled_from([Number(), String()]))
def test_keys_compare_as_their_values_do(data: st.DataObject, domain: Number | String) -> None:
    raw = _NUMBERS if isinstance(domain, Number) else _TEXTS
    left, right = (domain.value(data.draw(raw)) for _ in range(2))

    assert (key(left) < key(right)) is domain.less(left, right)
    assert (key(left) == key(right)) is (left == right)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers())
def test_keys_compare_floats_with_integers_by_value(left: float, right: int) -> None:
    assert (key(value_of(left)) < key(value_of(right))) is (left < right)


@_BOTH
@settings(max_examples=25, deadline=None, suppress_health_check=_SLOW_TO_DRAW)
@given(history=histories())
def test_sqlite_has_the_naive_answers(algorithm: str, history: History) -> None:
    replay(history, algorithm, url="sqlite:")


@pytest.mark.postgres
@_BOTH
@settings(max_examples=25, deadline=None, suppress_health_check=_SLOW_TO_DRAW)
@given(history=histories(most_steps=4))
def test_postgresql_has_the_naive_answers(algorithm: str, history: History) -> None:
    replay(history, algorithm, url=os.environ["TAMIS_POSTGRES"])


@_BOTH
def test_removal_in_duckdb_looks_rows_up_and_scans_none(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of every deletion, of one subscription and of many, as DuckDB carried it out."""
    database, plans = DuckDb(), []
    monkeypatch.setattr(database, "_connection", _Explaining(database._connection, plans))
    engine = Engine(algorithm=algorithm, database=database)
    engine.subscribe_many([(n, f"a = {n} and b < {n}") for n in range(1000)])

    engine.unsubscribe(17)
    engine.subscribe_many([(n, f"c = {n}") for n in range(300, 600)])

    assert len(plans) >= 4
    assert [plan for plan in plans if "Index Scan" not in plan or "Sequential Scan" in plan] == []
    assert engine.match({"a": [17, 18], "b": 1, "c": 300}) == [18, 300]


class _Explaining:
    """A connection that keeps the plan of each deletion; only when carried out does it say how rows were found."""

    def __init__(self, connection: Any, plans: list[str]) -> None:
        self._connection, self._plans = connection, plans

    def execute(self, statement: str, *parameters: Any) -> Any:
        if statement.startswith("DELETE"):
            explained = self._connection.execute(f"EXPLAIN ANALYZE {statement}", *parameters).fetchall()
            self._plans.append(explained[0][1])
        return self._connection.execute(statement, *parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@_BOTH
def test_rows_that_are_gone_leave_duckdb_in_the_end(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.matchers.sql.databases._LEAST_DEAD", 100)
    database = DuckDb()
    engine = Engine(algorithm=algorithm, database=database)
    texts = [(n, f"a = {n} and b < {n}") for n in range(200)]

    for _ in range(8):
        engine.subscribe_many(texts)

    sizes = database.numbers("SELECT estimated_size FROM duckdb_tables()", [])
    assert sizes.max() <= 4 * 400
    assert engine.match({"a": 5, "b": 1}) == [5]


@_BOTH
def test_nothing_an_event_says_is_read_as_sql(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe("ann", "a = '''); DROP TABLE subs; --'")

    assert engine.match({"a": "'); DROP TABLE subs; --"}) == ["ann"]
    assert engine.match({"a); DROP TABLE subs; --": 1}) == []


def test_an_unknown_database_is_refused() -> None:
    with pytest.raises(OptionError, match="expected a database"):
        Engine(algorithm="sql-grouping", url="oracle://there")


def test_an_event_with_very_many_values_is_verified_instead() -> None:
    engine = Engine(algorithm="sql-grouping")
    engine.subscribe("ann", "a = 7 and b is missing")
    engine.subscribe("bob", "a = -7")

    assert engine.match({"a": list(range(5000))}) == ["ann"]


def test_untyped_values_of_two_kinds_have_keys_of_their_own() -> None:
    one, text = Untyped().value(1), Untyped().value("1")

    assert (one.kind, key(one)) != (text.kind, key(text))
