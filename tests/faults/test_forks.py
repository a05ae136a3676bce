"""A forked child reads, writes what is in memory only, holds no lock, waits for nobody; the parent loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
from numba.core.compiler_lock import global_compiler_lock

from tamis import Engine, SegmentError, forks
from tests.faults.forked_calls import fork

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # said by Python 3.12 at forks
SCRIPT = Path(__file__).with_name("forked_calls.py")
TEXTS = [(n, f"v < {n}") for n in range(20)]


def run(algorithm: str, times: int, *path: Path) -> None:
    """Forks while threads write, merge, checkpoint and match; see the script."""
    done = subprocess.run(
        [sys.executable, SCRIPT, algorithm, str(times), *path], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout}{done.stderr[-6000:]}"
    assert done.stdout.split() == [str(times), "0"], done.stderr[-6000:]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["adaptive", "tree"])
def test_children_forked_while_threads_write_read_and_write_memory(algorithm: str) -> None:
    run(algorithm, 20 if algorithm == "adaptive" else 8)


@pytest.mark.slow
def test_children_forked_while_threads_write_a_folder_read_and_are_refused_to_write(tmp_path: Path) -> None:
    run("adaptive", 25, tmp_path / "engine")


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "algorithm", ["adaptive", "naive", "counting-matrix", "equality-preferred", "gough", "tree", "rapid", "hanson"]
)
def test_many_children_in_memory(algorithm: str) -> None:
    run(algorithm, 400 if algorithm == "adaptive" else 100)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_children_of_a_folder(tmp_path: Path) -> None:
    run("adaptive", 1_000, tmp_path / "engine")


@contextmanager
def living_child(before: Callable[[], object] = lambda: None):  # type: ignore[no-untyped-def]
    """A child that lives, after it has done what is asked, until the block ends."""
    ready, ended = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            before()
            os.write(ready[1], b".")
            os.close(ended[1])
            os.read(ended[0], 1)
            status = 0
        finally:
            os._exit(status)
    os.close(ended[0])
    assert os.read(ready[0], 1) == b"."
    try:
        yield pid
    finally:
        os.close(ended[1])
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        for end in ready:
            os.close(end)


def test_a_folder_can_be_opened_while_a_child_of_its_last_holder_lives(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "engine", create=True)
    engine.subscribe_many(TEXTS)

    with living_child():
        engine.subscribe("later", "v = 3")  # the lock is still the parent's
        with pytest.raises(SegmentError, match="another engine holds"):
            Engine.open(tmp_path / "engine")
        engine.close()
        with Engine.open(tmp_path / "engine") as opened:
            assert len(opened) == len(TEXTS) + 1


def test_a_folder_can_be_opened_when_its_holder_was_killed_and_a_child_lives(tmp_path: Path) -> None:
    told = os.pipe()

    def hold() -> None:
        engine = Engine.open(tmp_path / "engine", create=True)
        engine.subscribe_many(TEXTS)
        with living_child(os.getppid) as grandchild:
            os.write(told[1], grandchild.to_bytes(4, "little"))
            signal.pause()

    pid = os.fork()
    if not pid:
        try:
            hold()
        finally:
            os._exit(1)
    os.close(told[1])
    grandchild = int.from_bytes(os.read(told[0], 4), "little")
    assert grandchild
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

    with Engine.open(tmp_path / "engine") as opened:
        assert len(opened) == len(TEXTS)
    os.kill(grandchild, signal.SIGKILL)
    os.close(told[0])


def test_what_a_child_closes_or_leaves_to_the_collector_stays_whole(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "engine", create=True)
    engine.subscribe_many(TEXTS)

    def child() -> None:
        nonlocal engine
        with engine:
            assert engine.match({"v": 18}) == [19]
        del engine

    assert fork(child) == 0
    engine.subscribe("later", "v = 3")
    engine._registry._folder.close()  # type: ignore[attr-defined]  # as if killed: no checkpoint
    with Engine.open(tmp_path / "engine") as opened:
        assert opened.ids() == [*range(20), "later"]


def test_a_fork_with_locks_in_hand_leaves_both_sides_usable() -> None:
    """As in a signal handler that forks."""
    engine = Engine()
    engine.subscribe_many(TEXTS)
    registry = engine._registry

    def child() -> None:
        engine.subscribe("mine", "v = 3")
        assert engine.match({"v": 3})[-1] == "mine"

    with registry._writing, registry.subscriptions._lock:  # type: ignore[attr-defined]
        status = fork(child)

    assert status == 0
    writer = threading.Thread(target=engine.subscribe, args=("later", "v = 3"))
    writer.start()
    writer.join(30)
    assert engine.match({"v": 3})[-1] == "later"


def test_a_fork_waits_for_a_compilation() -> None:
    engine = Engine(algorithm="naive")  # whoever makes one wants to be told of forks
    compiling, forking = threading.Event(), threading.Event()

    def compile() -> None:
        with global_compiler_lock:
            compiling.set()
            forking.wait(30)

    def child() -> None:
        assert compiler.ident not in sys._current_frames()
        with global_compiler_lock:
            engine.subscribe("mine", "v = 3")

    compiler = threading.Thread(target=compile)
    compiler.start()
    assert compiling.wait(30)
    os.register_at_fork(before=forking.set)  # called before ours, which was registered earlier

    assert fork(child) == 0
    compiler.join()
    assert not forks._held


def test_a_child_has_a_database_of_its_own(tmp_path: Path) -> None:
    engines = [
        Engine(algorithm="sql-grouping"),
        Engine(algorithm="sql-sequential", url=f"sqlite:///{tmp_path}/kept.db"),
    ]
    for engine in engines:
        engine.subscribe_many(TEXTS)

    def child() -> None:
        for engine in engines:
            engine.subscribe("mine", "v = 18")
            assert engine.match({"v": 18}) == [19, "mine"]
        engines.clear()

    assert fork(child) == 0
    assert [engine.match({"v": 18}) for engine in engines] == [[19], [19]]
