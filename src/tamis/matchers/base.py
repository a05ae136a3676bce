"""The one interface of every matching algorithm, and its contract.

An algorithm receives subscriptions in normal form under small integer *keys* that the engine hands out, and
checked events. It knows nothing of ids, texts or threads.

Contract, tested for every entry of `MATCHERS` by `tests/conformance`:

- `match` returns each key at most once, in no promised order, and exactly the keys the naive matcher returns.
- `match_many(events)` says the same as `match` on each event.
- `add` takes new keys only, `remove` present ones only; the engine sees to both. Either applies to all of its
  argument or, if it raises, to none of it. A key that was removed may be added again.
- A subscription without conjunctions never matches.
- `check()` verifies every invariant of the structure and raises AssertionError with the one that broke.
- `stats()` costs no more than a walk over the structure; `work` counts since the matcher was made.
- Readers may run at once; a writer runs alone. The engine's lock sees to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tamis.model import Conjunction, Event

__all__ = ["Entry", "Keys", "Matcher", "MatcherMaker", "MatcherStats", "Rows", "Work"]

Entry = tuple[int, tuple[Conjunction, ...]]
"""A key and the conjunctions any one of which is enough."""

Keys = npt.NDArray[np.int64]
_Items_co = TypeVar("_Items_co", bound=npt.NDArray[Any], covariant=True)


@dataclass(slots=True)
class Work:
    """What an algorithm did, in its paper's own units. Tests assert these, never seconds.

    `bucket_rows` are looked at in nodes of trees, beside the nodes; `members_found` lie in those of the
    `clusters_looked_up` whose equalities hold.
    """

    events: int = 0
    predicates_evaluated: int = 0
    candidates_verified: int = 0
    counters_bumped: int = 0
    nodes_visited: int = 0
    bucket_rows: int = 0
    clusters_looked_up: int = 0
    members_found: int = 0
    pages_read: int = 0


@dataclass(frozen=True, slots=True)
class MatcherStats:
    """The size of a matcher and the work it has done. `details` is the algorithm's own."""

    subscriptions: int
    conjunctions: int
    bytes: int
    work: Mapping[str, int]
    details: Mapping[str, int | float | str] = field(default_factory=dict)

    @staticmethod
    def work_of(work: Work) -> dict[str, int]:
        return asdict(work)


@dataclass(frozen=True, slots=True, eq=False)
class Rows(Generic[_Items_co]):
    """Compressed sparse rows, one per event of a batch: row i has `items[offsets[i]:offsets[i + 1]]`.

    The items are an array, of numpy or of Arrow: a matcher's keys, a segment's rows, users' ids.
    """

    offsets: npt.NDArray[np.int64]
    items: _Items_co

    @staticmethod
    def of(answers: Iterable[Sequence[int]]) -> Rows[Keys]:
        lists = [np.asarray(answer, dtype=np.int64) for answer in answers]
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in lists], out=offsets[1:])
        return Rows(offsets, np.concatenate(lists) if lists else np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def counts(self) -> npt.NDArray[np.int64]:
        """The number of items in each row."""
        return np.diff(self.offsets)

    def row(self, at: int) -> _Items_co:
        items: Any = self.items  # numpy's types do not say that a slice is of its array's own
        found: _Items_co = items[self.offsets[at] : self.offsets[at + 1]]
        return found


class Matcher(Protocol):
    """WHICH subscriptions does an event satisfy? The module's docstring is the contract."""

    def add(self, entries: Sequence[Entry]) -> None: ...

    def remove(self, keys: Sequence[int]) -> None: ...

    def match(self, event: Event) -> Sequence[int]: ...

    def match_many(self, events: Sequence[Event]) -> Rows[Keys]: ...

    def stats(self) -> MatcherStats: ...

    def check(self) -> None: ...


MatcherMaker = Callable[..., Matcher]
"""`maker(schema, **options)`."""
