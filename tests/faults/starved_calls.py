"""Run as a module: calls during which an allocation fails, each in a process of its own, for it may crash.

`python` fails allocations of Python's, `arrays` those of numpy's data. Each trial makes an engine, fails one allocation
of one call, and looks at the engine and its folder as `test_interruptions` does.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tamis import Engine
from tamis.segments import segment_registry as registries
from tests.faults import test_interruptions as interruptions
from tests.faults.scarcity import ArrayScarcity, PythonScarcity, Scarcity
from tests.faults.test_interruptions import Call, Trials

ALGORITHMS = ("adaptive", "counting-lists", "tree")
KINDS: dict[str, type[Scarcity]] = {"python": PythonScarcity, "arrays": ArrayScarcity}


class Count(NamedTuple):
    tried: int
    crashed: int
    wrong: list[str]


def apart(work: Callable[[], list[str] | None]) -> list[str] | None:
    """What a forked child has to say; None, too, if it crashed."""
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(tell, json.dumps(work()).encode()[:60_000])
        finally:
            os._exit(0)
    os.close(tell)
    with os.fdopen(told, "rb") as said:
        found = said.read()
    os.waitpid(pid, 0)
    return json.loads(found) if found else None


def allocations(kind: type[Scarcity], trials: Trials, call: Call) -> int:
    """About how many a call makes: numpy's are counted, of Python's the first that need not succeed is found."""
    engine = trials.make()
    if kind is ArrayScarcity:
        ArrayScarcity(-1).run(lambda: call(engine))
        trials._leave(engine)
        assert ArrayScarcity.memory is not None
        return ArrayScarcity.memory.count
    trials._leave(engine)
    low, high = 0, 1 << 16
    while high - low > max(16, low // 20):
        middle = (low + high) // 2

        def enough(at: int = middle) -> list[str]:
            engine, scarcity = trials.make(), PythonScarcity(at)
            scarcity.last = 300
            return [] if scarcity.run(lambda: call(engine)).raised is None else ["too few"]

        low, high = (low, middle) if apart(enough) == [] else (middle, high)
    return high


def starve(kind: str, trials: Trials, calls: dict[str, Call], most: int, draw: random.Random) -> Count:
    tried, crashed, wrong = 0, 0, []
    for name, call in calls.items():
        allowed, count = trials.allowed(call), allocations(KINDS[kind], trials, call)
        for at in draw.sample(range(1, count + 1), min(most, count)):
            tried += 1

            def attempt(at: int = at) -> list[str] | None:
                trials.wrong.clear()
                scarcity = KINDS[kind](at)
                trials.attempt(f"{name}: allocation {at} of {count}", call, scarcity, allowed)  # noqa: B023
                return None if scarcity.lost and not trials.wrong else trials.wrong

            found = apart(attempt)
            crashed += found is None
            wrong += found or []
        print(name, count, crashed, file=sys.stderr, flush=True)
    return Count(tried, crashed, wrong)


def filled(algorithm: str) -> Engine:
    return interruptions.fill(Engine(algorithm=algorithm))


def main(kind: str, most: int, path: Path) -> None:
    faulthandler.enable()
    registries._LONG_LOG = 30
    draw = random.Random(interruptions.SEED)
    counts = [starve(kind, interruptions.durable(path), interruptions.DURABLE_CALLS, most, draw)]
    calls = {name: call for name, call in interruptions.CALLS.items() if name != "observe"}
    for algorithm in ALGORITHMS:
        counts.append(starve(kind, Trials(partial(filled, algorithm)), calls, most, draw))
    wrong = [line for count in counts for line in count.wrong]
    print(sum(count.tried for count in counts), sum(count.crashed for count in counts), len(wrong))
    print("\n".join(wrong[:40]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
