"""The one place for Numba's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

__all__ = ["kernel"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile at the first call, keep the machine code on disk, let other threads run meanwhile."""
    compiled: Callable[_P, _R] = numba.njit(cache=True, nogil=True)(function)
    return compiled
