"""Predicate indexes: how their searches grow, and what the PB+tree costs on disk.

    python -m benchmarks.indexes            10^3 to 10^6 predicates, and 6 × 10^6 under a cap; a quarter of an hour
    python -m benchmarks.indexes --quick    10^3 to 10^5, about a minute

Times are processor time of this process, as the machine may be shared, in microseconds: the median of the searches,
with the quickest and slowest tenth in brackets. Where a disk is waited for, wall time is given too. Constants are
whole numbers drawn evenly from 0 to 99,999 (ToPSS's big domain), operators evenly from the six: half of all predicates
are satisfied by a value. Ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.capped import capped_group, searched
from benchmarks.cold import evict, private_bytes, resident_pages
from tamis.errors import LimitError
from tamis.indexes import INDEXES, SIX, PredicateIndex
from tamis.indexes.pb_tree import PbTree
from tamis.model import Integer, Kind, Number, Operator, Value

SEED = 20_260
DOMAIN = Integer(0, 99_999)
BATCH = 10_000
LARGE = 6
"""The index under a cap has so many times the other ones' predicates."""
ROOM_BYTES = 16 << 20
"""For the pages of a file, beside a process's own memory."""

Predicates = list[tuple[int, Operator, Value]]


def predicates(size: int, operators: tuple[Operator, ...] = SIX) -> Predicates:
    random = np.random.default_rng(SEED)
    chosen = random.integers(len(operators), size=size).tolist()
    constants = random.integers(DOMAIN.max + 1, size=size).tolist()  # type: ignore[operator]  # this one has bounds
    return [(id, operators[o], Value(Kind.NUMBER, c)) for id, (o, c) in enumerate(zip(chosen, constants, strict=True))]


def different(size: int) -> Predicates:
    """The same with doubles: hardly two constants are equal, so the tree has as many items as predicates."""
    doubles = np.random.default_rng(SEED + 2).random(size).tolist()
    return [(id, op, Value(Kind.NUMBER, d)) for (id, op, _), d in zip(predicates(size), doubles, strict=True)]


def values(size: int) -> list[Value]:
    random = np.random.default_rng(SEED + 1)
    return [Value(Kind.NUMBER, n) for n in random.integers(DOMAIN.max + 1, size=size).tolist()]  # type: ignore[operator]


def timed(action: Callable[[], object]) -> float:
    start = time.process_time_ns()
    action()
    return (time.process_time_ns() - start) / 1000


def spread(times: list[float]) -> str:
    low, middle, high = np.quantile(times, [0.1, 0.5, 0.9])
    return f"{middle:10.1f} [{low:.1f}..{high:.1f}]"


def searches(index: PredicateIndex, probes: list[Value]) -> tuple[list[float], int, int]:
    """Times, ids found per search, visited per search; after one search that compiles."""
    index.search(probes[0])
    before, found, times = index.visited, 0, []
    for value in probes:
        start = time.process_time_ns()
        ids = index.search(value)
        times.append((time.process_time_ns() - start) / 1000)
        found += len(ids)
    return times, found // len(probes), (index.visited - before) // len(probes)


def growth(sizes: list[int]) -> None:
    print("\n## Growth\n")
    print("index            predicates  satisfied   visited bytes each  build us each  search us")
    for name in INDEXES:
        for size in sizes:
            index = INDEXES[name](DOMAIN)
            try:
                build = timed(partial(fill, index, predicates(size), BATCH if name == "pb-tree" else size))
                slow = size == 10**6 and name in ("ordered-list", "red-black", "interval-b-tree")
                times, found, visited = searches(index, values(5 if slow else 21))
                each = f"{index.bytes_used() / size:10.1f} {build / size:14.2f}"
                print(f"{name:16} {size:10,} {found:10,} {visited:9,} {each}  {spread(times)}", flush=True)
            except LimitError as error:
                print(f"{name:16} {size:10,} refused: {error}", flush=True)
            finally:
                index.close()


def fill(index: PredicateIndex, given: Predicates, chunk: int) -> None:
    for at in range(0, len(given), chunk):
        index.insert_many(given[at : at + chunk])


def writing_out(size: int) -> None:
    print(f"\n## Searching against merely writing out the ids, {size:,} predicates\n")
    for name in ("table", "hash-and-sorted"):
        index = INDEXES[name](DOMAIN)
        index.insert_many(predicates(size))
        probes = values(51)
        ids = [index.search(value) for value in probes]
        copying = [timed(one.copy) for one in ids]
        times, found, _ = searches(index, probes)
        ratio = np.median(times) / np.median(copying)
        print(f"{name:16} search {spread(times)}   copy of {found:,} ids {spread(copying)}   ratio {ratio:.1f}")


def warm(sizes: list[int]) -> None:
    print("\n## PB+tree with a warm cache against hash-and-sorted\n")
    for size in sizes:
        pb, memory = INDEXES["pb-tree"](DOMAIN), INDEXES["hash-and-sorted"](DOMAIN)
        for index in (pb, memory):
            fill(index, predicates(size), max(BATCH, size // 4))
        probes = values(51)
        ours, theirs = searches(pb, probes)[0], searches(memory, probes)[0]
        ratio = np.median(ours) / np.median(theirs)
        print(f"{size:10,}  pb-tree {spread(ours)}   hash-and-sorted {spread(theirs)}   ratio {ratio:.1f}", flush=True)
        pb.close()


def insertion(home: Path, given: Predicates, what: str) -> None:
    print(f"\n## Inserting {len(given):,} predicates into a PB+tree on disk, {BATCH:,} per transaction, {what}\n")
    index = PbTree(Number(), home)
    before, wall, cpu = private_bytes(), time.perf_counter(), time.process_time()
    fill(index, given, BATCH)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    used, grown = index.bytes_used() / 1e6, (private_bytes() - before) / 1e6
    index.close()
    file = (home / "data.mdb").stat().st_size / 1e6
    print(f"{wall:.1f} s on the wall, {cpu:.1f} s of processor; every commit on disk")
    print(f"index {used:.0f} MB, file {file:.0f} MB, own memory +{grown:.0f} MB", flush=True)


def cold(home: Path, what: str, count: int = 21) -> None:
    """Each search after the whole file was put out of memory: pages then in memory are pages read."""
    rows = []
    for value in values(count):
        evict(home / "data.mdb")
        index = PbTree(DOMAIN, home)
        opened = resident_pages(home / "data.mdb")
        ids = index.search(value)
        read = resident_pages(home / "data.mdb") - opened
        rows.append((len(ids), -(-4 * len(ids) // 4096), read, index.visited))
        index.close()
    found, least, read, visited = np.median(rows, axis=0).astype(int)
    print(f"{what:10} satisfied {found:8,}, which fill {least:5,} pages; pages read {read:5,}; counted {visited:5,}")


def large(home: Path, size: int, operators: tuple[Operator, ...]) -> int:
    """An index with as many constants to choose from as predicates, built in large transactions; its bytes."""
    index = PbTree(Number(), home)
    random, chunk = np.random.default_rng(SEED), size // 12
    for first in range(0, size, chunk):
        chosen = random.integers(len(operators), size=chunk).tolist()
        constants = random.integers(size, size=chunk).tolist()
        ids = range(first, first + chunk)
        index.insert_many(
            [(id, operators[o], Value(Kind.NUMBER, c)) for id, o, c in zip(ids, chosen, constants, strict=True)]
        )
    used = index.bytes_used()
    index.close()
    return used


def capped(home: Path, size: int, operators: tuple[Operator, ...], count: int = 40) -> None:
    """Searches by a process that may have its own memory and ROOM_BYTES for pages, in an index larger than both."""
    used = large(home, size, operators)
    cap = searched(home, size, 2)["own_bytes"] + ROOM_BYTES
    evict(home / "data.mdb")
    with capped_group(cap) as group:
        if group is None:
            print("no control group can be made here, so nothing is capped: the file is put out of memory instead")
            evicting(home, size, used)
            return
        rows = searched(home, size, count, group)["searches"]
        most = group.most_bytes()
    found, read, visited = np.median(rows, axis=0).astype(int)
    name = "equality" if operators == (Operator.EQ,) else "mixed"
    print(f"{name:9} {size:,} predicates, index {used / 1e6:.0f} MB, {used / cap:.1f} times the cap of "
          f"{cap / 1e6:.0f} MB (control group, page cache included; {most / 1e6:.0f} MB at most)")  # fmt: skip
    print(f"{'':9} satisfied {found:,}, which fill {-(-4 * found // 4096):,} pages; "
          f"pages from disk {read:,}; counted {visited:,}", flush=True)  # fmt: skip


def evicting(home: Path, below: int, used_bytes: int, count: int = 60) -> None:
    """A tenth of the index may be in memory: when a search leaves more there, all is put out before the next."""
    file, used = home / "data.mdb", used_bytes // 4096
    evict(file)
    index = PbTree(Number(), home)
    read, most, evictions, there = 0, 0, 0, resident_pages(file)
    for value in np.random.default_rng(SEED + 1).integers(below, size=count).tolist():
        index.search(Value(Kind.NUMBER, value))
        now = resident_pages(file)
        read, most, there = read + max(now - there, 0), max(most, now), now
        if now > used // 10:
            index.close()
            evict(file)
            index, there, evictions = PbTree(Number(), home), resident_pages(file), evictions + 1
    index.close()
    print(f"index {used:,} pages, never more than {most:,} in memory (1/{used / most:.1f}), put out {evictions} times; "
          f"{read / count:.0f} pages read per search", flush=True)  # fmt: skip


def disk(size: int) -> None:
    home = Path(tempfile.mkdtemp(prefix="tamis-bench-"))
    try:
        insertion(home / "different", different(size), "all constants different")
        insertion(home / "mixed", predicates(size), "constants from 100,000")
        selective = PbTree(DOMAIN, home / "equal")
        fill(selective, predicates(size // 5, (Operator.EQ,)), BATCH)
        selective.close()
        print("\n## PB+tree cold: the file is out of memory before each search\n")
        cold(home / "mixed", "mixed")
        cold(home / "equal", "equality")
        print("\n## PB+tree under a cap\n")
        capped(home / "large equality", LARGE * size, (Operator.EQ,))
        capped(home / "large mixed", LARGE * size, SIX)
    finally:
        shutil.rmtree(home)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.indexes", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="up to 10^5 predicates")
    quick = parser.parse_args().quick
    sizes = [10**3, 10**4, 10**5] if quick else [10**3, 10**4, 10**5, 10**6]
    print(f"seed {SEED}; Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors, "
          f"load {os.getloadavg()[0]:.1f}; {' '.join(sys.argv[1:]) or 'full'}")  # fmt: skip
    writing_out(sizes[-1])
    warm(sizes)
    disk(sizes[-1])
    growth(sizes)


if __name__ == "__main__":
    main()
