"""Every algorithm of MATCHERS answers as the naive matcher does, on any history of subscribing and publishing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings

from tamis import Engine
from tamis.language import parse
from tamis.matchers import MATCHERS
from tamis.model import Operator, Threshold
from tests.conformance.histories import History, histories, replay
from tests.strategies import Dice, make_expression, make_schema

_EXAMPLES = int(os.environ.get("TAMIS_EXAMPLES", "50"))
_SLOW_TO_DRAW = [HealthCheck.too_slow, HealthCheck.data_too_large]

_IN_SQL = [algorithm for algorithm in MATCHERS if algorithm.startswith("sql")]
"""Each history opens a database: a quarter of the examples."""
_IN_PROCESS = [algorithm for algorithm in MATCHERS if algorithm not in _IN_SQL]
_WITH_KERNELS = [algorithm for algorithm in _IN_PROCESS if algorithm not in ("naive", "gough")]


@pytest.mark.parametrize("algorithm", _IN_PROCESS)
@settings(max_examples=_EXAMPLES, deadline=None, suppress_health_check=_SLOW_TO_DRAW)
@given(history=histories())
def test_any_history_has_the_naive_answers(algorithm: str, history: History) -> None:
    matches = replay(history, algorithm)

    event("matches" if matches else "no match")


@pytest.mark.parametrize("algorithm", _IN_SQL)
@settings(max_examples=_EXAMPLES // 4, deadline=None, suppress_health_check=_SLOW_TO_DRAW)
@given(history=histories())
def test_any_history_has_the_naive_answers_in_sql(algorithm: str, history: History) -> None:
    replay(history, algorithm)


def test_histories_draw_every_operator() -> None:
    found: set[Operator] = set()
    for seed in range(300):
        dice = Dice(random.Random(seed).randrange)
        schema = make_schema(dice)
        waiting = [one for _ in range(3) for one in parse(make_expression(dice, schema), schema)]
        for predicate in (predicate for conjunction in waiting for predicate in conjunction):
            found.add(predicate.operator)
            if isinstance(predicate.operand, Threshold):
                found.update(one.operator for one in predicate.operand.predicates())

    assert set(Operator) - found == set()


@pytest.mark.parametrize("algorithm", MATCHERS)
def test_an_empty_engine_matches_nothing(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)

    assert engine.match({"a": 1}) == []
    assert engine.match_many([]).total == 0
    assert engine.match_many([{}, {"a": 1}]).counts().tolist() == [0, 0]
    engine.check()


@pytest.mark.parametrize("algorithm", MATCHERS)
def test_many_subscriptions_survive_growth_and_shrinkage(algorithm: str) -> None:
    engine = _grown_and_shrunk(algorithm)

    assert [set(row) for row in engine.match_many(_EVENTS)] == _naive_answers()
    engine.check()


_EVENTS = [{"a": n % 19, "b": n % 7} for n in range(40)]


@cache
def _naive_answers() -> list[set[object]]:
    return [set(row) for row in _grown_and_shrunk("naive").match_many(_EVENTS)]


def _grown_and_shrunk(algorithm: str) -> Engine:
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many(
        [(n, f"a {['=', '!=', '<', '<=', '>', '>='][n % 6]} {n % 17} and b >= {n % 5}") for n in range(600)]
    )
    for id in range(0, 600, 2):
        engine.unsubscribe(id)
    engine.subscribe_many([(n, "a in (1, 2, 3) or b = 4") for n in range(0, 600, 3)])
    return engine


@pytest.mark.slow
def test_the_same_holds_with_the_jit_off() -> None:
    """Kernels are plain functions: without compilation they must say the same. Fewer examples, they are slow."""
    code = "import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
    asked = [
        test_any_history_has_the_naive_answers,
        test_an_empty_engine_matches_nothing,
        test_many_subscriptions_survive_growth_and_shrinkage,
    ]
    tests = [f"{Path(__file__)}::{test.__name__}[{name}]" for test in asked for name in _WITH_KERNELS]
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "TAMIS_EXAMPLES": "15"}

    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout[-3000:]
    assert f"{len(tests)} passed" in done.stdout
