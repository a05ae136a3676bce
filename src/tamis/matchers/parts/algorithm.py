"""What algorithms over a roster share, so that each file is its paper's idea and little else.

An algorithm says what to do with rows that come and go, and which rows an event's predicates satisfy one by one; keys,
recycling, multi-valued events, batches and counters are the same for all and stand here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from tamis.errors import OptionError, TamisError
from tamis.indexes.base import IndexMaker
from tamis.matchers.base import Entry, Keys, MatcherStats, Rows, Work
from tamis.matchers.parts.arrays import Ints
from tamis.matchers.parts.changes import Change
from tamis.matchers.parts.front import Front
from tamis.matchers.parts.roster import Roster
from tamis.matchers.parts.sorted_clusters import SortedClusters
from tamis.model import Event, Schema

__all__ = ["Algorithm", "CountingAlgorithm", "index_maker"]


class Algorithm(ABC):
    """A `Matcher` whose subscriptions are rows of a roster."""

    def __init__(self, schema: Schema) -> None:
        self._roster = Roster(schema)
        self._work = Work()

    @abstractmethod
    def _insert(self, change: Change) -> None:
        """Take rows in; on an error leave nothing behind."""

    @abstractmethod
    def _delete(self, change: Change) -> None:
        """Let rows go."""

    @abstractmethod
    def _find(self, event: Event) -> Ints:
        """Rows whose every predicate holds for some value, each once."""

    def _details(self) -> Mapping[str, int | float | str]:
        return {}

    def _bytes(self) -> int:
        return 0

    @abstractmethod
    def _check(self) -> None:
        """The invariants of what the algorithm keeps beside the roster."""

    def add(self, entries: Sequence[Entry]) -> None:
        change = self._roster.add(entries)
        try:
            self._insert(change)
        except BaseException:
            keys = [key for key, _ in entries]
            self._roster.release(keys, self._roster.leaving(keys))
            raise

    def remove(self, keys: Sequence[int]) -> None:
        change = self._roster.leaving(keys)
        self._delete(change)
        self._roster.release(keys, change)

    def match(self, event: Event) -> Sequence[int]:
        self._work.events += 1
        keys = self._roster.answer(self._find(event), event, self._work)
        return cast(Sequence[int], keys)  # an array is one, but for its type

    def candidates(self, event: Event) -> npt.NDArray[np.int64]:
        """Keys of the rows whose every predicate holds for some value; the caller looks at the rest."""
        return self._roster.keys[self._find(event)]

    def match_many(self, events: Sequence[Event]) -> Rows[Keys]:
        return Rows.of(self.match(event) for event in events)

    def stats(self) -> MatcherStats:
        return MatcherStats(
            subscriptions=len(self._roster.subscriptions),
            conjunctions=self._roster.conjunction_count,
            bytes=self._roster.bytes_used() + self._bytes(),
            work=MatcherStats.work_of(self._work),
            details=self._details(),
        )

    def check(self) -> None:
        self._roster.check()
        self._check()


class CountingAlgorithm(Algorithm):
    """Two stages: which distinct predicates hold, then which rows have all of theirs among them."""

    def __init__(self, schema: Schema, index: str | None = None) -> None:
        super().__init__(schema)
        self._front = Front(schema, index_maker(index))

    @abstractmethod
    def _count(self, satisfied: Ints) -> Ints:
        """Rows all of whose predicates are among the satisfied."""

    @abstractmethod
    def _join(self, change: Change) -> None:
        """Associate rows with their predicates; on an error leave nothing behind."""

    @abstractmethod
    def _leave(self, change: Change) -> None: ...

    def _insert(self, change: Change) -> None:
        self._front.insert(change.changed)
        try:
            self._join(change)
        except TamisError:
            self._front.delete(change.changed)
            raise

    def _delete(self, change: Change) -> None:
        self._leave(change)
        self._front.delete(change.changed)

    def _find(self, event: Event) -> Ints:
        return self._count(self.satisfied(event))

    def satisfied(self, event: Event) -> Ints:
        """The first stage alone: the distinct predicates that hold."""
        return self._front.search(event)

    def stats(self) -> MatcherStats:
        self._work.predicates_evaluated = self._front.evaluated()
        return super().stats()

    def _details(self) -> Mapping[str, int | float | str]:
        return {"predicates": len(self._roster.predicates)}

    def _check(self) -> None:
        self._front.check()


def index_maker(name: str | None) -> IndexMaker:
    """The predicate index of this name; None is the sorted clusters of Le Subscribe."""
    if name is None:
        return SortedClusters
    from tamis.indexes import INDEXES

    if name not in INDEXES:
        raise OptionError(f"no index is called {name!r} (there are: {', '.join(INDEXES)})")
    return INDEXES[name]
