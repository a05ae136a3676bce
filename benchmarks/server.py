"""The server: what publishing, streams and restarts cost, each held against something measured beside it.

    python -m benchmarks.server [--quick] [--only single|batches|blocks|streams|restart]

The server and the load are processes of this machine, so that both share its cores; the null server, which decodes a
body and answers, and the load on it share them in the same way. Turns alternate; the ratio is that of the medians, and
the least and the greatest of the turns are shown.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tamis import Client, Engine
from tamis.workloads.lesub import LeSub
from tamis.workloads.slices import Workload
from tamis.workloads.web import Web
from tests.server.processes import ServerProcess, free_port

SEED = 1
JSON, LINES = "application/json", "application/x-ndjson"


class Sizes:
    """How large, and how long; `--quick` for a look."""

    def __init__(self, quick: bool) -> None:
        self.subscriptions = 20_000 if quick else 100_000
        self.restart = 50_000 if quick else 1_000_000
        self.turns = 2 if quick else 5
        self.seconds = 3.0 if quick else 10.0
        self.streams = 200 if quick else 1_000
        self.stream_seconds = 5.0 if quick else 600.0


@contextmanager
def served(workload: Workload, subscriptions: int) -> Iterator[ServerProcess]:
    """A server with so many subscriptions of a workload, each on a feed of a hundred; matched and warm."""
    with tempfile.TemporaryDirectory() as folder:
        workload.schema().save(Path(folder) / "schema.toml")
        with ServerProcess(Path(folder) / "data", schema=Path(folder) / "schema.toml") as server:
            load(server, workload, subscriptions)
            yield server


def load(server: ServerProcess, workload: Workload, subscriptions: int) -> float:
    """Seconds to load them over HTTP, until they are matched against."""
    texts = workload.subscriptions(subscriptions, SEED)["expression"].to_pylist()
    began = time.perf_counter()
    with Client(server.url, patience=600, timeout=600) as client:
        client.subscribe_many(
            {"id": f"s{n}", "expression": text, "feed": f"f{n % 100}"} for n, text in enumerate(texts)
        )
        client.match_many(workload.events(100, SEED))
    return time.perf_counter() - began


def bodies(workload: Workload, count: int, at_once: int) -> list[str]:
    events = [
        json.dumps({name: one for name, one in event.items() if one is not None})
        for event in workload.events(count, SEED).to_pylist()
    ]
    return ["\n".join(events[at : at + at_once]) for at in range(0, count, at_once)]


def measured(url: str, connections: int, seconds: float, sent: list[str], path: str = "/v1/events") -> dict[str, float]:
    media = LINES if "\n" in sent[0] else JSON
    command = [sys.executable, "-m", "benchmarks.server_load", url, path, str(connections), str(seconds), media]
    done = subprocess.run(command, input=json.dumps(sent), capture_output=True, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def rate(told: dict[str, float]) -> float:
    return told["answers"] / told["seconds"]


def shown(name: str, found: list[float], unit: str) -> str:
    return f"{name}: {statistics.median(found):,.0f} {unit} ({min(found):,.0f} to {max(found):,.0f})"


@contextmanager
def null_server() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.server_null", str(port)])
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                httpx.post(f"{url}/v1/events", json={})
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def syncs(folder: Path, seconds: float) -> float:
    """Commits of one row each, as SQLite syncs them; per second."""
    log = sqlite3.connect(folder / "syncs.db", isolation_level=None)
    log.execute("pragma journal_mode=wal")
    log.execute("pragma synchronous=full")
    log.execute("create table if not exists record(body blob)")
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        log.execute("insert into record values (zeroblob(300))")
        count += 1
    log.close()
    return count / (time.perf_counter() - began)


def single(sizes: Sizes) -> None:
    workload = LeSub(p=1.0)
    sent = bodies(workload, 2_000, 1)
    ours, theirs, disk, busy = [], [], [], []
    with served(workload, sizes.subscriptions) as server, null_server() as null:
        measured(server.url, 16, 1.0, sent)
        for _ in range(sizes.turns):
            before = processor_seconds(server)
            told = measured(server.url, 16, sizes.seconds, sent)
            ours.append(rate(told))
            busy.append(1e6 * (processor_seconds(server) - before) / told["answers"])
            theirs.append(rate(measured(null, 16, sizes.seconds, sent)))
            disk.append(syncs(server.data.parent, 1.0))
    bound = 0.8 * 16 * statistics.median(disk) / 2
    print(f"single publishes, 16 connections, LeSub p=1, {sizes.subscriptions:,} subscriptions")
    print(shown("  durable and matched", ours, "a second"))
    print(shown("  a route that only decodes", theirs, "a second"))
    print(shown("  syncs", disk, "a second"), f"; 0.8 × 16 × syncs ÷ 2 = {bound:,.0f}")
    print(shown("  the server's processor time", busy, "µs each"))
    goal = min(statistics.median(theirs) / 3, bound)
    print(f"  ratio to the lower of the two goals: {statistics.median(ours) / goal:.2f} (1 is asked)\n")


def batches(sizes: Sizes) -> None:
    workload = Web()
    sent = bodies(workload, 5_000, 100)
    engine: Engine[str] = Engine(workload.schema(), wait=True)
    texts = workload.subscriptions(sizes.subscriptions, SEED)["expression"].to_pylist()
    engine.subscribe_many((f"s{n}", text) for n, text in enumerate(texts))
    ours, theirs = [], []
    with served(workload, sizes.subscriptions) as server:
        measured(server.url, 8, 1.0, sent)
        for _ in range(sizes.turns):
            ours.append(100 * caught_up(server, lambda: measured(server.url, 8, sizes.seconds, sent)))
            theirs.append(100 * engine_rate(engine, sent, sizes.seconds / 2))
    print(f"batches of 100 JSON events, 8 connections, web workload, {sizes.subscriptions:,} subscriptions")
    print(shown("  durable and matched", ours, "events a second"))
    print(shown("  Engine on the same bytes, one thread", theirs, "events a second"))
    print(f"  ratio: {statistics.median(ours) / statistics.median(theirs):.2f} (0.5 is asked)\n")


def caught_up(server: ServerProcess, send: Callable[[], dict[str, float]]) -> float:
    """Answers a second, counted until the matcher has reached the last of them."""
    began = time.perf_counter()
    told = send()
    with Client(server.url, timeout=600, patience=600) as client:
        client.match_many([{}], on_error="skip")
    return told["answers"] / (time.perf_counter() - began - _START)


_START = 0.3
"""Seconds that the load's own process takes to start, about; they are not the server's."""


def engine_rate(engine: Engine[Any], sent: list[str], seconds: float) -> float:
    raw = [one.encode() for one in sent]
    engine.match_json(raw[0])
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        engine.match_json(raw[count % len(raw)])
        count += 1
    return count / (time.perf_counter() - began)


def blocks(sizes: Sizes) -> None:
    workload = LeSub(p=0.5)
    sent = bodies(workload, 5_000, 100)
    ours = []
    with served(workload, sizes.subscriptions) as server, Client(server.url) as client:
        measured(server.url, 8, 1.0, sent)
        for _ in range(sizes.turns):
            ours.append(100 * caught_up(server, lambda: measured(server.url, 8, sizes.seconds, sent)))
        numbers = client.stats()
    print(f"batches of 100, LeSub p=0.5, {sizes.subscriptions:,} subscriptions")
    print(shown("  durable and matched", ours, "events a second"), "(5,000 is asked of a quiet machine)")
    if numbers["block_matches"]:
        each = numbers["block_bytes"] / numbers["block_matches"]
        print(f"  {numbers['block_matches']:,.0f} matches stored, {each:.2f} bytes each (3 is asked)\n")


def streams(sizes: Sizes) -> None:
    """As many feeds as streams; each event is heard by one of them."""
    count = int(300 * sizes.stream_seconds)
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder) / "data") as server:
        with Client(server.url, timeout=600) as client:
            client.subscribe_many((f"f{n}", f"to = {n}") for n in range(sizes.streams))
        readers = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.server_streams", server.url, str(sizes.streams), str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert readers.stdout is not None
        readers.stdout.readline()
        memory, took = publish_steadily(server, sizes, count)
        told = json.loads(readers.stdout.readline())
        readers.communicate()
        disk = syncs(Path(folder), 1.0)
    print(f"{sizes.streams:,} streams, {count:,} notifications, {count / took:.0f} publishes a second (300 is asked)")
    print(f"  publish to receipt: median {told['median_ms']:.1f} ms, p99 {told['p99_ms']:.1f} ms")
    grown = slope(memory, took)
    print(f"  one sync takes {1000 / disk:.1f} ms; memory {memory[-1]:,.0f} MB, slope {grown:+.2f} MB a minute\n")


def publish_steadily(server: ServerProcess, sizes: Sizes, count: int) -> tuple[list[float], float]:
    """300 a second from eight connections; the memory as it goes, and the seconds that it took."""
    memory, began = [resident(server)], time.time()

    def publish(first: int) -> None:
        with Client(server.url) as client:
            for n in range(first, count, 8):
                time.sleep(max(0.0, began + n / 300 - time.time()))
                client.publish({"to": n * 7919 % sizes.streams, "sent": time.time()})
                if not first:
                    memory.append(resident(server))

    threads = [threading.Thread(target=publish, args=(first,)) for first in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return memory, time.time() - began


def processor_seconds(server: ServerProcess) -> float:
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(server: ServerProcess) -> float:
    pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def slope(memory: list[float], seconds: float) -> float:
    """Megabytes a minute over the latter half: what a server takes once is no growth."""
    half = memory[len(memory) // 2 :]
    return (half[-1] - half[0]) / (seconds / 2) * 60


def restart(sizes: Sizes) -> None:
    workload = LeSub(p=1.0)
    with tempfile.TemporaryDirectory() as folder:
        workload.schema().save(Path(folder) / "schema.toml")
        with ServerProcess(Path(folder) / "data", schema=Path(folder) / "schema.toml") as server:
            loading = load(server, workload, sizes.restart)
            server.kill()
            began = time.perf_counter()
            server.start()
            while httpx.get(f"{server.url}/readyz").status_code != 200:
                time.sleep(0.01)
            ready = time.perf_counter() - began
        began = time.perf_counter()
        with ServerProcess(Path(folder) / "empty"):
            bare = time.perf_counter() - began
    print(f"restart with {sizes.restart:,} subscriptions after kill -9")
    print(f"  loading over HTTP {loading:.1f} s, ready again in {ready:.1f} s: 1/{loading / ready:.0f} (1/20 is asked)")
    print(f"  a server with an empty folder starts in {bare:.1f} s\n")


ALL = {"single": single, "batches": batches, "blocks": blocks, "streams": streams, "restart": restart}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=ALL)
    arguments = parser.parse_args()
    for name, measure in ALL.items():
        if arguments.only in (None, name):
            measure(Sizes(arguments.quick))
    return 0


if __name__ == "__main__":
    sys.exit(main())
