"""Memory that runs out at one allocation: the n-th of Python's own, or the n-th of an array's data."""

from __future__ import annotations

import _testcapi
import ctypes
import gc
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["ArrayScarcity", "PythonScarcity", "Scarcity"]


class Scarcity:
    """What became of a call during which one allocation failed."""

    possible = True

    def __init__(self, at: int) -> None:
        self.at = at
        self.where = f"allocation {at}"
        self.raised: BaseException | None = None

    strange = False

    @property
    def lost(self) -> bool:
        """Whether an extension lost the error and another was raised. It may be that none was: caches do without."""
        return not isinstance(self.raised, MemoryError | None)

    def run(self, call: Callable[[], object]) -> Scarcity:
        gc.collect(0)
        gc.disable()
        try:
            self._run(call)
        except BaseException as error:  # noqa: BLE001 - kept for whoever asks
            error.__traceback__ = None
            self.raised = error
        finally:
            gc.enable()
        return self

    def _run(self, call: Callable[[], object]) -> None:
        raise NotImplementedError


class PythonScarcity(Scarcity):
    """Objects, dictionaries, frames: all that Python allocates, in whatever extension. `last` of them fail."""

    last = 1

    def _run(self, call: Callable[[], object]) -> None:
        _testcapi.set_nomemory(self.at - 1, self.at - 1 + self.last if self.last else 0)
        try:
            call()
        finally:
            _testcapi.remove_mem_hooks()


_MALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_CALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_REALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class _Allocator(ctypes.Structure):
    _fields_ = (
        ("ctx", ctypes.c_void_p),
        ("malloc", _MALLOC),
        ("calloc", _CALLOC),
        ("realloc", _REALLOC),
        ("free", ctypes.c_void_p),
    )


class _Handler(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator))


class _ArrayMemory:
    """Numpy's allocator, by numpy's own interface for exchanging it (NEP 49). One for all: arrays outlive a trial."""

    def __init__(self) -> None:
        self.count = 0
        self.fails_at = 0
        usual = self._usual().allocator
        allocator = _Allocator(
            None,
            _MALLOC(lambda _, size: None if self._fails() else usual.malloc(None, size)),
            _CALLOC(lambda _, count, size: None if self._fails() else usual.calloc(None, count, size)),
            _REALLOC(lambda _, at, size: None if self._fails() else usual.realloc(None, at, size)),
            usual.free,  # not in Python, which must not run while an error is on its way
        )
        self._handler = _Handler(b"scarce", 1, allocator)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.capsule = new(ctypes.addressof(self._handler), b"mem_handler", None)

    @staticmethod
    def use(capsule: Any) -> Any:
        """Exchange numpy's handler; the value is the one before."""
        return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(_numpy_function(_SET_HANDLER))(capsule)

    def _fails(self) -> bool:
        self.count += 1
        return self.count == self.fails_at

    def _usual(self) -> Any:
        capsule = ctypes.PYFUNCTYPE(ctypes.py_object)(_numpy_function(_GET_HANDLER))()
        return ctypes.cast(_pointer(capsule, b"mem_handler"), ctypes.POINTER(_Handler)).contents


_SET_HANDLER, _GET_HANDLER = 304, 305
"""Where numpy's table of functions has PyDataMem_SetHandler and PyDataMem_GetHandler, since 1.22."""


def _numpy_function(at: int) -> int:
    table = _pointer(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[at]  # type: ignore[return-value]


def _pointer(capsule: Any, name: bytes | None) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)  # type: ignore[no-any-return]


class ArrayScarcity(Scarcity):
    """The data of numpy's arrays."""

    memory: _ArrayMemory | None = None

    def _run(self, call: Callable[[], object]) -> None:
        kind = type(self)
        kind.memory = kind.memory or _ArrayMemory()
        before = kind.memory.use(kind.memory.capsule)
        kind.memory.count, kind.memory.fails_at = 0, self.at
        try:
            call()
        finally:
            kind.memory.use(before)
