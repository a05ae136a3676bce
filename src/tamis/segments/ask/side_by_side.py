"""Calls side by side, each in a thread of its own.

Nothing here can wait for what never comes. Whoever comes first does a call: a thread that the system does not start, or
that dies before it begins, leaves its call to the caller. An interrupted caller leaves at once, without its threads.
The standard library's pools have locks and queues of their own that an interrupt can leave locked, for the whole
process; the plain `_thread` has none.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Sequence
from contextlib import suppress

__all__ = ["side_by_side"]


class _Errand:
    """A call that is made once, by whoever comes first."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._turn = _thread.allocate_lock()
        self._done = _thread.allocate_lock()
        self._done.acquire()
        self._error: BaseException | None = None

    def run(self) -> None:
        """In a thread: an error waits for whoever asks."""
        try:
            self.do()
        except BaseException as error:  # noqa: BLE001 - raised by `wait`
            self._error = error
            self._done.release()

    def do(self) -> None:
        if self._turn.acquire(blocking=False):
            self._call()
            self._done.release()

    def wait(self) -> None:
        with self._done:
            if self._error is not None:
                raise self._error


def side_by_side(calls: Sequence[Callable[[], object]]) -> None:
    """Each call once, and an error if one of them raised it; the last call is this thread's."""
    errands = [_Errand(call) for call in calls]
    with suppress(RuntimeError):  # the system has no thread for us: then this one does it all
        for errand in errands[:-1]:
            _thread.start_new_thread(errand.run, ())
    for errand in reversed(errands):
        errand.do()
    for errand in errands:
        errand.wait()
