"""Matchers against C++ and against each other: `python -m benchmarks.matchers [--quick]`.

First the algorithms that have a C++ reference, on the workloads of their papers: the ratio is the reference's time by
ours, so that 0.5 means half as fast. Then every algorithm on W4: how long it takes to load, to match an event, and to
remove a subscription. Times are processor time of one thread, so that a busy machine does not decide, except where a
database has threads of its own. Repeats of both sides alternate; the best of each makes the ratio, and the spread is
printed beside it.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import time
from collections.abc import Callable

import numpy as np

from benchmarks.loads import Load, load
from benchmarks.reference import FLAGS, compiler, run
from tamis.errors import LimitError
from tamis.matchers import MATCHERS, Matcher
from tamis.workloads.lesub import LeSub
from tamis.workloads.slices import Workload
from tamis.workloads.topss import TOPSS

__all__ = ["main"]

_SEED = 1
_REPEATS = 5
_NOT_HERE = ("naive", "adaptive")
"""The oracle takes seconds per event; the adaptive engine has a benchmark of its own."""
_REMOVALS = 100
"""Subscriptions taken out one by one, evenly from all."""
_SLOW = {"sql-sequential": 2, "sql-grouping": 3}
"""Events for those that take a second for one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute")
    parser.add_argument("--only", choices=["reference", "loading"], help="one of the two tables")
    options = parser.parse_args()
    scale = 50 if options.quick else 1
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"seed {_SEED}, {_REPEATS} repeats, commit {commit}, {compiler()} {' '.join(FLAGS[:2])}, {_processor()}")
    if options.only != "loading":
        _against_reference(TOPSS["w4"], 1_000_000 // scale, 30, ("counting-lists", "counting-bits"))
        _against_reference(LeSub(0.5), 800_000 // scale, 300, ("quarantining",))
    if options.only != "reference":
        for subscriptions in (10_000, 100_000, 1_000_000):
            if subscriptions // scale >= 1000:
                _loading(load(TOPSS["w4"], subscriptions // scale, 20, _SEED), subscriptions // scale)


_REFERENCE = {"counting-lists": "list-counting", "counting-bits": "bit-counting", "quarantining": "quarantining"}


def _against_reference(workload: Workload, subscriptions: int, events: int, algorithms: tuple[str, ...]) -> None:
    given = load(workload, subscriptions, events, _SEED)
    print(f"\n{workload.name}, {subscriptions:,} subscriptions, {events} events, milliseconds per event")
    print(f"{'algorithm':<16} {'ours':>9} {'spread':>17} {'C++':>9} {'spread':>17} {'ratio':>6}  matches/event")
    for algorithm in algorithms:
        _print_ratio(algorithm, given)
        gc.collect()


def _print_ratio(algorithm: str, given: Load) -> None:
    matcher, events = _loaded(algorithm, given), len(given.events)
    ours, theirs = [], []
    for _ in range(_REPEATS):
        ours.append(_seconds(lambda: matcher.match_many(given.events)))
        result = run(_REFERENCE[algorithm], given.encoded)
        theirs.append(result.match_s)
    counts = np.diff(matcher.match_many(given.events).offsets)
    assert (counts == result.counts).all(), "the reference answers otherwise"
    columns = f"{_ms(min(ours), events)} {_spread(ours, events)} {_ms(min(theirs), events)} {_spread(theirs, events)}"
    print(f"{algorithm:<16} {columns} {min(theirs) / min(ours):6.2f}  {counts.mean():,.0f}", flush=True)


def _loading(given: Load, subscriptions: int) -> None:
    print(f"\nw4, {subscriptions:,} subscriptions: seconds to load, milliseconds each, bytes per subscription")
    print(f"{'algorithm':<20} {'load s':>8} {'first ms':>10} {'event ms':>10} {'remove ms':>10} {'bytes':>8}")
    for algorithm in MATCHERS:
        if algorithm not in _NOT_HERE:
            started = time.perf_counter()
            try:
                _print_loading(algorithm, given)
            except LimitError as error:
                print(f"{algorithm:<20} refused after {time.perf_counter() - started:.1f} s: {error}", flush=True)
            gc.collect()


def _print_loading(algorithm: str, given: Load) -> None:
    started = time.perf_counter()
    matcher = _loaded(algorithm, given, warm=False)
    seconds = time.perf_counter() - started
    slow = algorithm in _SLOW
    clock = time.perf_counter if slow else time.thread_time
    first = _seconds(lambda: matcher.match(given.events[0]), clock)
    events = given.events[: _SLOW.get(algorithm, 20)]
    best = min(_seconds(lambda: matcher.match_many(events), clock) for _ in range(1 if slow else 3))
    size = matcher.stats().bytes / len(given.entries)
    gone = [given.entries[at][0] for at in range(0, len(given.entries), len(given.entries) // _REMOVALS)]
    removal = _seconds(lambda: [matcher.remove([key]) for key in gone], clock) / len(gone)
    shown = f"{seconds:8.2f} {1000 * first:10.2f} {1000 * best / len(events):10.3f} {1000 * removal:10.3f} {size:8.0f}"
    print(f"{algorithm:<20} {shown}", flush=True)


def _loaded(algorithm: str, given: Load, *, warm: bool = True) -> Matcher:
    matcher = MATCHERS[algorithm](given.schema)
    matcher.add(given.entries)
    if warm:
        matcher.match(given.events[0])
    return matcher


def _seconds(action: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    started = clock()
    action()
    return clock() - started


def _ms(seconds: float, events: int) -> str:
    return f"{1000 * seconds / events:9.3f}"


def _spread(seconds: list[float], events: int) -> str:
    return f"{f'{1000 * min(seconds) / events:.3f}–{1000 * max(seconds) / events:.3f}':>17}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123  # a kernel's file, not a path of ours
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


if __name__ == "__main__":
    main()
