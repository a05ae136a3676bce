"""Ctrl-C at any moment raises KeyboardInterrupt and nothing else: the process lives, and later answers are right.

A process of its own is interrupted by a timer some hundred times in each kind of call. Where Python code runs inside
compiled code that does not expect it to raise, such a process dies of a signal (decision 0008).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTS = 200


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["adaptive", "tree", "rapid", "aguilera", "counting-matrix"])
def test_interrupts_do_no_harm(algorithm: str) -> None:
    script = Path(__file__).with_name("interrupted_calls.py")

    done = subprocess.run([sys.executable, script, algorithm, str(INTERRUPTS)], capture_output=True, text=True)

    assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout}{done.stderr[-2000:]}"
    caught = dict(line.split() for line in done.stdout.splitlines())
    assert caught.keys() == {"match_many", "two_threads", "count_many", "match", "build"}
    assert all(int(count) > INTERRUPTS // 2 for count in caught.values()), caught
