"""The predicate-first algorithms answer the same over any predicate index."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tamis import Engine, LimitError, OptionError, Schema
from tamis.indexes import INDEXES
from tests.conformance.histories import History, histories, replay

_SLOW_TO_DRAW = [HealthCheck.too_slow, HealthCheck.data_too_large]
_UNBOUNDED = [name for name in INDEXES if name != "table"]


@pytest.mark.parametrize("index", _UNBOUNDED)
@pytest.mark.parametrize("algorithm", ["counting-lists", "hanson"])
@settings(max_examples=15, deadline=None, suppress_health_check=_SLOW_TO_DRAW)
@given(history=histories())
def test_any_index_has_the_naive_answers(algorithm: str, index: str, history: History) -> None:
    replay(history, algorithm, index=index)


@pytest.mark.parametrize("algorithm", ["counting-matrix", "counting-bits", "fair-predicate"])
def test_every_counting_algorithm_takes_an_index(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm, index="pb-tree")
    engine.subscribe_many([("ann", "a < 5 and b = 1"), ("bob", "a >= 5")])

    assert engine.match({"a": 3, "b": 1}) == ["ann"]


@pytest.mark.parametrize(
    "algorithm", ["counting-matrix", "counting-bits", "counting-lists", "fair-predicate", "hanson"]
)
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
