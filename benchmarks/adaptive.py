"""The adaptive engine against the C++ references and against merely writing its answer; every figure is a ratio.

    python -m benchmarks.adaptive [--quick]

Both sides of a ratio run in this process, one after the other, several times; the best of each is taken (what disturbs
a run only ever makes it slower) and the spread of the ratio over the repeats is shown.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import reference
from benchmarks.loads import load
from tamis import Engine, Schema
from tamis.kernels.segments.one_table import match_one
from tamis.kernels.segments.rows import writing_speed
from tamis.model import String
from tamis.model.schema import Attribute
from tamis.segments.segment_registry import SegmentRegistry
from tamis.workloads.lesub import LeSub
from tamis.workloads.light import Light
from tamis.workloads.slices import Workload
from tamis.workloads.topss import TOPSS

SEED = 1
REPEATS = 5
AT_LEAST = 0.2
"""Seconds that the repeats of a call last together."""


class Timed(NamedTuple):
    """Seconds per call of each repeat."""

    runs: list[float]

    @property
    def best(self) -> float:
        return min(self.runs)


def timed(call: Callable[[], object], repeats: int = REPEATS) -> Timed:
    """At least so many repeats; a short call is repeated for a while, as a few milliseconds are easily disturbed."""
    call()  # compiled, and warm
    runs: list[float] = []
    while len(runs) < repeats or sum(runs) < AT_LEAST:
        start = time.perf_counter()
        call()
        runs.append(time.perf_counter() - start)
    return Timed(runs)


def show(figure: str, ratio: float, spread: tuple[float, float], goal: str, note: str = "") -> None:
    print(f"{figure:<58} {ratio:9.2f}   {spread[0]:8.2f} … {spread[1]:<8.2f} {goal:<14} {note}", flush=True)


def compare(figure: str, slow: Timed, fast: Timed, goal: str, note: str = "") -> None:
    """How many times faster `fast` is."""
    spread = (min(slow.runs) / max(fast.runs), max(slow.runs) / min(fast.runs))
    show(figure, slow.best / fast.best, spread, goal, note)


def engine_of(workload: Workload, subscriptions: int, *, observe: bool = True) -> Engine:
    engine = Engine(workload.schema(), observe=observe)
    engine.subscribe_many(workload.subscriptions(subscriptions, SEED))
    return engine


def writing(matches_per_event: float, subscriptions: int, events: int) -> Callable[[], object]:
    """Write as many ids, of as many events, from a prepared bitmap into a fresh array."""
    count = int(matches_per_event)
    rows = np.random.default_rng(SEED).choice(subscriptions, count, replace=False)
    bits = np.zeros(subscriptions // 64 + 1, np.uint64)
    np.bitwise_or.at(bits, rows >> 6, np.uint64(1) << (rows & 63).astype(np.uint64))

    def write() -> None:
        out = np.empty(count * events, np.int32)
        for event in range(events):
            writing_speed(bits, out[event * count : (event + 1) * count])

    return write


def reference_seconds(name: str, workload: Workload, subscriptions: int, events: int) -> Timed:
    """Seconds of the C++ reference per event."""
    encoded = load(workload, subscriptions, events, SEED).encoded
    return Timed([reference.run(name, encoded).match_s / events for _ in range(3)])


def per_event(timing: Timed, events: int) -> Timed:
    return Timed([run / events for run in timing.runs])


def dense(subscriptions: int, events: int, reference_events: int) -> None:
    """W4: every sixth subscription matches."""
    workload = TOPSS["w4"]
    engine, batch = engine_of(workload, subscriptions), workload.events(events, SEED)
    listed = per_event(timed(lambda: engine.match_many(batch)), events)
    counted = per_event(timed(lambda: engine.count_many(batch)), events)
    each = engine.count_many(batch).mean()
    wrote = per_event(timed(writing(each, subscriptions, events)), events)
    counting = reference_seconds("list-counting", workload, subscriptions, reference_events)
    label = f"W4 {subscriptions:,}"
    note = f"{listed.best * 1e6:.0f} µs/event, {each:,.0f} matches"
    compare(f"{label}: ids out, against C++ list counting", counting, listed, ">= 20", note)
    compare(f"{label}: ids out, time of merely writing them", listed, wrote, "<= 3")
    compare(f"{label}: counts only, against C++ list counting", counting, counted, ">= 60")
    if subscriptions >= 1_000_000:
        two = per_event(timed(lambda: engine.match_many(batch, threads=2)), events)
        compare(f"{label}: two threads against one", listed, two, ">= 1.7")
    memory(label, engine)


def memory(label: str, engine: Engine) -> None:
    stats, count = engine.stats(), len(engine)
    index, ids = stats["index_bytes"] / count, (stats["index_bytes"] + stats["id_bytes"]) / count
    show(f"{label}: index bytes per subscription", index, (index, index), "<= 64")
    show(f"{label}: with the way back from ids", ids, (ids, ids), "<= 100")


def mixed(subscriptions: int, events: int) -> None:
    """Le Subscribe's workload with half of the numbers compared by equality."""
    workload = LeSub(0.5)
    engine, batch = engine_of(workload, subscriptions), workload.events(events, SEED)
    listed = per_event(timed(lambda: engine.match_many(batch)), events)
    each = engine.count_many(batch).mean()
    wrote = per_event(timed(writing(each, subscriptions, events)), events)
    quarantining = reference_seconds("quarantining", workload, subscriptions, events)
    label = f"LeSub p=0.5 {subscriptions:,}"
    note = f"{listed.best * 1e6:.1f} µs/event, {each:,.0f} matches"
    compare(f"{label}: against C++ quarantining", quarantining, listed, ">= 5", note)
    compare(f"{label}: time of merely writing the matches", listed, wrote, "<= 4")
    memory(label, engine)


def selective(sizes: tuple[int, ...], events: int, batches: int = 20) -> None:
    """Equality only: the time per event should hardly grow. An event takes a microsecond, so that both sides are given
    many batches one after the other, for caches and branch predictors not to know them by heart."""
    workload = LeSub(1.0)
    table = workload.events(events * batches, SEED)
    given = [table.slice(at, events) for at in range(0, len(table), events)]
    runs = {}
    for size in sizes:
        engine = engine_of(workload, size)
        runs[size] = per_event(timed(lambda held=engine: [held.match_many(batch) for batch in given]), len(table))  # type: ignore[misc]
        if size <= 800_000:
            quarantining = reference_seconds("quarantining", workload, size, len(table))
            note = f"{runs[size].best * 1e6:.2f} µs/event"
            compare(f"LeSub p=1 {size:,}: against C++ quarantining", quarantining, runs[size], ">= 1", note)
    small, large = sizes[0], sizes[-1]
    compare(f"LeSub p=1 {small:,} → {large:,}: growth of time per event", runs[large], runs[small], "< 3")


def constants(sizes: tuple[int, ...], events: int) -> None:
    """Everybody waits for another string: finding it among all of them should hardly depend on how many there are."""
    schema = Schema(attributes={"sku": Attribute("sku", String())})
    runs = {}
    for size in sizes:
        numbers = pa.array(np.arange(size)).cast(pa.string())
        engine = Engine(schema)
        engine.subscribe_many(pa.table({
            "id": np.arange(size), "expression": pc.binary_join_element_wise("sku = 'item-", numbers, "'", "")
        }))  # fmt: skip
        asked = pa.array(np.random.default_rng(SEED).integers(0, 2 * size, events)).cast(pa.string())
        batch = pa.table({"sku": pc.binary_join_element_wise("item-", asked, "")})
        runs[size] = per_event(timed(lambda held=engine, given=batch: held.match_many(given)), events)  # type: ignore[misc]
    small, large = sizes[0], sizes[-1]
    note = f"{runs[large].best * 1e6:.2f} µs/event"
    compare(f"sku = '…' {small:,} → {large:,}: growth of time per event", runs[large], runs[small], "", note)


def light(subscriptions: int, events: int, slow_events: int) -> None:
    """RAPIDMatch's light events, with statistics learned from a sample."""
    workload = Light(2.0)
    batch = workload.events(events, SEED)
    engine = engine_of(workload, subscriptions, observe=False)
    before = per_event(timed(lambda: engine.match_many(batch)), events)
    engine.observe(workload.events(2_000, SEED + 1))
    after = per_event(timed(lambda: engine.match_many(batch)), events)
    label = f"Light a=2 {subscriptions:,}"
    compare(f"{label}: with statistics against without", before, after, "", f"{after.best * 1e6:.1f} µs/event")
    few = workload.events(slow_events, SEED)
    for algorithm, goal in (("tree", ">= 20"), ("rapid", ">= 5"), ("counting-lists", ">= 50")):
        peer = Engine(workload.schema(), algorithm=algorithm)
        peer.subscribe_many(workload.subscriptions(subscriptions, SEED))
        compare(f"{label}: against {algorithm}", per_event(timed(lambda one=peer: one.match_many(few), 2), slow_events),  # type: ignore[misc]
                after, goal)  # fmt: skip
    quarantining = reference_seconds("quarantining", workload, subscriptions, slow_events)
    compare(f"{label}: against C++ quarantining", quarantining, after, ">= 1")


def churn(subscriptions: int, events: int, goal: str = "") -> None:
    """W4 while five per cent of the subscriptions are replaced per second of matching, turn by turn with a set that is
    left alone: what disturbs the one disturbs the other."""
    workload = TOPSS["w4"]
    batch = workload.events(events, SEED)
    left_alone, engine = engine_of(workload, subscriptions), engine_of(workload, subscriptions)
    each = timed(lambda: left_alone.match_many(batch), 3).best
    timed(lambda: engine.match_many(batch), 1)
    fresh = workload.subscriptions(subscriptions, SEED + 1)
    frozen, runs, at = [], [], 0
    for _ in range(4 * REPEATS):
        start = time.perf_counter()
        left_alone.match_many(batch)
        middle = time.perf_counter()
        count = int(subscriptions * 0.05 * each)
        engine.subscribe_many(fresh.slice(at, count))
        engine.match_many(batch)
        runs.append(time.perf_counter() - middle)
        frozen.append(middle - start)
        at += count
    ratios = [alone / run for alone, run in zip(frozen, runs, strict=True)]
    label = f"W4 {subscriptions:,}, 5 % replaced per second, {events:,} events at a time"
    left = sum(frozen) / sum(runs)  # all turns together: merges happen in some of them
    show(f"{label}: throughput left", left, (min(ratios), max(ratios)), goal)


def one_at_a_time(subscriptions: int, count: int) -> None:
    """Single calls: match a mapping that was never seen before, subscribe, unsubscribe."""
    workload, each = LeSub(1.0), 2_000
    engine, batch = engine_of(workload, 100_000), workload.events(REPEATS * each, SEED)
    raws = [{k: v for k, v in raw.items() if v is not None} for raw in batch.to_pylist()]
    engine.match(raws[-1])
    taken = [single_calls(engine, raws[first : first + each]) for first in range(0, len(raws), each)]
    ratios = sorted(call / (3 * kernel + 10e-6) for call, kernel in taken)
    call, kernel = np.median(taken, axis=0) * 1e6
    note = f"median {call:.1f} µs, kernel {kernel:.2f} µs"
    what = "LeSub p=1 100,000: match(dict) median / (3 kernels + 10 µs)"
    show(what, float(np.median(ratios)), (ratios[0], ratios[-1]), "<= 1", note)

    engine = engine_of(LeSub(0.5), subscriptions)
    texts = LeSub(0.5).subscriptions(count, SEED + 1).column("expression").to_pylist()
    for verb, call in writes(engine, texts, subscriptions):
        rate(f"{verb} one at a time at {subscriptions:,}", call, count, ">= 20")


def single_calls(engine: Engine, raws: list[dict[str, object]]) -> tuple[float, float]:
    """Seconds that the middle one of single calls takes, and of calls of nothing but the kernel, event by event."""
    assert isinstance(engine._registry, SegmentRegistry)
    single = engine._registry.collection.roads.single
    (segment,) = engine._registry.subscriptions.snapshot().segments
    calls, kernels = [], []
    for raw in raws:
        start = time.perf_counter()
        engine.match(raw)
        calls.append(time.perf_counter() - start)
        table = single(segment).desk(segment).table  # as the call has left it: with the event's codes
        middle = time.perf_counter()
        match_one(table)
        kernels.append(time.perf_counter() - middle)
    return float(np.median(calls)), float(np.median(kernels))


def writes(engine: Engine, texts: list[str], subscriptions: int) -> list[tuple[str, Callable[[], object]]]:
    """New ids, old ids that are replaced, and the new ones unsubscribed."""
    count = len(texts)
    old = range(0, subscriptions, max(1, subscriptions // count))[:count]

    def subscribe(ids: range) -> None:
        for id, text in zip(ids, texts, strict=True):
            engine.subscribe(id, text)

    def unsubscribe(ids: range) -> None:
        for id in ids:
            engine.unsubscribe(id)

    new = range(subscriptions, subscriptions + count)
    return [
        ("subscribe", lambda: subscribe(new)),
        ("replace", lambda: subscribe(old)),
        ("unsubscribe", lambda: unsubscribe(new)),
    ]


def rate(what: str, call: Callable[[], object], count: int, goal: str) -> None:
    """Thousands per second of processor time (merges in the background included) and, noted, of the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    call()
    processor, clock = time.process_time() - processor, time.perf_counter() - clock
    each = count / processor / 1e3
    show(f"{what}: thousands/s", each, (each, each), goal, f"{count / clock / 1e3:.1f} by the clock")


def durable(count: int) -> None:
    """Writes that are on disk when they return, one at a time and by the hundred, beside a bare append and sync."""
    workload = LeSub(0.5)
    texts = workload.subscriptions(count, SEED + 1).column("expression").to_pylist()
    folder = Path(tempfile.mkdtemp())
    try:
        handle = os.open(folder / "bare", os.O_RDWR | os.O_CREAT)

        def append_and_sync() -> None:
            os.write(handle, bytes(100))
            os.fdatasync(handle)

        bare = Timed([float(np.mean(timed(append_and_sync, 1_000).runs))])
        os.close(handle)
        with Engine.open(folder / "engine", schema=workload.schema(), create=True) as engine:
            engine.subscribe_many(workload.subscriptions(100_000, SEED))
            for verb, call in writes(engine, texts, 100_000):
                start = time.perf_counter()
                call()
                each = (time.perf_counter() - start) / count
                note = f"{1 / each:,.0f}/s by the clock"
                compare(f"durable {verb}: time of a bare append and sync", Timed([each]), bare, "", note)
            pairs = [(f"new {at}", text) for at, text in enumerate(texts)]
            start = time.perf_counter()
            for at in range(0, count, 100):
                engine.subscribe_many(pairs[at : at + 100])
            each = (time.perf_counter() - start) / count
            note = f"{1 / each:,.0f}/s by the clock"
            compare("durable subscribe_many by 100: time of a bare append and sync", Timed([each]), bare, "", note)
    finally:
        shutil.rmtree(folder)


def build_and_open(subscriptions: int) -> None:
    """From Arrow texts to a searchable engine, and from a folder."""
    for label, workload in (("LeSub p=1", LeSub(1.0)), ("W4", TOPSS["w4"]), ("LeSub p=0.5", LeSub(0.5))):
        table = workload.subscriptions(subscriptions, SEED)
        Engine(workload.schema()).subscribe_many(table.slice(0, 1_000))
        processor, clock = [], []
        for _ in range(3):
            engine = Engine(workload.schema())
            start = time.process_time(), time.perf_counter()
            engine.subscribe_many(table)
            processor.append(time.process_time() - start[0])
            clock.append(time.perf_counter() - start[1])
        rates = [subscriptions / run / 1e3 for run in processor]
        what = f"{label} {subscriptions:,} from Arrow: thousands parsed and compiled/s"
        note = f"{subscriptions / min(clock) / 1e3:.0f} by the clock"
        show(what, max(rates), (min(rates), max(rates)), ">= 200", note)
    folder = Path(tempfile.mkdtemp())
    try:
        engine.save(folder / "engine")
        opened = timed(lambda: Engine.open(folder / "engine").close(), 3)
        compare(f"LeSub {subscriptions:,}: open against build", Timed(clock), opened, ">= 100")
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, under two minutes")
    quick = parser.parse_args().quick
    print(f"numpy {np.__version__}, pyarrow {pa.__version__}, seed {SEED}, {REPEATS} repeats, one thread unless said")
    print(f"{'figure':<58} {'ratio':>9}   {'spread':^20} {'must reach':<14}")
    scale = 10 if quick else 1
    dense(1_000_000 // scale, 1_000 // scale, 20)
    mixed(800_000 // scale, 1_000)
    selective((100_000 // scale, 800_000 // scale) if quick else (100_000, 800_000, 3_200_000), 1_000)
    constants((10_000 // scale, 1_000_000 // scale), 1_000)
    light(100_000 // scale, 1_000, 20)
    churn(1_000_000 // scale, 1_000, ">= 0.7")
    churn(1_000_000 // scale, 200)  # five times as many writes, of a fifth of the size
    one_at_a_time(1_000_000 // scale, 20_000 // scale)
    durable(5_000 // scale)
    build_and_open(1_000_000 // scale)
    if not quick:
        dense(5_000_000, 300, 5)  # 1,000 events would have 3.5 GB of answers
        mixed(3_200_000, 1_000)


if __name__ == "__main__":
    main()
