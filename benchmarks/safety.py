"""What it costs to trust nobody: tables of Arrow checked against trusted, segments verified against built.

    python -m benchmarks.safety [--quick]

Both sides of a ratio run in this process, in turns, in processor time; the best of each is taken, and the spread of the
ratio over the turns is shown.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.adaptive import SEED, show
from tamis import Engine
from tamis.workloads.lesub import LeSub
from tamis.workloads.slices import Workload
from tamis.workloads.topss import TOPSS

TURNS = 15


def in_turns(calls: list[Callable[[], object]], turns: int) -> list[list[float]]:
    """Processor seconds of each call, turn by turn; the order changes, as what comes second finds warmer caches."""
    for call in calls:
        call()
    runs: list[list[float]] = [[] for _ in calls]
    for turn in range(turns):
        for at in range(len(calls))[:: 1 if turn % 2 else -1]:
            start = time.process_time()
            calls[at]()
            runs[at].append(time.process_time() - start)
    return runs


def arrow(label: str, workload: Workload, subscriptions: int, events: int) -> None:
    """Matching a flat table that is checked, against one that is trusted."""
    table, people = workload.events(events, SEED), workload.subscriptions(subscriptions, SEED)
    engines = [Engine(workload.schema(), arrow=how) for how in ("checked", "trusted")]
    for engine in engines:
        engine.subscribe_many(people)
    checked, trusted = in_turns([lambda engine=engine: engine.match_many(table) for engine in engines], TURNS)
    turns = sorted(one / other for one, other in zip(checked, trusted, strict=True))
    what = f"{label}: {events:,} events, {subscriptions:,} subscriptions, Arrow checked against trusted"
    show(what, min(checked) / min(trusted), (turns[len(turns) // 4], turns[-len(turns) // 4]), "<= 1.05")


def opening(subscriptions: int) -> None:
    """Opening a folder, however much is looked at, against building it from texts in Arrow."""
    workload = LeSub(0.5)
    table = workload.subscriptions(subscriptions, SEED)
    folder = Path(tempfile.mkdtemp())
    try:
        engine = Engine(workload.schema())
        engine.subscribe_many(table)
        engine.save(folder / "engine")
        build: Callable[[], object] = lambda: Engine(workload.schema()).subscribe_many(table)  # noqa: E731
        opens: list[Callable[[], object]] = [
            lambda verify=verify: Engine.open(folder / "engine", verify=verify).close()
            for verify in ("full", "structure", "trusted")
        ]
        built, *opened = in_turns([build, *opens], 5)
        for verify, runs in zip(("full", "structure", "trusted"), opened, strict=True):
            turns = [one / other for one, other in zip(built, runs, strict=True)]
            note = f"{1000 * min(runs):.1f} ms of processor time"
            what = f"{subscriptions:,} opened, verify={verify!r}, against built: times as fast"
            show(what, min(built) / min(runs), (min(turns), max(turns)), ">= 50", note)
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    scale = 10 if parser.parse_args().quick else 1
    for label, workload in (("LeSub p=0.5", LeSub(0.5)), ("W4", TOPSS["w4"])):
        arrow(label, workload, 100_000 // scale, 10_000)
    opening(1_000_000 // scale)


if __name__ == "__main__":
    main()
