"""Run as a script: a process forks again and again while its threads write, merge, checkpoint and match.

Writers keep two things true at every moment between two calls: ids 0 to 39 are there, and the ids of a batch all have
the text of one version. A child asks for everything, compares with the oracle, writes, and ends. A child that waits for
ever is stopped and shows where.
"""

from __future__ import annotations

import faulthandler
import os
import random
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from tamis import Engine, SegmentError
from tamis.segments import merging
from tamis.segments import segment_registry as registries
from tamis.segments import subscriptions as delta

SEED = 20261118
ALWAYS = range(40)
BATCH = range(100, 130)
EVENTS = [{"v": v, "tag": tag} for v in (0, 7, 26, 31) for tag in ("t0", "t1")]
HANGS_SECONDS = 60


def smaller() -> None:
    """So that a few subscriptions fill deltas, logs and segments."""
    registries._LONG_LOG = 60
    delta._FULL_DELTA = 50
    merging.QUICK = 40


def text_of(version: int) -> str:
    return f"v < {version % 40} and tag = 't{version % 3}'"


def replace(engine: Engine, draw: random.Random) -> None:
    for _ in range(20):
        engine.subscribe(draw.choice(ALWAYS), text_of(draw.randrange(1000)))
        id = f"guest {draw.randrange(20)}"
        if id in engine:
            engine.unsubscribe(id)
        else:
            engine.subscribe(id, "not (v < 8) or tag = 't1'")


def batches(engine: Engine, draw: random.Random) -> None:
    text = text_of(draw.randrange(1000))
    engine.subscribe_many([(id, text) for id in BATCH])
    if draw.random() < 0.1:
        engine.observe(EVENTS)
    checkpoint = getattr(engine._registry, "checkpoint", None)
    if checkpoint is not None and draw.random() < 0.3:
        checkpoint()


def ask(engine: Engine, draw: random.Random) -> None:
    engine.match_many(EVENTS, threads=2)
    engine.match(draw.choice(EVENTS))


def look(engine: Engine) -> None:
    """In the child: everything can be asked, nothing is half done, and the oracle agrees."""
    engine.check()
    items = dict(engine._registry.items())
    assert set(ALWAYS) <= items.keys(), "a replacement was half done"
    versions = {items[id] for id in BATCH}
    assert len(versions) == 1, "a batch was half done"
    oracle = Engine(algorithm="naive")
    oracle.subscribe_many(items.items())
    expected = [sorted(map(str, oracle.match(event))) for event in EVENTS]
    assert [sorted(map(str, engine.match(event))) for event in EVENTS] == expected
    assert [sorted(map(str, found)) for found in engine.match_many(EVENTS, threads=2)] == expected
    assert engine.count_many(EVENTS).tolist() == list(map(len, expected))
    assert engine.stats()["subscriptions"] == len(items) == len(engine)
    assert engine.explain(0, EVENTS[0]).matches == (0 in engine.match(EVENTS[0]))


def write(engine: Engine) -> None:
    """In the child of an engine in memory."""
    engine.subscribe("mine", "v = 7")
    engine.subscribe(3, "v = 7")
    engine.subscribe_many([(id, "v = 7") for id in BATCH])
    engine.unsubscribe(4)
    engine.observe(EVENTS)
    assert {"mine", 3, *BATCH} <= set(engine.match({"v": 7, "tag": "t9"}))
    assert 4 not in engine
    engine.check()
    engine.close()


def refused(engine: Engine, path: Path) -> None:
    """In the child of a durable engine: no write is taken, and nothing of it is seen."""
    before = engine._registry.items()
    calls: list[Callable[[], object]] = [
        lambda: engine.subscribe("mine", "v = 7"),
        lambda: engine.subscribe(3, "v = 7"),
        lambda: engine.subscribe_many([(id, "v = 7") for id in BATCH]),
        lambda: engine.subscribe_many([(id, "v = 7") for id in range(200)]),
        lambda: engine.unsubscribe(3),
        lambda: engine.observe(EVENTS),
        lambda: engine.save(path),
        lambda: engine._registry.checkpoint(),  # type: ignore[attr-defined]
    ]
    for call in calls:
        with pytest.raises(SegmentError, match="another process"):
            call()
    engine.close()
    assert engine._registry.items() == before
    open_files = [held.readlink() for held in Path("/proc/self/fd").iterdir() if held.is_symlink()]
    assert path / "lock" not in open_files, "the child has the folder's lock"


def fork(child: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        faulthandler.dump_traceback_later(HANGS_SECONDS, exit=True)
        child()
        status = 0
    except BaseException:  # noqa: BLE001 - told, and the parent counts it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main(algorithm: str, times: int, path: Path | None) -> None:
    smaller()
    engine = Engine.open(path, create=True) if path is not None else Engine(algorithm=algorithm)
    engine.subscribe_many([(id, text_of(id)) for id in (*ALWAYS, *BATCH)])
    batches(engine, random.Random(SEED))
    stop = threading.Event()
    failed: list[BaseException] = []

    def repeat(work: Callable[[Engine, random.Random], None], seed: int) -> None:
        draw = random.Random(seed)
        try:
            while not stop.is_set():
                work(engine, draw)
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    def child() -> None:
        look(engine)
        if path is not None:
            refused(engine, path)
        else:
            write(engine)

    sys.setswitchinterval(1e-4)
    threads = [threading.Thread(target=repeat, args=(work, SEED + n)) for n, work in enumerate((replace, batches, ask))]
    for thread in threads:
        thread.start()
    wrong = sum(fork(child) != 0 for _ in range(times))
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed, failed
    look(engine)
    if path is not None:
        held = engine._registry.items()
        engine.close()
        with Engine.open(path) as opened:
            assert opened._registry.items() == held, "the folder differs from memory"
    print(times, wrong, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
