"""Texts by the second: what is not flat against what is, and against parsing one by one; and the memory it takes.

    python -m benchmarks.texts [--quick]

Processor time of one core. All rows take turns, several times over; a ratio is one turn's, and its spread that over the
turns. Loading is `subscribe_many` into a new engine: reading, compiling, ids. The peak of memory is measured in a
process of its own, from the moment the texts are there, against the index, its ids and texts.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tamis import Engine, Schema
from tamis.language import parse
from tamis.segments.compile.constraints import Pieces
from tamis.workloads.ads import Ads
from tamis.workloads.catalogue import find_workload

SEED = 1
TURNS = 5
PARSED = 1000
"""Texts that are parsed one by one, which takes so much longer."""

FORMS: dict[str, str] = {
    "flat": "a = {a} and b < {b} and s = 'v{c}'",
    "or": "a = {a} or b < {b} and s = 'v{c}'",
    "not": "not (a = {a} or b < {b}) and s = 'v{c}'",
    "not in": "a not in ({a}, {b}) and b < {b} and s = 'v{c}'",
    "between": "a between {a} and {d} and b < {b} and s = 'v{c}'",
    "starts with": "t starts with 'x{a}' and b < {b} and s = 'v{c}'",
    "is missing": "a is missing and b < {b} and s = 'v{c}'",
    "timestamp": "p >= timestamp '2026-01-{day:02}T{hour:02}:{minute:02}:00Z' and b < {b} and s = 'v{c}'",
    "@attribute": "a > @b and c < {b} and s = 'v{c}'",
    "quoted name": "\"the a\" = {a} and b < {b} and s = 'v{c}'",
    "escaped quote": "a = {a} and b < {b} and s = 'it''s {c}'",
    "parentheses": "((a = {a}) and (b < {b}) and (s = 'v{c}'))",
    "hypermatch": (
        "env = 'prod' and number = '{a}' and tags contains tag{b} and tags contains tag{c} and region != 'moon' "
        "and type in ('app', 'database')"
    ),
}


class Row(NamedTuple):
    """Texts, and the schema they are read with."""

    name: str
    texts: pa.Array
    schema: Schema


def rows(count: int) -> list[Row]:
    draw = random.Random(SEED)
    found = []
    for name, form in FORMS.items():
        texts = [form.format(**_drawn(draw)) for _ in range(count)]
        found.append(Row(name, pa.array(texts), Schema(open=True)))
    for workload in (Ads(), Ads(open=1), find_workload("lesub"), find_workload("w0")):
        texts = workload.subscriptions(count, SEED)["expression"].combine_chunks()
        found.append(Row(workload.name, texts, workload.schema()))
    return found


def _drawn(draw: random.Random) -> dict[str, int]:
    a, b, c = draw.randrange(1000), draw.randrange(100), draw.randrange(5000)
    return {"a": a, "b": b, "c": c, "d": a + b, "day": 1 + a % 28, "hour": c % 24, "minute": b % 60}


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def parse_all(row: Row) -> None:
    """What reading takes when nothing but the parser does it."""
    pieces = Pieces(row.schema)
    number = 0
    for text in row.texts.slice(0, PARSED).to_pylist():
        for conjunction in parse(text, row.schema):
            pieces.add_conjunction(number, conjunction)
            number += 1
    list(pieces.all())


def measure(row: Row) -> tuple[float, float, float]:
    """Texts per second: from Arrow, as pairs, and parsed one by one (reading alone)."""
    count = len(row.texts)
    table = pa.table({"id": range(count), "expression": row.texts})
    pairs = list(zip(range(count), row.texts.to_pylist(), strict=True))
    arrow = count / seconds(lambda: Engine(row.schema).subscribe_many(table))
    paired = count / seconds(lambda: Engine(row.schema).subscribe_many(pairs))
    return arrow, paired, min(PARSED, count) / seconds(lambda: parse_all(row))


def show_rates(count: int) -> None:
    every = rows(count)
    for row in every:
        measure(row._replace(texts=row.texts.slice(0, 1000)))  # compiled, and warm
    turns = [{row.name: measure(row) for row in every} for _ in range(TURNS)]
    print(f"{count:,} texts, {TURNS} turns, seed {SEED}: the best turn, and ratios with their spread")
    print(f"{'':<14}{'Arrow':>12}{'pairs':>12}{'parser':>10}   {'of flat':<22}{'times the parser':<22}")
    for row in every:
        best = [max(turn[row.name][side] for turn in turns) for side in range(3)]
        flat = [turn[row.name][0] / turn["flat"][0] for turn in turns]
        parsed = [turn[row.name][0] / turn[row.name][2] for turn in turns]
        shown = "".join(f"{rate:>12,.0f}" for rate in best[:2]) + f"{best[2]:>10,.0f}"
        print(f"{row.name:<14}{shown}   {_spread(flat, 2):<22}{_spread(parsed, 0):<22}", flush=True)


def _spread(ratios: list[float], digits: int) -> str:
    middle = sorted(ratios)[len(ratios) // 2]
    return f"{middle:.{digits}f} ({min(ratios):.{digits}f} … {max(ratios):.{digits}f})"


def show_peak(name: str, count: int) -> None:
    """In a process of its own, since a peak cannot be taken back."""
    subprocess.run([sys.executable, "-m", "benchmarks.texts", "--peak", name, str(count)], check=True)


def _peak(name: str, count: int) -> None:
    workload = find_workload(name)
    Engine(workload.schema()).subscribe_many(workload.subscriptions(2000, SEED))
    table = workload.subscriptions(count, SEED)
    pa.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = _status("VmRSS")
    engine = Engine(workload.schema())
    engine.subscribe_many(table)
    peak = (_status("VmHWM") - before) / count
    kept = (engine.stats()["bytes"] + table.nbytes) / count
    print(f"{name:<14}peak {peak:,.0f} bytes a subscription, {peak / kept:.1f} times what stays", flush=True)
    print(f"{'':<14}{kept:.0f}: the index, its ids and texts")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the texts")
    parser.add_argument("--peak", nargs=2, metavar=("WORKLOAD", "COUNT"), help="the peak of memory alone")
    given = parser.parse_args()
    if given.peak:
        _peak(given.peak[0], int(given.peak[1]))
        return
    show_rates(10_000 if given.quick else 100_000)
    for name in ("lesub", "w4", "ads"):
        show_peak(name, 100_000 if given.quick else 1_000_000)


if __name__ == "__main__":
    main()
