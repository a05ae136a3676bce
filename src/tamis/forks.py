"""What a fork leaves behind, put in order in the child.

A fork copies memory as it is and takes one thread along. Locks that other threads held stay locked in the child for
ever, and what they were in the midst of stays half done. So whoever has locks, files or steps of more than one bytecode
says so here (`tell`), and its `after_fork` is called in the child before anything else runs there. Nobody waits for a
lock of ours: a step that may be done twice with the effect of once is seen through by the child.

Two things cannot be put in order afterwards, and the fork waits for them, for a while: a compilation (Numba and LLVM
have state of their own) and the moment in which a folder's lock is taken.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
import weakref
from typing import Any, Protocol

__all__ = ["Forked", "never_free", "opening", "renewed", "tell"]

_LONGEST_WAIT_SECONDS = 60.0
"""For a compilation; the largest kernel takes a third of it."""
_MOST_TIMES = 100

opening = threading.RLock()
"""Held while a file is opened that a child must not keep."""


class Forked(Protocol):
    """What must be told of a fork."""

    def after_fork(self) -> None:
        """Called in the child: renew locks, see half-done steps through, let go of what is the parent's. Called again
        if it is interrupted. The thread that forked may be in the midst of a call, and its locks are still its own."""


_known: dict[int, weakref.ref[Forked]] = {}  # no callbacks: an interrupt that comes in one is lost
_numbers = itertools.count()
_purge_at = [64]
_held: list[Any] = []  # between the two sides of a fork
_registered: list[bool] = []


def tell(one: Forked) -> None:
    """From now on, as long as it lives, it is told of forks."""
    if not _registered:
        os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_after_in_child)
        _registered.append(True)
    if len(_known) >= _purge_at[0]:
        for number, told in list(_known.items()):
            if told() is None:
                _known.pop(number, None)
        _purge_at[0] = 2 * len(_known) + 64
    _known[next(_numbers)] = weakref.ref(one)


def renewed(lock: Any) -> Any:
    """In the child: the lock (an RLock), if nobody or the thread that forked has it, else a new one."""
    if lock.acquire(blocking=False):
        lock.release()
        return lock
    return threading.RLock()


def never_free(one: object) -> None:
    """In the child: what is connected to the parent's files, threads or servers is not taken down, not even at the end
    of the process. DuckDB would crash, and a server would be told good-bye in the parent's name."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


def _hold() -> None:
    for lock in (opening, *(one._lock for one in _compilers())):
        if lock.acquire(timeout=_LONGEST_WAIT_SECONDS):
            _held.append(lock)


def _compilers() -> list[Any]:
    """Numba's lock and LLVM's, if loaded. Each has a lock inside, the only one that can be waited for with a bound."""
    numba = sys.modules.get("numba.core.compiler_lock")
    llvm = sys.modules.get("llvmlite.binding.ffi")
    found = [getattr(numba, "global_compiler_lock", None), getattr(getattr(llvm, "lib", None), "_lock", None)]
    return [one for one in found if hasattr(one, "_lock")]


def _let_go() -> None:
    while _held:
        _held.pop().release()


def _after_in_child() -> None:
    late: BaseException | None = None
    for one in [one for told in list(_known.values()) if (one := told()) is not None]:
        for _ in range(_MOST_TIMES):
            try:
                one.after_fork()
                break
            except BaseException as error:  # noqa: BLE001 - raised below
                late = error
    _let_go()
    for compiler in _compilers():
        compiler._lock = renewed(compiler._lock)
    if late is not None:
        raise late
