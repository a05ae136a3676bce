"""The service stopped at any write of a history: nothing that was answered is lost, and the same is found."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.service.simulation import Sent, Stopped, Stopper, World, check, steps

SEEDS = range(int(os.environ.get("TAMIS_SEEDS", "8")))
SCRIPT = 7
"""The seed of the history that is stopped at each of its writes."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: a simulated stop asks nothing of the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as found:
        yield Path(found)


def _run(world: World, count: int, stops: random.Random) -> int:
    """A history, stopped now and then; how often."""
    stopped = 0
    _reopen(world, stops)
    for step in steps(world, count):
        try:
            step(world)
        except Stopped:
            stopped += 1
            _reopen(world, stops)
    return stopped


def _reopen(world: World, stops: random.Random) -> None:
    """Recovery may be stopped as well."""
    while True:
        world.abandon()
        world.stopper = Stopper(stops.randrange(1, 200))
        try:
            world.open()
            world.again()
        except Stopped:
            continue
        return


def _history(folder: Path, seed: int, count: int) -> int:
    stops = random.Random(seed)
    world = World(folder, seed)
    stopped = _run(world, count, stops)
    world.stopper.at = None
    world.finish()
    check(world)
    for names in (("derived.db",), ("checkpoint",), ("handles.bin",), ("derived.db", "checkpoint", "handles.bin"), ()):
        world.abandon()
        for name in names:
            for path in folder.glob(f"{name}*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        world.stopper = Stopper()
        world.open()
        world.finish()
        check(world)
    assert world.service is not None
    world.service.close()
    return stopped


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_history_that_is_stopped_at_random(seed: int, folder: Path) -> None:
    print("seed", seed)

    _history(folder / "service", seed, 60)


@pytest.mark.long
@pytest.mark.parametrize("hundred", range(10, 40))
def test_many_random_histories_that_are_stopped_at_random(hundred: int, folder: Path) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        print("seed", seed)
        _history(folder / f"service {seed}", seed, 120)
        shutil.rmtree(folder / f"service {seed}")


def test_histories_are_stopped_indeed(folder: Path) -> None:
    assert _history(folder / "service", 3, 60) > 0


# -- each write of one history ------------------------------------------------------------------------------------


def _left_at_each_write(folder: Path, count: int) -> list[tuple[Path, list[Sent]]]:
    """What the end of the process would leave before each write: the files as they are then, and what was sent."""
    left: list[tuple[Path, list[Sent]]] = []
    world = World(folder / "service", SCRIPT)

    def seen(what: str) -> None:
        at = folder / f"left {len(left)}"
        shutil.copytree(folder / "service", at, ignore=shutil.ignore_patterns("*-shm"))
        left.append((at, [replace(sent) for sent in world.sent]))

    world.stopper = Stopper(seen=seen)
    world.open()
    for step in steps(world, count):
        step(world)
    world.abandon()
    return left


def _go_on(at: Path, sent: list[Sent], number: int) -> None:
    world = World(at, SCRIPT + number, sent=sent)
    world.open()
    world.again()
    world.finish()
    check(world)
    world.abandon()


def test_one_history_stopped_at_each_of_its_writes(folder: Path) -> None:
    left = _left_at_each_write(folder, 24)

    for number, (at, sent) in enumerate(left):
        print("write", number, "of", len(left))
        _go_on(at, sent, number)
        shutil.rmtree(at)


@pytest.mark.long
def test_a_long_history_stopped_at_each_of_its_writes(folder: Path) -> None:
    left = _left_at_each_write(folder, 300)

    for number, (at, sent) in enumerate(left):
        print("write", number, "of", len(left))
        _go_on(at, sent, number)
        shutil.rmtree(at)
