"""What does a further Python worker on a host cost, in parts of the index?

Two runs, each a process of its own with a session on one core and on two: one worker, and two, match the same events.
Memory is the proportional set size of the workers and of the daemon they are forks of, from /proc: pages that several
map count once in the sum, whoever maps them. A further worker costs the difference of the sums; what it costs with a
tiny index is its base (interpreter, compiled kernels, buffers) and is taken off. The rest is what the index adds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tamis import spark as ts

__all__ = ["measure"]


def measure(events: str, indexes: dict[str, str]) -> dict[int, dict[str, dict[str, int]]]:
    """By the number of workers, then by the name of the index: bytes after its events were counted and listed."""
    found = {}
    for workers in (1, 2):
        command = [sys.executable, "-m", "benchmarks.spark.memory", str(workers), events, json.dumps(indexes)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[workers] = json.loads(done.stdout.splitlines()[-1])
    return found


def _main(workers: int, events: str, indexes: dict[str, str]) -> None:
    spark = ts.session(f"local[{workers}]", memory="1g")
    frame = spark.read.parquet(events).repartition(4)
    found = {}
    for name, path in indexes.items():
        ts.count_matches(frame, path).write.format("noop").mode("overwrite").save()
        found[name] = _memory(workers, path)
    print(json.dumps(found))


def _memory(workers: int, index: str) -> dict[str, int]:
    forks = _python_processes()
    busy = [pid for pid in forks if _maps(pid, index)]
    assert len(busy) == workers, f"expected {workers} workers with the index open, found {len(busy)}"
    return {
        "pss": sum(_rollup(pid)["Pss"] for pid in forks),
        "private": max(_rollup(pid)["Private_Clean"] + _rollup(pid)["Private_Dirty"] for pid in busy),
        "mapped": max(_maps(pid, index) for pid in busy),
    }


def _python_processes() -> list[int]:
    """Spark's Python daemon below this process, and its forks."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().partition("PPid:")[2].split()[0])
        except OSError:
            continue  # ended meanwhile
    mine = {os.getpid()}
    for _ in range(8):
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in mine - {os.getpid()}}
    return [pid for pid, command in commands.items() if b"spark.daemon" in command]


def _rollup(pid: int) -> dict[str, int]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}


def _maps(pid: int, index: str) -> int:
    """Bytes of the index's segment files that the process has in memory."""
    total, ours = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0]:
            ours = f"{index}/segments/" in line
        elif ours and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
