"""A bounded memory of what was read last: the oldest go when there is no more room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Kept"]

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Kept(Generic[_K, _V]):
    """Values by key, up to so many bytes in all; one that is larger than that is not kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[_K, tuple[_V, int]] = OrderedDict()
        self._lock = threading.Lock()
        self.bytes = 0

    def get(self, key: _K) -> _V | None:
        with self._lock:
            found = self._held.get(key)
            if found is None:
                return None
            self._held.move_to_end(key)
            return found[0]

    def put(self, key: _K, value: _V, size: int) -> None:
        with self._lock:
            old = self._held.pop(key, None)
            self.bytes -= old[1] if old is not None else 0
            if size > self._most:
                return
            self._held[key] = value, size
            self.bytes += size
            while self.bytes > self._most:
                _, (_, gone) = self._held.popitem(last=False)
                self.bytes -= gone
