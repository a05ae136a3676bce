"""`kill -9` in the midst of a checkpoint, a merge and a close: what returned is there, and nothing else is.

The process says where it stands before it is killed, so no time is spent on guessing (`killed_writers.py`).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis import Engine
from tests.faults.folder_histories import items, leave
from tests.faults.killed_writers import PHASES, WRITES, states

ROOT = Path(__file__).parents[2]
SEED = 20261118

Server = subprocess.Popen[str]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    command = [sys.executable, "-m", "tests.faults.killed_writers"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def kill_at(server: Server, path: Path, phase: str, call: int) -> tuple[int, bool]:
    """How many writes had returned, and whether the writer came to that call at all."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{path} {phase} {call}\n")
    server.stdin.flush()
    process, kept, reached = 0, 0, False
    for line in server.stdout:
        word, _, number = line.strip().partition(" ")
        if word == "pid":
            process = int(number)
        elif word == "kept":
            kept = int(number)
        elif word == "here":
            reached = True
            os.kill(process, signal.SIGKILL)
        elif word == "ended":
            break
    return kept, reached


def look(path: Path, kept: int) -> None:
    with Engine.open(path) as engine:
        assert items(engine) == states()[kept]
        engine.check()
        engine.subscribe("after", "v = 1")
        leave(engine)
    engine = Engine.open(path)
    assert items(engine) == {**states()[kept], "after": "v = 1"}
    leave(engine)
    shutil.rmtree(path)


def most_calls(phase: str) -> int:
    return 3 if phase == "merge" else 40


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_a_kill_loses_nothing_that_returned(server: Server, tmp_path: Path, phase: str) -> None:
    draw = random.Random(SEED)
    for call in draw.sample(range(1, most_calls(phase) // 2 + 2), 3 if phase != "merge" else 2):
        kept, reached = kill_at(server, tmp_path / "engine", phase, call)
        assert kept >= len(WRITES)
        assert reached
        look(tmp_path / "engine", kept)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("phase", PHASES)
def test_a_kill_at_every_call(server: Server, tmp_path: Path, phase: str) -> None:
    kills = 0
    for call in range(1, most_calls(phase) + 1):
        kept, reached = kill_at(server, tmp_path / "engine", phase, call)
        look(tmp_path / "engine", kept)
        kills += reached
    print(f"{phase}: {kills} kills")

    assert kills == most_calls(phase) if phase == "merge" else 10 < kills < most_calls(phase)
