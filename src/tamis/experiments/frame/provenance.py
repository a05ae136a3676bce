"""Where numbers come from: machine, commit, seed, and how busy the machine was."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tamis.experiments.frame.experiment import SEED

__all__ = ["Provenance", "here", "load_average"]


@dataclass(frozen=True)
class Provenance:
    """Rows of one file share it; rows that do not are not mixed."""

    experiment: str
    scale: str
    seed: int
    commit: str
    machine: str
    python: str


def here(experiment: str, scale: str) -> Provenance:
    return Provenance(experiment, scale, SEED, _commit(), _machine(), platform.python_version())


def load_average() -> float:
    """Processes that ran or wanted to, over the last minute."""
    return round(os.getloadavg()[0], 2)


def _commit() -> str:
    """The commit that this package was checked out at, marked if its sources differ from it; else its version."""
    folder = Path(__file__).parents[2]
    try:
        head = _git(folder, "rev-parse", "--short", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--", str(folder))
    except (OSError, subprocess.CalledProcessError):
        from tamis import __version__

        return f"version {__version__}"
    return f"{head} with changes" if changed else head


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
