"""The doors: the same events as Arrow columns, as JSON, as mappings and one by one, against the flat Arrow door.

    python -m benchmarks.doors [--quick] [--only WORD]

One engine per workload, all doors in turns, processor time; the ratio is that of the best turns, and its spread over
the turns is shown. A door is a row of the table `DOORS`: what it is called, what it is given, what it calls.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.doors_arrow import FORMS, UNNAMED
from tamis import Engine, Schema
from tamis.workloads.ads import Ads
from tamis.workloads.lesub import LeSub
from tamis.workloads.slices import Workload

SEED = 1
TURNS = 7


class Load(NamedTuple):
    """Events in every form, and an engine for them."""

    name: str
    engine: Engine
    table: pa.Table
    mappings: list[dict[str, Any]]
    lines: bytes


class Door(NamedTuple):
    """A way in: what it is called, the call, and what is asked of it."""

    name: str
    make: Callable[[Load], Callable[[], object]]
    goal: str


def match_each(load: Load) -> Callable[[], object]:
    events = load.mappings[: max(len(load.mappings) // 20, 200)]

    def call() -> int:
        for event in events:
            load.engine.match(event)
        return len(events)

    return call


def _form(make: Callable[[pa.Table], Any], load: Load) -> Callable[[], object]:
    events = make(load.table)
    if load.engine.match_many(load.table).total != load.engine.match_many(events, on_error="skip").total:
        raise AssertionError("another form of the same events matches something else")
    return lambda: load.engine.match_many(events)


DOORS: tuple[Door, ...] = (
    Door("JSON lines", lambda load: lambda: load.engine.match_json(load.lines), "at least 0.85"),
    Door("JSON array", lambda load: _array(load), ""),
    Door("list of dicts", lambda load: lambda: load.engine.match_many(load.mappings), "at least 0.7"),
    *(Door(name, partial(_form, make), goal) for name, make, goal in FORMS),
)
"""Each is held against the flat Arrow door; further doors are further rows."""


def _array(load: Load) -> Callable[[], object]:
    text = b"[" + b",".join(load.lines.splitlines()) + b"]"
    return lambda: load.engine.match_json(text)


def loads(subscriptions: int, events: int) -> Iterator[Load]:
    workloads: Sequence[tuple[Workload, Schema | None]] = (
        (LeSub(p=1), None), (LeSub(p=1), Schema(open=True)), (Ads(), None), (Ads(open=1), None),
    )  # fmt: skip
    for workload, schema in workloads:
        engine = Engine(schema or workload.schema())
        engine.subscribe_many(workload.subscriptions(subscriptions, SEED))
        table = workload.events(events, SEED)
        given = workload.mappings(events, SEED) if isinstance(workload, Ads) else _without_gaps(table.to_pylist())
        mappings = list(given)
        lines = "\n".join(json.dumps(one, separators=(",", ":")) for one in mappings).encode()
        yield Load(workload.name + (", no schema" if schema else ""), engine, table, mappings, lines)


def _without_gaps(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return ({name: value for name, value in row.items() if value is not None} for row in rows)


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def in_turns(calls: Sequence[Callable[[], object]], turns: int) -> list[list[float]]:
    """The processor time of each call, turn by turn."""
    for call in calls:
        call()  # compiled, and warm
    runs: list[list[float]] = [[] for _ in calls]
    for _ in range(turns):
        for at, call in enumerate(calls):
            runs[at].append(seconds(call))
    return runs


def show(name: str, figure: str, spread: str, goal: str, note: str = "") -> None:
    print(f"  {name:<42} {figure:>10}   {spread:<22} {goal:<16} {note}", flush=True)


def doors(load: Load, turns: int, only: str) -> None:
    """All rows of the table for one workload."""
    events = len(load.mappings)
    chosen = [door for door in DOORS if only in door.name and (load.engine.schema.open or UNNAMED not in door.name)]
    calls = [lambda: load.engine.match_many(load.table), *(door.make(load) for door in chosen), match_each(load)]
    arrow, *others, singles = in_turns(calls, turns)
    share = min(arrow) / events * 1e6
    size = len(load.lines) / events
    print(f"\n{load.name}: {len(load.engine):,} subscriptions, {events:,} events of {size:.0f} bytes")
    show("flat Arrow", f"{share:.2f} µs", "", "", f"{events / min(arrow):,.0f} events/s")
    for door, runs in zip(chosen, others, strict=True):
        ratios = [one / other for one, other in zip(arrow, runs, strict=True)]
        note = f"{min(runs) / events * 1e6:.2f} µs, {events / min(runs):,.0f} events/s"
        spread = f"{min(ratios):.2f} … {max(ratios):.2f}"
        show(door.name, f"{min(arrow) / min(runs):.2f}", spread, door.goal, note)
    one_by_one = max(len(load.mappings) // 20, 200)
    above = [run / one_by_one * 1e6 - share for run in singles]
    show(
        "match(dict), above the share", f"{min(above):.1f} µs", f"{min(above):.1f} … {max(above):.1f}", "at most 10 µs"
    )


def way_out(load: Load, turns: int) -> None:
    """What an answer costs to hand over: as Arrow, against copying the ids; as lists, against 1 µs an event and 25 ns
    an id. Lists are dropped as they come: whoever keeps them pays Python's collector for looking at them."""
    matches = load.engine.match_many(load.table)
    ids = pa.array(matches.ids.listed(np.arange(len(load.engine))))
    calls = [lambda: ids.take(pa.array(matches.codes % len(ids))), matches.to_arrow, lambda: deque(matches, 0)]
    copied, arrow, lists = in_turns(calls, turns)
    ratios = [one / other for one, other in zip(arrow, copied, strict=True)]
    allowed = 1e-6 * len(matches) + 25e-9 * matches.total
    spread = f"{min(ratios):.2f} … {max(ratios):.2f}"
    show("to_arrow(), against copying the ids", f"{min(arrow) / min(copied):.2f}", spread, "at most 2")
    shares = [one / allowed for one in lists]
    note = f"{matches.total / len(matches):.0f} ids an event"
    show(
        "iterating, of what is allowed",
        f"{min(shares):.2f}",
        f"{min(shares):.2f} … {max(shares):.2f}",
        "at most 1",
        note,
    )


def nothing_matches(turns: int) -> None:
    """Text that is validated, and in which nobody is interested."""
    ads = Ads()
    mappings = list(ads.mappings(20_000, SEED))
    lines = "\n".join(json.dumps(one, separators=(",", ":")) for one in mappings).encode()
    print(f"\nnothing matches: {len(lines) / 1e6:.1f} MB of ads")
    texts = {"one attribute in use": ["category = 'none'"], "eight in use": [
        "category = 'none' and price < 0", "brand = 'none' and tags contains 'none'", "seller.name = 'none'",
        "location.lat > 1000 and location.lon > 1000", "title = 'none'",
    ]}  # fmt: skip
    for name, expressions in texts.items():
        engine = Engine()
        engine.subscribe_many(list(enumerate(expressions)))
        assert engine.match_json(lines).total == 0
        (runs,) = in_turns([lambda engine=engine: engine.match_json(lines)], turns)  # type: ignore[misc]
        speeds = [len(lines) / run / 1e6 for run in runs]
        show(name, f"{max(speeds):.0f} MB/s", f"{min(speeds):.0f} … {max(speeds):.0f}", "at least 500")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer subscriptions, events and turns")
    parser.add_argument("--only", default="", help="doors whose name has this word")
    chosen = parser.parse_args()
    subscriptions, events, turns = (10_000, 5_000, 3) if chosen.quick else (100_000, 20_000, TURNS)
    for load in loads(subscriptions, events):
        doors(load, turns, chosen.only)
        way_out(load, turns)
    nothing_matches(turns)


if __name__ == "__main__":
    main()
