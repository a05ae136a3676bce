"""The predicate-first algorithms answer the same over any predicate index."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis import Engine, LimitError, OptionError, Schema
from tamis.indexes import INDEXES
from tests.conformance.histories import History, histories, make_history, replay
from tests.strategies import Dice, make_schema

_PREDICATES_FIRST = ["counting-matrix", "counting-bits", "counting-lists", "fair-predicate", "hanson"]
_UNBOUNDED = [name for name in INDEXES if name != "table"]
_BOUNDED = Schema.loads("""
[attributes]
a = { type = "integer", min = 0, max = 5 }
b = { type = "integer", min = -2, max = 2 }
c = "boolean"
d = { type = "enumerated", values = ["x", "y", "z"], order = [["x", "y"]] }

[event_types.one]
a = "optional multiple"
b = "mandatory"
c = "optional"
d = "optional multiple"
""")
"""What a table can hold."""
_WIDE = Schema.loads("""
[attributes]
a = { type = "integer", min = 0, max = 99 }
b = { type = "integer", min = 0, max = 99 }

[event_types.one]
a = "mandatory"
b = "optional multiple"
""")
_SEEDS = range(4)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("algorithm", _PREDICATES_FIRST)
def test_every_algorithm_has_the_naive_answers_over_every_index(algorithm: str, index: str) -> None:
    matches = 0
    for seed in _SEEDS:
        dice = Dice(random.Random(f"{algorithm} {index} {seed}").randrange)
        schema = _BOUNDED if index == "table" or seed % 2 else make_schema(dice)
        matches += replay(make_history(dice, schema), algorithm, index=index)

    assert matches > 0


@pytest.mark.parametrize("algorithm", _PREDICATES_FIRST)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(history=histories(), index=st.sampled_from(_UNBOUNDED))
def test_any_history_has_the_naive_answers_over_any_index(algorithm: str, index: str, history: History) -> None:
    replay(history, algorithm, index=index)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("algorithm", _PREDICATES_FIRST)
def test_an_index_takes_many_predicates_at_once_and_gives_them_back(algorithm: str, index: str) -> None:
    """Past the size where an index is built anew instead of filled one by one."""
    engine = _filled(Engine(_WIDE, algorithm=algorithm, index=index))

    assert engine.match(_CHOICE) == _naive_answer()
    engine.check()


_CHOICE = {"a": 50, "b": [40, 70]}


@cache
def _naive_answer() -> list[object]:
    return list(_filled(Engine(_WIDE, algorithm="naive")).match(_CHOICE))


def _filled(engine: Engine) -> Engine:
    operators = ("=", "!=", "<", "<=", ">", ">=")
    engine.subscribe_many([(n, f"a {operators[n % 6]} {n % 97} and b >= {n % 89}") for n in range(300)])
    for id in range(0, 300, 7):
        engine.unsubscribe(id)
    engine.subscribe_many([(n, f"b {operators[n % 6]} {n % 83}") for n in range(280, 320)])
    return engine


@pytest.mark.parametrize("algorithm", _PREDICATES_FIRST)
def test_an_index_that_cannot_hold_a_domain_leaves_the_engine_as_it_was(algorithm: str) -> None:
    schema = Schema.loads("[attributes]\na = { type = 'integer', min = 0, max = 9 }\nb = 'integer'")
    engine = Engine(schema, algorithm=algorithm, index="table")
    engine.subscribe("ann", "a < 5")

    with pytest.raises(LimitError):
        engine.subscribe_many([("bob", "a < 7"), ("eve", "a < 3"), ("dev", "b < 5")])

    assert engine.match({"a": 4, "b": 1}) == ["ann"]
    engine.check()


def test_an_unknown_index_is_refused() -> None:
    with pytest.raises(OptionError, match="no index is called 'b-tree'"):
        Engine(algorithm="counting-lists", index="b-tree")
