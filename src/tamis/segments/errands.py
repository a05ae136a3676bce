"""Calls in threads of their own, by `_thread` alone.

An errand is done by whoever comes first: if the system starts no thread, or one dies before it begins, the caller does
it. An interrupted caller leaves at once, without its threads.

The standard library's `Thread.start` waits for its thread with a condition in its own hands: an interrupt there leaves
the thread waiting for ever, and with it whoever joins it, the end of the process too, or becomes a `RuntimeError`. Its
pools start threads so.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Sequence

__all__ = ["Errand", "side_by_side"]


class Errand:
    """A call that is made once."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._turn = _thread.allocate_lock()
        self._done = _thread.allocate_lock()
        self._done.acquire()
        self._error: BaseException | None = None

    def start(self) -> bool:
        """In a thread of its own; False if the system has none for it."""
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:
            return False
        return True

    def _run(self) -> None:
        try:
            self.do()
        except BaseException as error:  # noqa: BLE001 - raised by `wait`
            self._error = error
            self._done.release()

    def do(self) -> None:
        """In this thread, unless another one has begun."""
        if self._turn.acquire(blocking=False):
            self._call()
            self._done.release()

    def wait(self) -> None:
        """Until it is done; an error that it raised in its own thread is raised here."""
        with self._done:
            if self._error is not None:
                raise self._error


def side_by_side(calls: Sequence[Callable[[], object]]) -> None:
    """Each call once, in threads of their own, the last in this one; the first error is raised."""
    errands = [Errand(call) for call in calls]
    for errand in errands[:-1]:
        errand.start()
    for errand in reversed(errands):
        errand.do()
    for errand in errands:
        errand.wait()
