"""The one place for Numba's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba.core import config

__all__ = ["allocating", "inlined", "kernel"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile at the first call, keep the machine code on disk, let other threads run meanwhile.

    Without Numba's memory management: a kernel works on the arrays it is given and makes none, so that no look at an
    array costs two counts of its references. It must not call what is `allocating`: the array would never be freed.
    """
    return _compiled(function, cache=True, _nrt=False)


def allocating(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile what makes arrays, with the memory management that a `kernel` lacks. Inner loops belong into kernels."""
    return _compiled(function, cache=True)


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A part of a kernel with a name of its own. A call would copy the named tuples of arrays, field by field."""
    return _compiled(function, inline="always")


def _compiled(function: Callable[_P, _R], **options: Any) -> Callable[_P, _R]:
    """Without the entry for callers in C, whom there are none of: it takes a fifth of the time that compiling does."""
    options |= {"nogil": True, "no_cfunc_wrapper": True}
    compiled: Callable[_P, _R] = numba.njit(**options)(_plain(function))
    return compiled


def _plain(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """With the JIT off, let 64-bit words wrap round as they do in machine code, without numpy's warning."""
    return np.errstate(over="ignore")(function) if config.DISABLE_JIT else function  # type: ignore[attr-defined]
