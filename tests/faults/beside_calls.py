"""Run as a script: a process writes a folder, by a history that is known, while others read it and refresh.

The writer says after each call how many have returned. What a reader has after `refresh` is what the folder held after
some number of calls: at least as many as had returned before, at most one more than had returned after.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import random
import sys
import traceback
from pathlib import Path

from tamis import Engine
from tamis.segments import merging
from tamis.segments import segment_registry as registries
from tamis.segments import subscriptions as delta

Items = list[tuple[object, str]]
EVENTS = [{"v": v, "tag": f"t{v % 3}"} for v in range(0, 40, 3)]


def history(length: int, seed: int) -> list[tuple[str, Items]]:
    """Calls: what is done, to which ids and texts."""
    draw = random.Random(seed)
    steps: list[tuple[str, Items]] = []
    there: set[object] = set()
    for _ in range(length):
        text = f"v < {draw.randrange(40)} and tag = 't{draw.randrange(3)}'"
        ids = [draw.randrange(60) for _ in range(draw.choice((1, 1, 1, 5, 30)))]
        what = draw.choices(("subscribe", "unsubscribe", "checkpoint", "observe"), (8, 3, 1, 0.2))[0]
        if what == "unsubscribe":
            ids = [id for id in dict.fromkeys(ids) if id in there]
        steps.append((what if ids else "checkpoint", [(id, text) for id in dict.fromkeys(ids)]))
        there = there | set(ids) if what == "subscribe" else there - set(ids) if what == "unsubscribe" else there
    return steps


def states(steps: list[tuple[str, Items]]) -> list[Items]:
    """What there is after so many calls; a replaced subscription is the youngest."""
    found: list[Items] = [[]]
    for what, items in steps:
        ids = {id for id, _ in items} if what in ("subscribe", "unsubscribe") else set()
        kept = [one for one in found[-1] if one[0] not in ids]
        found.append(kept + items if what == "subscribe" else kept)
    return found


def write(path: Path, steps: list[tuple[str, Items]], returned: mmap.mmap) -> None:
    with Engine.open(path) as engine:
        for at, (what, items) in enumerate(steps):
            ids = [id for id, _ in items]
            if what == "subscribe":
                engine.subscribe(*items[0]) if len(items) == 1 else engine.subscribe_many(items)
            elif what == "unsubscribe":
                engine.unsubscribe(ids[0]) if len(ids) == 1 else engine.unsubscribe_many(ids)
            elif what == "observe":
                engine.observe(EVENTS)
            else:
                engine._registry.checkpoint()  # type: ignore[attr-defined]
            returned[:8] = (at + 1).to_bytes(8, "little")


def read(path: Path, expected: list[Items], returned: mmap.mmap) -> int:
    """How often there was something new."""
    news = 0
    engine = Engine.open(path, read_only=True)
    while True:
        before = int.from_bytes(returned[:8], "little")
        news += engine.refresh()
        items = engine._registry.items()
        after = int.from_bytes(returned[:8], "little")
        assert items in expected[before : after + 2], f"between {before} and {after} calls: no such state"
        engine.check()
        oracle = Engine(algorithm="naive")
        oracle.subscribe_many(items)
        event = EVENTS[news % len(EVENTS)]
        assert engine.match(event) == oracle.match(event)
        if before == len(expected) - 1:
            return news


def fork(work: object, *arguments: object) -> int:
    pid = os.fork()
    if not pid:
        status = 1
        try:
            faulthandler.dump_traceback_later(250, exit=True)
            told = f"{work.__name__} {work(*arguments) or 0}\n"  # type: ignore[operator,attr-defined]
            os.write(1, told.encode())  # at once: unbuffered, `print` writes word by word, and another's come between
            status = 0
        except BaseException:  # noqa: BLE001 - told
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def main(path: Path, length: int, seed: int) -> None:
    registries._LONG_LOG, delta._FULL_DELTA, merging.QUICK = 25, 20, 15
    steps = history(length, seed)
    expected = states(steps)
    Engine.open(path, create=True).close()
    returned = mmap.mmap(-1, 8)
    children = [fork(read, path, expected, returned) for _ in range(2)]
    children.append(fork(write, path, steps, returned))
    wrong = sum(os.waitpid(pid, 0)[1] != 0 for pid in children)
    assert not wrong, f"seed {seed}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
