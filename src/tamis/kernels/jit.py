"""The one place for Numba's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba.core import config

__all__ = ["borrowing", "inlined", "kernel"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile at the first call, keep the machine code on disk, let other threads run meanwhile."""
    compiled: Callable[_P, _R] = numba.njit(cache=True, nogil=True)(_plain(function))
    return compiled


def borrowing(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A kernel that makes no arrays, and so need not count who holds those it is given.

    Else each hand-over to a part that is not inlined, and each look at a field of a named tuple inside a loop, may cost
    two locked instructions: reading texts took three times as long.
    """
    options: dict[str, Any] = {"_nrt": False}
    compiled: Callable[_P, _R] = numba.njit(cache=True, nogil=True, **options)(_plain(function))
    return compiled


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A part of a kernel with a name of its own. A call would copy the named tuples of arrays, field by field."""
    part: Callable[_P, _R] = numba.njit(inline="always", nogil=True)(_plain(function))
    return part


def _plain(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """With the JIT off, let 64-bit words wrap round as they do in machine code, without numpy's warning."""
    return np.errstate(over="ignore")(function) if config.DISABLE_JIT else function  # type: ignore[attr-defined]
