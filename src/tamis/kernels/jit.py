"""The one place for Numba's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

__all__ = ["inlined", "kernel"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile at the first call, keep the machine code on disk, let other threads run meanwhile."""
    compiled: Callable[_P, _R] = numba.njit(cache=True, nogil=True)(function)
    return compiled


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A part of a kernel with a name of its own. A call would copy the named tuples of arrays, field by field."""
    part: Callable[_P, _R] = numba.njit(inline="always", nogil=True)(function)
    return part
