"""The engine that is not left alone: what it learns by itself, and single events between writes.

    python -m benchmarks.alive [--quick] [learning|latency|churn|grid ...]

Figures are ratios within one run. Latencies are by the clock; beside them runs a thread that looks at nothing but the
clock, and the stalls that it sees are the machine's own. Its thread needs the interpreter's lock, so that the stalls of
ours that hold the lock are among them: the processor's time of the same calls is shown as well, in which no stall is.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.adaptive import SEED, churn, engine_of, per_event, show, timed
from tamis import Engine
from tamis.segments.compile.tuning import DEFAULT
from tamis.workloads.ads import Ads
from tamis.workloads.lesub import LeSub
from tamis.workloads.web import Web

Nanoseconds = npt.NDArray[np.float64]

_PERCENTILES = (50.0, 90.0, 99.0, 99.9, 100.0)
_EVERY = (1_000, 100, 20, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["learning", "latency", "churn", "grid"])
    parser.add_argument("--quick", action="store_true", help="a tenth of the subscriptions and of the calls")
    arguments = parser.parse_args()
    scale = 10 if arguments.quick else 1
    calls: dict[str, Callable[[], None]] = {
        "learning": lambda: learning(scale),
        "latency": lambda: latency(scale),
        "churn": lambda: churn(1_000_000 // scale, 200, ">= 0.85"),
        "grid": lambda: grid(20_000 // scale),
    }
    for part in arguments.parts:
        calls[part]()


# -- what it learns by itself -------------------------------------------------------------------------------------


def learning(scale: int) -> None:
    """After 20,000 events and without a call of `observe`, beside the same engine after one."""
    for label, workload, subscriptions in (
        ("web", Web(), 1_000_000 // scale),
        ("web a=1.4", Web(1.4), 300_000 // scale),
    ):
        engine = engine_of(workload, subscriptions)
        events, batch = workload.events(20_000, SEED), workload.events(2_000, SEED + 2)
        before = candidates(engine, batch)
        for at in range(0, 20_000, 200):
            engine.count_many(events.slice(at, 200))
        engine.settle()
        count = partial(engine.count_many, batch)
        by_itself, met = per_event(timed(count), 2_000), candidates(engine, batch)
        engine.observe(workload.events(2_000, SEED + 1))
        told = per_event(timed(count), 2_000)
        ratios = sorted(one / told.best for one in by_itself.runs)
        note = f"{by_itself.best * 1e6:.1f} µs; candidates {before:,.1f} at first, {met:,.1f} then"
        what = f"{label} {subscriptions:,}: time by itself / after observe"
        show(what, by_itself.best / told.best, (ratios[0], ratios[-1]), "<= 1.5", note)


def candidates(engine: Engine, batch: pa.Table) -> float:
    """Verified for an event."""
    before = engine.stats()["work"]["candidates_verified"]
    engine.count_many(batch)
    return float(engine.stats()["work"]["candidates_verified"] - before) / len(batch)


# -- single events between writes ---------------------------------------------------------------------------------


class Watcher:
    """A thread that looks at nothing but the clock: the longest time between two looks is the machine's doing."""

    def __enter__(self) -> Watcher:
        self.longest, self._goes_on = 0.0, True
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        last = time.perf_counter()
        while self._goes_on:
            time.sleep(0.001)
            now = time.perf_counter()
            self.longest, last = max(self.longest, now - last - 0.001), now

    def __exit__(self, *_: object) -> None:
        self._goes_on = False
        self._thread.join()


def latency(scale: int) -> None:
    """A histogram of single calls, quiet and between writes."""
    for label, workload in (("LeSub p=1", LeSub(1.0)), ("LeSub p=0.5", LeSub(0.5)), ("ads", Ads()), ("web", Web())):
        engine = engine_of(workload, 100_000 // scale)
        raws = [_without_nulls(raw) for raw in workload.events(2_000, SEED).to_pylist()]
        texts = workload.subscriptions(10_000, SEED + 1).column("expression").to_pylist()
        count = (100_000 if label == "LeSub p=1" else 10_000) // scale
        quiet, quiet_cpu = _calls(engine, raws, texts, count, 0)
        print(f"{label}, quiet: {_told(quiet)}; processor {_told(quiet_cpu)}")
        for every in _EVERY:
            with Watcher() as watcher:
                between, cpu = _calls(engine, raws, texts, count, every)
            print(f"{label}, 1 write per {every:,}: {_told(between)}; processor {_told(cpu)}; "
                  f"the machine's longest stall {watcher.longest * 1e3:.1f} ms")  # fmt: skip
            wanted = label == "LeSub p=1" and every == 100
            for share, goal in ((50.0, "<= 1.5"), (99.9, "<= 20")):
                ratio = float(np.percentile(between, share) / np.median(quiet))
                by_cpu = float(np.percentile(cpu, share) / np.median(quiet_cpu))
                what = f"{label}, 1 write per {every:,}: {share:g}th percentile / quiet median"
                show(what, ratio, (ratio, ratio), goal if wanted else "", f"by processor time {by_cpu:.2f}")
            engine.settle()


def _calls(
    engine: Engine, raws: list[dict[str, Any]], texts: list[str], count: int, every: int
) -> tuple[Nanoseconds, Nanoseconds]:
    """Nanoseconds of each of `count` single matches by the clock and by the processor, a write before every so many."""
    taken, worked, written = np.empty(count), np.empty(count), 0
    for at in range(count):
        if every and at % every == 0:
            engine.subscribe(f"new {written % 5_000}", texts[written % len(texts)])
            written += 1
        raw = raws[at % len(raws)]
        cpu, start = time.thread_time_ns(), time.perf_counter_ns()
        engine.match(raw)
        taken[at], worked[at] = time.perf_counter_ns() - start, time.thread_time_ns() - cpu
    return taken, worked


def _told(taken: Nanoseconds) -> str:
    found = zip(_PERCENTILES, np.percentile(taken, _PERCENTILES) / 1e3, strict=True)
    return ", ".join(f"{share:g} % {micros:,.1f} µs" for share, micros in found)


def _without_nulls(raw: Any) -> Any:
    if isinstance(raw, dict):
        return {name: _without_nulls(value) for name, value in raw.items() if value is not None}
    return raw


# -- wide and odd sets --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Odd:
    """One point of the grid."""

    skew: float
    arity: int
    equalities: float
    distinct: int
    several: bool

    def subscriptions(self, count: int) -> pa.Table:
        draw = np.random.default_rng(SEED)
        texts = []
        for _ in range(count):
            names = draw.choice(12, self.arity, replace=False)
            values = self._values(draw, self.arity)
            equal = draw.random(self.arity) < self.equalities
            texts.append(
                " and ".join(f"a{n} {'=' if e else '<'} {v}" for n, v, e in zip(names, values, equal, strict=True))
            )
        return pa.table({"id": np.arange(count), "expression": texts})

    def events(self, count: int, seed: int) -> list[dict[str, object]]:
        draw = np.random.default_rng(seed)
        each = 3 if self.several else 1
        found = self._values(draw, count * 12 * each).reshape(count, 12, each).tolist()
        return [{f"a{n}": values if each > 1 else values[0] for n, values in enumerate(row)} for row in found]

    def _values(self, draw: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        if not self.skew:
            return draw.integers(0, self.distinct, count)
        weights = np.arange(1, self.distinct + 1, dtype=float) ** -self.skew
        return draw.choice(self.distinct, count, p=weights / weights.sum()).astype(np.int64)


def _points() -> Iterator[Odd]:
    for skew in (0.0, 1.2):
        for arity in (1, 3, 8):
            for equalities in (1.0, 0.5, 0.0):
                for distinct in (20, 10_000):
                    for several in (False, True):
                        yield Odd(skew, arity, equalities, distinct, several)


def grid(subscriptions: int) -> None:
    """By itself, after `observe`, and all in blocks: the worst rows of the first against the best of all."""
    rows = []
    for point in _points():
        table, batch = point.subscriptions(subscriptions), point.events(300, SEED + 1)
        engines = {"by itself": Engine(), "blocks": Engine(tuning=replace(DEFAULT, probe_ns=1e12), observe=False)}
        engines["observed"] = Engine(observe=False)
        for engine in engines.values():
            engine.subscribe_many(table)
        engines["observed"].observe(point.events(1_000, SEED + 2))
        for seed in range(10):
            engines["by itself"].count_many(point.events(300, SEED + 10 + seed))
        engines["by itself"].settle()
        taken = {name: timed(partial(engine.count_many, batch), 3).best for name, engine in engines.items()}
        rows.append((taken["by itself"] / min(taken.values()), min(taken, key=taken.__getitem__), point))
    rows.sort(key=lambda row: -row[0])
    for ratio, best, point in rows[:5]:
        print(f"{ratio:.2f} times the best ({best}): {point}")
    show(
        f"grid of {len(rows)} sets of {subscriptions:,}: dearest against the best",
        rows[0][0],
        (rows[-1][0], rows[0][0]),
        "<= 3",
    )


if __name__ == "__main__":
    main()
