"""A call during which an allocation fails took effect wholly or not at all; memory and folder agree.

The n-th allocation of Python's fails by CPython's own hook for it (`_testcapi.set_nomemory`), the n-th of an array's
data by numpy's (NEP 49). Where a Python comes without `_testcapi` this file fails, and is not passed over: there
`test_interruptions` still raises MemoryError before any bytecode.

Numba's own code, which takes the arguments of a kernel apart, does not look whether each small allocation of Python's
succeeds: there the process may crash, or the error arrive as a SystemError. Such trials are counted. What they leave in
a folder is what `kill -9` leaves.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import scarcity

ROOT = Path(__file__).parents[2]


def run(kind: str, most: int, path: Path) -> None:
    script = [sys.executable, "-m", "tests.faults.starved_calls", kind, str(most), path]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout}{done.stderr[-3000:]}"
    tried, crashed, wrong, *listed = done.stdout.split(maxsplit=3)
    assert wrong == "0", "".join(listed)
    assert int(tried) > most
    assert int(crashed) <= (int(tried) // 5 if kind == "python" else 0), done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["python", "arrays"])
def test_a_call_that_lacks_memory_is_whole_or_not_at_all(kind: str, tmp_path: Path) -> None:
    run(kind, 6, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["python", "arrays"])
def test_calls_that_lack_memory_for_long(kind: str, tmp_path: Path) -> None:
    run(kind, 400, tmp_path)


def test_the_hooks_fail_the_allocation_they_are_asked_for() -> None:
    arrays = [scarcity.ArrayScarcity(at).run(lambda: bytes(scarcity.np.zeros(1000))) for at in (1, 2)]
    objects = [scarcity.PythonScarcity(at).run(lambda: [object() for _ in range(5)]) for at in (1, 1000)]

    assert [isinstance(one.raised, MemoryError) for one in (*arrays, *objects)] == [True, False, True, False]
