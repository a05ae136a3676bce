"""Before the kernels are compiled the oracle answers; then they do; and nobody can tell but by the clock."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis import Engine, LanguageError, OptionError, UnknownSubscription
from tamis.kernels import warmth
from tamis.segments import first_calls
from tamis.segments.first_calls import FirstCalls
from tamis.segments.segment_registry import SegmentRegistry
from tests.conformance.histories import History, histories, replay

TWELVE_LINES = """
import tamis
engine = tamis.Engine()
engine.subscribe("ann", "category = 'table' and price < 200")
engine.subscribe_many([("bob", "price < 50"), ("eve", "tags contains oak and tags contains round")])
assert engine.match({"category": "table", "price": 150}) == ["ann"]
assert engine.match({"price": 20, "tags": ["oak", "round"]}) == ["bob", "eve"]
assert engine.match_many([{"price": 20}, {"price": 70}]).counts().tolist() == [1, 0]
assert not engine.explain("ann", {"category": "table", "price": 250}).matches
"""

COUNT_COMPILED = """
from numba.core import event
class Compiled(event.Listener):
    names = []
    def on_start(self, found): self.names.append(str(found.data["dispatcher"].py_func.__name__))
    def on_end(self, found): pass
event.register("numba:compile", Compiled())
"""


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an installation, and nobody compiles."""
    monkeypatch.delenv("TAMIS_WAIT")
    monkeypatch.setattr(warmth, "is_warm", lambda: False)
    monkeypatch.setattr(first_calls, "begin_compiling", lambda: None)
    monkeypatch.setattr(first_calls, "_LOOK_EVERY_S", 0.0)


def settled(engine: Engine) -> bool:
    assert isinstance(engine._registry, FirstCalls)
    return isinstance(engine._registry._registry(), SegmentRegistry)


def few() -> Engine:
    engine = Engine()
    engine.subscribe_many([(n, f"a < {n}") for n in range(10)])
    return engine


@pytest.mark.usefixtures("cold")
def test_a_cold_engine_answers_and_compiles_nothing() -> None:
    engine = few()

    assert engine.match({"a": 7}) == [8, 9]
    assert engine.match_many([{"a": 7}, {"a": 9}]).counts().tolist() == [2, 0]
    assert engine.stats()["compiling"]
    assert not settled(engine)
    engine.check()


@pytest.mark.usefixtures("cold")
def test_mistakes_are_told_as_ever() -> None:
    with pytest.raises(OptionError, match="there is no option 'threads'"):
        Engine(threads=3)
    engine = few()
    with pytest.raises(LanguageError, match="subscription 'b' \\(row 1\\)"):
        engine.subscribe_many([("a", "x = 1"), ("b", "x =")])
    with pytest.raises(UnknownSubscription):
        engine.unsubscribe("nobody")

    assert engine.ids() == list(range(10))


@pytest.mark.usefixtures("cold")
def test_when_the_kernels_are_there_they_take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = few()
    engine.unsubscribe(9)
    before = engine.match({"a": 5})
    monkeypatch.setattr(warmth, "is_warm", lambda: True)

    assert settled(engine)
    assert engine.match({"a": 5}) == before == [6, 7, 8]
    assert engine.ids() == list(range(9))
    assert engine.stats()["compiling"] is False


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize(
    "call",
    [
        lambda engine, _: engine.subscribe_many([(-n, "a = 1") for n in range(1, first_calls._MOST_SUBSCRIPTIONS)]),
        lambda engine, _: engine.match_many([{"a": 1}] * (first_calls._MOST_WORK // 10 + 1)),
        lambda engine, _: engine.count_many([{"a": 1}] * (first_calls._MOST_WORK // 10 + 1)),
        lambda engine, _: engine.observe([{"a": 1}]),
        lambda engine, path: engine.save(path),
    ],
    ids=["subscribe_many", "match_many", "count_many", "observe", "save"],
)
def test_what_is_too_much_for_the_oracle_waits_for_the_kernels(call: object, tmp_path: Path) -> None:
    engine = few()

    call(engine, tmp_path / "saved")  # type: ignore[operator]

    assert settled(engine)
    assert engine.match({"a": 8}) == [9]


@pytest.mark.usefixtures("cold")
@settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(history=histories(), looks=st.integers(0, 60))
def test_any_history_has_the_naive_answers_whenever_they_take_over(
    history: History, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(range(looks))
    monkeypatch.setattr(warmth, "is_warm", lambda: next(left, None) is None)

    replay(history, "adaptive")


@pytest.mark.slow
def test_a_machine_that_never_compiled_answers_at_once_and_is_warm_when_the_script_has_ended(tmp_path: Path) -> None:
    """A real process compiles beside it and goes on by itself; afterwards nothing is left to compile."""
    first = run(COUNT_COMPILED + TWELVE_LINES + "print(Compiled.names, engine.stats()['compiling'])", tmp_path)
    waited = run("from tamis.segments.first_calls import wait_until_warm as wait\nwait()", tmp_path)
    second = run(COUNT_COMPILED + TWELVE_LINES + "print(Compiled.names, 'compiling' in engine.stats())", tmp_path)

    assert first.stdout == "[] True\n"
    assert "waiting" in waited.stderr
    assert second.stdout == "[] False\n"


def run(lines: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TAMIS_WAIT"}
    command = [sys.executable, "-c", textwrap.dedent(lines)]
    done = subprocess.run(
        command, env=environment | {"NUMBA_CACHE_DIR": str(cache)}, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    return done
