"""Rows on their way in or out of a matcher, and who uses a predicate for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.matchers.parts.arrays import Ints, grown
from tamis.model import Predicate

if TYPE_CHECKING:
    from tamis.matchers.parts.roster import Roster

__all__ = ["Change", "Uses"]


class Change(NamedTuple):
    """Conjunctions that come or go together. Row `rows[i]` uses `pids[starts[i] : starts[i + 1]]`."""

    rows: Ints
    starts: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]
    pids: Ints
    changed: list[tuple[int, Predicate]]
    """Predicates that are new, or that nobody will use any more."""

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.diff(self.starts)

    @property
    def members(self) -> Ints:
        """The row of each predicate, parallel to `pids`."""
        return np.repeat(self.rows, self.sizes)

    def only(self, kept: npt.NDArray[np.bool_]) -> Change:
        """All of the rows with some of their predicates."""
        starts = np.zeros(len(self.starts), np.int64)
        np.cumsum(kept, out=(sums := np.zeros(len(kept) + 1, np.int64))[1:])
        starts[:] = sums[self.starts]
        return self._replace(starts=starts, slots=self.slots[kept], pids=self.pids[kept], changed=[])

    def leading(self, counts: npt.NDArray[np.int64]) -> Change:
        """All of the rows with the first `counts[i]` of their predicates."""
        places = np.arange(len(self.pids)) - np.repeat(self.starts[:-1], self.sizes)
        return self.only(places < np.repeat(counts, self.sizes))

    def rows_where(self, kept: npt.NDArray[np.bool_]) -> Change:
        """Some of the rows with all of their predicates."""
        flat = np.repeat(kept, self.sizes)
        starts = np.zeros(int(kept.sum()) + 1, np.int64)
        np.cumsum(self.sizes[kept], out=starts[1:])
        return Change(self.rows[kept], starts, self.slots[flat], self.pids[flat], [])


class Uses:
    """How often each predicate serves one purpose of an algorithm, to know when it starts and stops to."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._counts = np.empty(0, np.int64)

    def add(self, pids: Ints) -> list[tuple[int, Predicate]]:
        """Count these uses; the predicates used for the first time."""
        self._counts = grown(self._counts, self._roster.predicate_count)
        used, times = np.unique(pids, return_counts=True)
        fresh = used[self._counts[used] == 0]
        self._counts[used] += times
        return [(int(pid), self._roster.predicate(int(pid))) for pid in fresh]

    def remove(self, pids: Ints) -> list[tuple[int, Predicate]]:
        """Take these uses back; the predicates not used any more."""
        used, times = np.unique(pids, return_counts=True)
        self._counts[used] -= times
        last = used[self._counts[used] == 0]
        return [(int(pid), self._roster.predicate(int(pid))) for pid in last]
