"""A lock for many readers and one writer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tamis import forks
from tamis.registry.finishing import finish

__all__ = ["ReadWriteLock"]


class ReadWriteLock:
    """Many readers or one writer; a waiting writer goes before new readers, so that none starves.

    Who reads and who writes is known by thread: what an interrupt kept a thread from giving back does not stand in its
    own way, and is given back with its next call. A thread that reads does not read or write within.
    """

    def __init__(self) -> None:
        self._mutex = threading.RLock()  # entered by itself: `Condition.__enter__` may be interrupted with it in hand
        self._condition = threading.Condition(self._mutex)
        self._readers: set[int] = set()
        self._waiting: set[int] = set()
        self._writer: int | None = None

    def after_fork(self) -> None:
        """In a child no thread is left but the one that forked."""
        me = threading.get_ident()
        self._mutex = forks.renewed(self._mutex)
        self._condition = threading.Condition(self._mutex)
        self._readers &= {me}
        self._waiting &= {me}
        self._writer = me if self._writer == me else None

    @contextmanager
    def reading(self) -> Iterator[None]:
        me = threading.get_ident()
        try:
            with self._mutex:
                if self._writer not in (None, me) or not self._waiting <= {me}:
                    self._condition.wait_for(lambda: self._writer in (None, me) and self._waiting <= {me})
                self._readers.add(me)
            yield
        finally:
            self._leave(me)

    @contextmanager
    def writing(self) -> Iterator[None]:
        me = threading.get_ident()
        try:
            with self._mutex:
                self._waiting.add(me)
                self._condition.wait_for(lambda: self._writer in (None, me) and self._readers <= {me})
                self._writer = me
                self._waiting.discard(me)
            yield
        finally:
            self._leave(me)

    def _leave(self, me: int) -> None:
        try:
            self._give_back(me)
        except BaseException:
            finish(self._give_back, me)
            raise

    def _give_back(self, me: int) -> None:
        with self._mutex:
            self._readers.discard(me)
            self._waiting.discard(me)  # a writer interrupted while it waits must not hold up the readers for ever
            if self._writer == me:
                self._writer = None
            self._condition.notify_all()
