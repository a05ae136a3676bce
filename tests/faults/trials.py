"""Trials in children that may crash: each outcome is told by a pipe, and a child that dies is one more outcome.

A *trial* takes a seed and does something hostile. It must end in a `TamisError` ("refused") or an answer ("answered").
Whatever else is wrong: another exception, a signal, too long a time, too much memory.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tamis import TamisError

ROOT = Path(__file__).parents[2]
SECONDS = 60
"""Of processor time, for one trial: a hang, not a slow machine."""
BYTES = 2 << 30
"""Of address space, beyond what a child begins with."""
AT_ONCE = 50
"""Trials per child."""

UNREAD = "unread"
"""What a trial gives back that never came as far as our own code."""
GOOD = ("refused", "answered", UNREAD)

Trial = Callable[[int], object]


def outcome_of(trial: Trial, seed: int) -> str:
    try:
        found = trial(seed)
    except TamisError as error:
        return f"refused {type(error).__name__}"
    except BaseException as error:  # noqa: BLE001 - told, and counted as wrong
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"raised {error!r:.200} in {Path(frame.filename).name}:{frame.lineno}"
    return UNREAD if found is UNREAD else f"answered {found or ''}".rstrip()


def outcomes(trial: Trial, first: int, count: int) -> Iterator[tuple[int, str]]:
    """The outcome of every seed from `first` on, whatever becomes of the children."""
    following, last = first, first + count
    while following < last:
        for seed, outcome in _in_child(trial, following, min(following + AT_ONCE, last)):
            yield seed, outcome
            following = seed + 1


def _in_child(trial: Trial, first: int, last: int) -> Iterator[tuple[int, str]]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _try_all(trial, first, last, writing)
    os.close(writing)
    seed, told = first, True
    with os.fdopen(reading, encoding="utf-8") as lines:
        for line in lines:
            number, _, outcome = line.rstrip("\n").partition(" ")
            seed, told = int(number), bool(outcome)
            if told:
                yield seed, outcome
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        yield seed if not told else seed + 1, f"died of {signal.Signals(os.WTERMSIG(status)).name}"


def _try_all(trial: Trial, first: int, last: int, writing: int) -> None:
    try:
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + BYTES, held + BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for seed in range(first, last):
            os.write(writing, f"{seed}\n".encode())
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # SIGPROF ends the child
            outcome = outcome_of(trial, seed)
            signal.setitimer(signal.ITIMER_PROF, 0)
            os.write(writing, f"{seed} {outcome}\n".replace("\n", " ", outcome.count("\n")).encode("utf-8", "replace"))
            gc.collect()
    finally:
        os._exit(0)


def run(script: str, kind: str, first: int, count: int) -> Counter[str]:
    """How often each outcome came, by the first word of it; the seeds of the wrong ones stand with theirs.

    The trials have a process of their own, without the threads of the one that tests.
    """
    done = subprocess.run(
        [sys.executable, "-m", f"tests.faults.{script}", kind, str(first), str(count)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: Counter[str] = Counter()
    for seed, outcome in json.loads(done.stdout.splitlines()[-1]):
        right = outcome.split()[0] in GOOD
        found[outcome.split()[0] if right else f"seed {seed} {outcome}"] += 1
    return found


def wrong(found: Counter[str]) -> list[str]:
    return [outcome for outcome in found if outcome not in GOOD]


def main(kinds: Mapping[str, Callable[[], Trial]]) -> None:
    """For scripts of trials: `python -m tests.faults.<script> <kind> <first seed> <how many>`."""
    os.environ["TAMIS_WAIT"] = "1"  # the adaptive engine is tried, from the first call on
    kind, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(list(outcomes(kinds[kind](), first, count))))


LONG = int(os.environ.get("TAMIS_TRIALS", "2000"))
"""Trials of each kind in the long run."""
