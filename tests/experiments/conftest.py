"""Each experiment is run once at test scale, whichever worker asks first; the others find its points there."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from tamis.experiments import find_experiment
from tamis.experiments.frame.experiment import Rows
from tamis.experiments.frame.results import read_results
from tamis.experiments.frame.running import run

Ran = Callable[[str], tuple[Rows, str, Path]]


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Name → its rows at test scale, what it said, and where it put its files."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "experiments"
    folder.mkdir(exist_ok=True)
    done: dict[str, tuple[Rows, str, Path]] = {}

    def once(name: str) -> tuple[Rows, str, Path]:
        if name not in done:
            with (folder / f"{name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                said = run(find_experiment(name), "test", folder)
            done[name] = read_results(folder / f"{name}.csv")[1], said, folder
        return done[name]

    return once
