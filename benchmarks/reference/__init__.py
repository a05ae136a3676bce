"""Straightforward C++ versions of three algorithms, to measure ours against in the same run. Never needed at run time.

    result = run("list-counting", workload)      # or "bit-counting", "quarantining"
    result.match_s, result.counts

A source is compiled when first asked for, by `c++ -O3 -march=native`, into `build/reference/`; CXX names another
compiler.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["MISSING", "OPERATORS", "REFERENCES", "EncodedWorkload", "ReferenceResult", "compiler", "run"]

REFERENCES = ("list-counting", "bit-counting", "quarantining")
OPERATORS = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5, "is present": 6}
MISSING = np.iinfo(np.int32).min
FLAGS = ("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC")

_HERE = Path(__file__).parent
_BUILD = _HERE.parent.parent / "build" / "reference"


class EncodedWorkload(NamedTuple):
    """Distinct predicates `attribute op constant`; subscription s uses `pids[starts[s] : starts[s + 1]]`."""

    attributes: npt.NDArray[np.int32]
    operators: npt.NDArray[np.int8]
    constants: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    pids: npt.NDArray[np.int32]
    values: npt.NDArray[np.int32]
    """Events × attributes, MISSING where an event has none."""


@dataclass(frozen=True)
class ReferenceResult:
    """Seconds to build and to match all events; matches per event and the sum of their numbers, to compare answers."""

    build_s: float
    match_s: float
    counts: npt.NDArray[np.int64]
    checksums: npt.NDArray[np.int64]


_NUMBERS = ("predicates", "subscriptions", "events", "attributes")
_POINTERS = ("attribute", "op", "constant", "starts", "pids", "values", "counts", "checksum", "seconds")


class _Workload(ctypes.Structure):
    """`struct Workload` of common.hpp."""

    _fields_ = [(name, ctypes.c_int64) for name in _NUMBERS] + [(name, ctypes.c_void_p) for name in _POINTERS]


def compiler() -> str | None:
    """The C++ compiler, if the machine has one."""
    return shutil.which(os.environ.get("CXX", "c++"))


def run(name: str, workload: EncodedWorkload) -> ReferenceResult:
    """Build the structure and match every event, on one thread."""
    events = len(workload.values)
    counts, checksums, seconds = np.zeros(events, np.int64), np.zeros(events, np.int64), np.zeros(2)
    inputs = [np.ascontiguousarray(array) for array in workload]
    sizes = (len(workload.attributes), len(workload.starts) - 1, events, workload.values.shape[1])
    pointers = [array.ctypes.data for array in (*inputs, counts, checksums, seconds)]
    ctypes.CDLL(str(_compiled(name))).run(ctypes.byref(_Workload(*sizes, *pointers)))
    return ReferenceResult(float(seconds[0]), float(seconds[1]), counts, checksums)


def _compiled(name: str) -> Path:
    source = _HERE / f"{name.replace('-', '_')}.cpp"
    target = _BUILD / f"{source.stem}.so"
    newest = max(source.stat().st_mtime, (_HERE / "common.hpp").stat().st_mtime)
    if not target.exists() or target.stat().st_mtime < newest:
        found = compiler()
        if found is None:
            raise RuntimeError("expected a C++ compiler called c++ or named by CXX, found none")
        _BUILD.mkdir(parents=True, exist_ok=True)
        fresh = target.with_suffix(f".{os.getpid()}")
        subprocess.run([found, *FLAGS, "-o", str(fresh), str(source)], check=True)
        fresh.replace(target)
    return target
