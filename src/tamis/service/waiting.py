"""Who waits for what: readers of feeds for news, writers for a position to be reached.

A watch is there before its owner's first read, so nothing falls between the two.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

import numpy as np
import numpy.typing as npt

__all__ = ["Waiting"]

_log = logging.getLogger("tamis.service")


class _Watch:
    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close

    def close(self) -> None:
        self._close()


class Waiting:
    """Wakes are called outside of the lock, on the thread that tells the news."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._feeds: dict[int, dict[int, Callable[[], None]]] = {}
        self._positions: list[tuple[int, int]] = []
        self._by_number: dict[int, Callable[[], None]] = {}
        self._numbers = count()

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._feeds.values())) + len(self._by_number)

    def watch(self, feed: int, wake: Callable[[], None]) -> _Watch:
        number = next(self._numbers)
        with self._lock:
            self._feeds.setdefault(feed, {})[number] = wake
        return _Watch(lambda: self._forget(feed, number))

    def _forget(self, feed: int, number: int) -> None:
        with self._lock:
            if feed in self._feeds:
                self._feeds[feed].pop(number, None)
                if not self._feeds[feed]:
                    del self._feeds[feed]

    def at(self, position: int, reached: Callable[[], int], wake: Callable[[], None]) -> _Watch:
        """Once, when a position is reached; perhaps now."""
        number = next(self._numbers)
        with self._lock:
            there = reached() >= position
            if not there:
                heappush(self._positions, (position, number))
                self._by_number[number] = wake
        if there:
            wake()
        return _Watch(lambda: self._drop(number))

    def _drop(self, number: int) -> None:
        with self._lock:
            self._by_number.pop(number, None)
            if len(self._positions) > 2 * len(self._by_number) + 64:  # those who gave up
                self._positions = sorted(one for one in self._positions if one[1] in self._by_number)

    def told(self, feeds: npt.NDArray[np.int64], reached: int) -> None:
        """These feeds have news, and all up to there was reached."""
        wakes: list[Callable[[], None]] = []
        with self._lock:
            if self._feeds and len(feeds):
                watched = np.fromiter(self._feeds, np.int64, len(self._feeds))
                for feed in watched[np.isin(watched, feeds)].tolist():
                    wakes += self._feeds[feed].values()
            while self._positions and self._positions[0][0] <= reached:
                wake = self._by_number.pop(heappop(self._positions)[1], None)
                if wake is not None:
                    wakes.append(wake)
        for wake in wakes:
            try:
                wake()
            except Exception:  # noqa: BLE001 - one who cannot be woken is no reason not to wake the next
                _log.exception("there is news, but who waits for it could not be woken")
