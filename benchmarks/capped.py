"""Searches in a PB+tree by a process whose memory is capped: its own, and the pages of the file that it reads (Linux).

The cap is a control group made below the one we are in, where the system lets us make one; it is gone afterwards. The
searches run in a process of their own, which is in the group from its first instruction.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.cold import private_bytes

__all__ = ["Group", "capped_group", "searched"]

_GROUPS = Path("/sys/fs/cgroup")


class Group(NamedTuple):
    """A control group with a limit; `peak` is the file that says the most memory it ever had."""

    folder: Path
    peak: str

    def most_bytes(self) -> int:
        return int((self.folder / self.peak).read_text())


@contextmanager
def capped_group(most_bytes: int) -> Iterator[Group | None]:
    """A group whose processes have at most so much memory, page cache included; None where none can be made."""
    group = _made(most_bytes)
    try:
        yield group
    finally:
        if group is not None:
            group.folder.rmdir()


def _made(most_bytes: int) -> Group | None:
    for parent, limit, peak in _parents():
        folder = parent / f"tamis-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            with (folder / limit).open("r+") as file:  # it must be there: a file of ours would be none of the kernel's
                file.write(str(most_bytes))
            return Group(folder, peak)
        except OSError:
            folder.rmdir()
    return None


def _parents() -> Iterator[tuple[Path, str, str]]:
    """The groups we are in, in the first version of control groups and in the second."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield _GROUPS / "memory" / path.lstrip("/"), "memory.limit_in_bytes", "memory.max_usage_in_bytes"
        elif not controllers:
            yield _GROUPS / path.lstrip("/"), "memory.max", "memory.peak"


def searched(home: Path, below: int, count: int, group: Group | None = None) -> dict[str, Any]:
    """What `main` prints of so many searches for whole numbers below a bound, from a process in the group."""

    def join() -> None:
        if group is not None:
            (group.folder / "cgroup.procs").write_text("0")  # 0 is whoever writes

    command = [sys.executable, "-m", "benchmarks.capped", str(home), str(below), str(count)]
    done = subprocess.run(command, preexec_fn=join, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _pages_from_disk() -> int:
    """Pages that this process had to wait for the disk for, so far."""
    return int(Path("/proc/self/io").read_text().split("\nread_bytes: ")[1].split()[0]) // 4096


def main() -> None:
    import numpy as np

    from tamis.indexes.pb_tree import PbTree
    from tamis.model import Kind, Number, Value

    home, below, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    index = PbTree(Number(), home)
    probes = [Value(Kind.NUMBER, one) for one in np.random.default_rng(count).integers(below, size=count + 1).tolist()]
    index.search(probes.pop())  # compiles
    rows = []
    for value in probes:
        read, visited = _pages_from_disk(), index.visited
        found = len(index.search(value))
        rows.append((found, _pages_from_disk() - read, index.visited - visited))
    index.close()
    print(json.dumps({"searches": rows, "own_bytes": private_bytes()}))


if __name__ == "__main__":
    main()
