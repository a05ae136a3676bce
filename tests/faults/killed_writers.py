"""Run as a script: forks writers that stop at a chosen point of a checkpoint, a merge or a close, to be killed there.

A line `PATH PHASE CALL` on standard input forks a writer. It says its process id, then `kept N` when N of its writes
have returned, then `here` when it has come to the CALL-th system call of the PHASE, where it waits for ever; or `done`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tamis import Engine
from tamis.segments import merging
from tamis.segments.segment_registry import SegmentRegistry
from tests.segments.writer import Model, Operation, model_after, write

PHASES = ("checkpoint", "merge", "close")
CALLS = ("open", "pwrite", "fsync", "fdatasync", "replace", "unlink", "ftruncate")
WRITES: list[Operation] = [
    ("subscribe", [(n, f"v < {n} and w != 'x{n}'") for n in range(40)]),
    ("checkpoint", None),
    ("subscribe", [("ann", "v = 1")]),
    ("unsubscribe", 7),
    ("subscribe", [(n, f"v > {n}") for n in range(30, 60)]),
    ("subscribe", [(8, "v = 8")]),
]
LATER: list[Operation] = [("unsubscribe", 9), ("subscribe", [("zoe", "v = 3")])]
"""While a merge is under way."""


def states() -> list[Model]:
    """What is there after so many writes."""
    found: list[Model] = [{}]
    for operation in [*WRITES, *LATER]:
        found.append(model_after(found[-1], operation))
    return found


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def wait_for_ever() -> None:
    say("here")
    while True:
        signal.pause()


def stop_before(call: int) -> None:
    """Wait before the n-th of the calls that write; a write of bytes is half done by then."""
    count = 0

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*given: Any, **more: Any) -> Any:
            nonlocal count
            count += 1
            if count == call:
                if name == "pwrite":
                    real(given[0], bytes(given[1])[: len(given[1]) // 2], given[2])
                wait_for_ever()
            return real(*given, **more)

        return instead

    for name in CALLS:
        setattr(os, name, counted(name, getattr(os, name)))


def be_killed(path: str, phase: str, call: int) -> None:
    merging_stopped = stop_merging(call) if phase == "merge" else None
    engine = Engine.open(path, create=True)
    registry = engine._registry
    assert isinstance(registry, SegmentRegistry)
    for number, operation in enumerate(WRITES):
        write(engine, operation)
        say(f"kept {number + 1}")
    if merging_stopped is None:
        stop_before(call)
        registry.checkpoint() if phase == "checkpoint" else engine.close()
        return
    assert merging_stopped.wait(60)
    for number, operation in enumerate(LATER):
        write(engine, operation)
        say(f"kept {len(WRITES) + number + 1}")
    if call == 3:
        registry.checkpoint()
    wait_for_ever()


def stop_merging(call: int) -> threading.Event:
    """Merges have a thread of their own, which waits before the segments are compiled or, call 2, after it."""
    reached, real = threading.Event(), merging.merge

    def stopping(segments: Sequence[Any], compiled: Callable[..., Any]) -> Any:
        merged = real(segments, compiled) if call == 2 else None
        reached.set()
        threading.Event().wait()
        return merged

    merging.merge, merging.QUICK = stopping, 0
    return reached


def main() -> None:
    warm = Engine()
    warm.subscribe_many([(n, f"v < {n} and w != 'x'") for n in range(40)])
    warm.match_many([{"v": 1}])  # compiled before the first fork
    for line in sys.stdin:
        path, phase, call = line.split()
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            say("ended")
            continue
        try:
            say(f"pid {os.getpid()}")
            be_killed(path, phase, int(call))
            say("done")
        finally:
            os._exit(0)


if __name__ == "__main__":
    main()
