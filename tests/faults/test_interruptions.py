"""A write that is interrupted, at whatever bytecode, took effect wholly or not at all; memory and folder agree.

Each trial makes an engine, interrupts one call before its n-th bytecode, and looks at the engine, at what another
thread writes to it, and at the folder opened again. `KeyboardInterrupt`, `MemoryError` and what a signal handler raises
differ only in what we might mistake them for: a `TimeoutError` is an `OSError`, as a full disk is.
"""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from tamis import Engine
from tamis.segments import segment_registry as registries
from tamis.segments import subscriptions as delta
from tests.faults.tracing import Interrupted

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A file that an interrupt leaves to nobody is closed when it is collected, and Python remarks on it."""

SEED = 20261118
KEPT = [(n, f"v < {n} and tag = 't{n % 3}'") for n in range(30)]
LATER = [(n, f"v >= {n} or tag = 'late'") for n in range(25, 34)]
BATCH = [(n, f"v != {n}") for n in range(20, 36)]
LARGE_BATCH = [*BATCH, *((n, "v = 1") for n in range(60, 80))]
EVENTS = [{"v": v, "tag": tag} for v in (0, 7, 26, 31) for tag in ("t0", "t1", "late")]
ERRORS: tuple[Callable[[], BaseException], ...] = (KeyboardInterrupt, MemoryError, lambda: TimeoutError("by a handler"))
ZED = ("zed", "v = 7")


class Interruption(Protocol):
    """What a call is interrupted by, and what became of it."""

    where: str
    possible: bool
    raised: BaseException | None

    @property
    def strange(self) -> bool: ...

    def run(self, call: Callable[[], object]) -> object: ...


Call = Callable[[Engine], object]
CALLS: dict[str, Call] = {
    "subscribe": lambda engine: engine.subscribe("new", "v < 8 and tag = 't1'"),
    "subscribe, parsed": lambda engine: engine.subscribe("new", "not (v < 8 and tag = 't1') or v = 7"),
    "replace in a segment": lambda engine: engine.subscribe(3, "v = 7"),
    "replace in the delta": lambda engine: engine.subscribe(33, "v = 7"),
    "unsubscribe from a segment": lambda engine: engine.unsubscribe(4),
    "unsubscribe from the delta": lambda engine: engine.unsubscribe(32),
    "unsubscribe_many": lambda engine: engine.unsubscribe_many([4, 32, 5, 31]),
    "subscribe_many": lambda engine: engine.subscribe_many(BATCH),
    "observe": lambda engine: engine.observe(EVENTS),
}
DURABLE_CALLS: dict[str, Call] = CALLS | {
    "subscribe_many, past the log": lambda engine: engine.subscribe_many(LARGE_BATCH),
    "a write that fills the delta": lambda engine: engine.subscribe(7, "v = 8"),
    "checkpoint": lambda engine: engine._registry.checkpoint(),  # type: ignore[attr-defined]
    "close": lambda engine: engine.close(),
}
PLAIN = ("naive", "counting-lists", "equality-preferred", "tree")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of thirty goes past the log."""
    monkeypatch.setattr(registries, "_LONG_LOG", 30)


State = tuple[list[tuple[object, str]], list[list[str]], object]


def state(engine: Engine) -> State:
    found = [sorted(map(str, found)) for found in engine.match_many(EVENTS)]
    return engine._registry.items(), found, known(engine)


def known(engine: Engine) -> object:
    """What the engine learned of events, and would compile by."""
    subscriptions = getattr(engine._registry, "subscriptions", None)
    return subscriptions.statistics.to_json() if subscriptions and subscriptions.statistics else None


def fill(engine: Engine) -> Engine:
    """Subscriptions in a segment, dead in it, and some in the delta."""
    engine.subscribe_many(KEPT)
    for id, text in LATER:
        engine.subscribe(id, text)
    return engine


def leave(engine: Engine) -> None:
    """Let go without a checkpoint, so that the log stays."""
    folder = engine._registry._folder  # type: ignore[attr-defined]
    folder.close()


class Trials:
    """Engines made anew, interrupted, and compared; what went wrong is listed."""

    def __init__(self, make: Callable[[], Engine], path: Path | None = None) -> None:
        self.make = make
        self.path = path
        self.tried = 0
        self.wrong: list[str] = []

    def run(self, name: str, call: Call, most: int, draw: random.Random) -> None:
        allowed = self.allowed(call)
        engine = self.make()
        count = Interrupted(None, KeyboardInterrupt()).run(lambda: call(engine)).bytecodes
        self._leave(engine)
        for at in draw.sample(range(1, count + 1), min(most, count)):
            error = ERRORS[self.tried % len(ERRORS)]()
            self.attempt(f"{name}: bytecode {at} of {count}, {error!r}", call, Interrupted(at, error), allowed)

    def allowed(self, call: Call) -> tuple[State, State]:
        """The states before and after the call."""
        engine = self.make()
        before = state(engine)
        self._leave(engine)
        engine = self.make()
        call(engine)
        after = state(engine)
        self._leave(engine)
        return before, after

    def attempt(self, what: str, call: Call, interrupt: Interruption, allowed: tuple[State, State]) -> None:
        self.tried += 1
        wrong = self._trial(call, interrupt, allowed)
        if wrong is not None:
            self.wrong.append(f"{what} {wrong}")

    def _trial(self, call: Call, interrupt: Interruption, allowed: tuple[State, State]) -> str | None:
        engine = self.make()
        interrupt.run(lambda: call(engine))
        try:
            return self._verdict(engine, interrupt, allowed)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            return f"({interrupt.where}): then {error!r}"
        finally:
            self._leave(engine)

    def _verdict(self, engine: Engine, interrupt: Interruption, allowed: tuple[State, State]) -> str | None:
        where = f"({interrupt.where})"
        if interrupt.strange:
            return f"{where}: raised {interrupt.raised!r}"
        engine.check()
        found = state(engine)
        if found not in (allowed if interrupt.raised is not None else allowed[1:]):
            return f"{where}: neither as before nor as after"
        open_still = self.path is None or not engine._registry._folder.closed  # type: ignore[attr-defined]
        if open_still and not self._write(engine, interrupt.possible):
            return f"{where}: another thread waits for ever"
        if self.path is not None:
            held = engine._registry.items(), known(engine)
            leave(engine)
            with Engine.open(self.path) as opened:
                opened.check()
                if (opened._registry.items(), known(opened)) != held:
                    return f"{where}: the folder differs from memory"
        return None

    def _write(self, engine: Engine, apart: bool) -> bool:
        if not apart:  # where only a tracer can raise, a lock may stay with its thread
            engine.subscribe(*ZED)
            return True
        thread = threading.Thread(target=engine.subscribe, args=ZED, daemon=True)
        thread.start()
        thread.join(20)
        return not thread.is_alive()

    def _leave(self, engine: Engine) -> None:
        if self.path is not None:
            leave(engine)

    def report(self) -> str:
        return f"{len(self.wrong)} of {self.tried} wrong, seed {SEED}\n" + "\n".join(self.wrong[:40])


def durable(tmp_path: Path) -> Trials:
    """Trials on copies of a folder with a segment, dead in it, and a log."""
    with Engine.open(tmp_path / "kept", create=True) as engine:
        engine.subscribe_many(KEPT)
    engine = Engine.open(tmp_path / "kept")
    for id, text in LATER:
        engine.subscribe(id, text)
    leave(engine)

    def make() -> Engine:
        shutil.rmtree(tmp_path / "engine", ignore_errors=True)
        shutil.copytree(tmp_path / "kept", tmp_path / "engine")
        return Engine.open(tmp_path / "engine")

    return Trials(make, tmp_path / "engine")


def try_durable(tmp_path: Path, most: int, seed: int = SEED) -> Trials:
    trials, draw = durable(tmp_path), random.Random(seed)
    for name, call in DURABLE_CALLS.items():
        with pytest.MonkeyPatch.context() as patched:
            if call is DURABLE_CALLS["a write that fills the delta"]:
                patched.setattr(delta, "_FULL_DELTA", len(LATER) + 1)
            trials.run(name, call, most, draw)
    return trials


def try_memory(algorithm: str, most: int, seed: int = SEED) -> Trials:
    trials, draw = Trials(lambda: fill(Engine(algorithm=algorithm))), random.Random(seed)
    for name, call in CALLS.items():
        trials.run(name, call, most, draw)
    return trials


def test_an_interrupted_write_to_a_folder_is_whole_or_not_at_all(tmp_path: Path) -> None:
    trials = try_durable(tmp_path, 20)

    assert not trials.wrong, trials.report()


@pytest.mark.parametrize("algorithm", ["adaptive", *PLAIN])
def test_an_interrupted_write_to_memory_is_whole_or_not_at_all(algorithm: str) -> None:
    trials = try_memory(algorithm, 40 if algorithm == "adaptive" else 10)

    assert not trials.wrong, trials.report()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_interrupted_writes_to_a_folder_for_long(tmp_path: Path) -> None:
    trials = try_durable(tmp_path, 2_000)

    assert not trials.wrong, trials.report()


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("algorithm", ["adaptive", *PLAIN])
def test_interrupted_writes_to_memory_for_long(algorithm: str) -> None:
    trials = try_memory(algorithm, 2_000)

    assert not trials.wrong, trials.report()
