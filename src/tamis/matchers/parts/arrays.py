"""Arrays that grow: capacity doubles, so that n appends cost O(n) copies in all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Ints", "Scratches", "bytes_of", "grown"]

Ints = npt.NDArray[np.int32]
_T = TypeVar("_T")


def grown(array: npt.NDArray[Any], size: int, fill: int = 0) -> npt.NDArray[Any]:
    """The array itself if it has room for `size` items along its first axis, else a longer copy."""
    if size <= len(array):
        return array
    longer = np.full((max(size, 2 * len(array), 16), *array.shape[1:]), fill, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def bytes_of(arrays: Iterable[npt.NDArray[Any]]) -> int:
    return sum(array.nbytes for array in arrays)


class Scratches(Generic[_T]):
    """Work space that readers borrow: each has its own while it runs, nobody allocates per event.

    `list.pop` and `list.append` are atomic, which is all the locking that is needed.
    """

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._idle: list[_T] = []

    def borrow(self) -> _T:
        try:
            return self._idle.pop()
        except IndexError:
            return self._make()

    def give_back(self, scratch: _T) -> None:
        self._idle.append(scratch)

    def idle(self) -> list[_T]:
        """All there are, to a writer: it runs alone, so that none is lent out."""
        return self._idle

    def discard(self) -> None:
        """After growth: what was sized for the old structure is made anew when next asked for."""
        self._idle = []
