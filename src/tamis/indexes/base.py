"""The one interface of every predicate index, and its contract.

An index holds the predicates of one attribute, all constants of one kind, and answers: which of them does this
value satisfy? Contract, tested for every entry of `INDEXES` by `tests/conformance`:

- Operators are the six comparisons `= != < <= > >=`. `INDEXES[name](domain)` builds an empty index over the domain's
  order; domains without a total order are indexed for `=` and `!=` only, their users turn the rest into points.
- `insert` takes a new id, `delete` a present one; a KeyError otherwise, and nothing changes. Ids are small
  non-negative integers (below 2**31) and may be used again. `insert_many` does all or, on an error, nothing.
- `search` returns each satisfied id once, in no promised order. The value is of the index's kind. Searches may run
  side by side, changes run alone.
- Comparison is exact: integers of any size, integers with floats by value, strings by code point.
- A structure that cannot hold a domain (a table over an unbounded one) raises `LimitError` when built, one that cannot
  hold another predicate (a time index past its memory) raises it from `insert`.
- `check()` verifies every invariant and raises AssertionError with the one that broke.
- `visited` counts nodes, slots or pages looked at by all searches so far; `bytes_used()` is the index's size,
  `structure_bytes()` that of the paper's structure alone, without what an index remembers of its predicates.
- `close()` gives back what the index holds outside memory; an index in memory has nothing to give back.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tamis.errors import LimitError
from tamis.model import Operator, Value

__all__ = ["SIX", "IndexMaker", "Ints", "Key", "MemoryIndex", "PredicateIndex", "double"]

Ints: TypeAlias = npt.NDArray[np.int32]

SIX = (Operator.EQ, Operator.NE, Operator.LT, Operator.LE, Operator.GT, Operator.GE)
"""The operators an index knows."""


class Key(Protocol):
    """A constant inside an index of one kind: an int, float or string, which Python compares exactly."""

    def __lt__(self, other: Any, /) -> bool: ...

    def __hash__(self) -> int: ...


def double(key: Key) -> float:
    """The greatest double that is not above a number; not a number if it is a string."""
    if isinstance(key, float):
        return key
    if not isinstance(key, int):
        return math.nan
    try:
        near = float(key)
    except OverflowError:
        return sys.float_info.max if key > 0 else -math.inf
    return near if near <= key else math.nextafter(near, -math.inf)


class PredicateIndex(Protocol):
    """WHICH predicates does a value satisfy? The module's docstring is the contract."""

    visited: int

    def insert(self, predicate_id: int, operator: Operator, constant: Value) -> None: ...

    def insert_many(self, predicates: Sequence[tuple[int, Operator, Value]]) -> None: ...

    def delete(self, predicate_id: int) -> None: ...

    def search(self, value: Value) -> Ints: ...

    def bytes_used(self) -> int: ...

    def structure_bytes(self) -> int: ...

    def check(self) -> None: ...

    def close(self) -> None: ...


IndexMaker: TypeAlias = Callable[..., PredicateIndex]
"""`maker(domain)`; a disk index also takes `path=`."""


class MemoryIndex(ABC):
    """What the structures in memory share: they remember each id's predicate, so that `delete` needs the id alone."""

    def __init__(self) -> None:
        self.visited = 0
        self._held: dict[int, tuple[Operator, Key]] = {}

    def insert(self, predicate_id: int, operator: Operator, constant: Value) -> None:
        if predicate_id in self._held:
            raise KeyError(f"the id {predicate_id} is in use")
        self._put(predicate_id, operator, constant.data)
        self._held[predicate_id] = (operator, constant.data)

    def insert_many(self, predicates: Sequence[tuple[int, Operator, Value]]) -> None:
        new: dict[int, tuple[Operator, Key]] = {id: (op, constant.data) for id, op, constant in predicates}
        if len(new) != len(predicates) or not new.keys().isdisjoint(self._held):
            raise KeyError("an id is in use, or comes twice")
        if len(new) > 64 and len(new) >= len(self._held):
            self._build(self._held | new)
            self._held |= new
        else:
            self._put_each(new)

    def _put_each(self, new: dict[int, tuple[Operator, Key]]) -> None:
        done = []
        try:
            for id, (operator, key) in new.items():
                self._put(id, operator, key)
                self._held[id] = (operator, key)
                done.append(id)
        except LimitError:
            for id in done:
                self.delete(id)
            raise

    def delete(self, predicate_id: int) -> None:
        operator, key = self._held[predicate_id]
        self._take(predicate_id, operator, key)
        del self._held[predicate_id]

    def close(self) -> None:
        return

    @abstractmethod
    def _put(self, id: int, operator: Operator, key: Key) -> None: ...

    @abstractmethod
    def _take(self, id: int, operator: Operator, key: Key) -> None: ...

    @abstractmethod
    def _build(self, predicates: dict[int, tuple[Operator, Key]]) -> None:
        """Replace what is there by these predicates; at least as fast as inserting them one by one."""

    @abstractmethod
    def search(self, value: Value) -> Ints: ...

    def bytes_used(self) -> int:
        return self._bytes() + sys.getsizeof(self._held) + 56 * len(self._held)  # each a tuple of two

    def structure_bytes(self) -> int:
        return self._bytes()

    @abstractmethod
    def _bytes(self) -> int:
        """The structure alone, without what all remember of their predicates."""

    @abstractmethod
    def check(self) -> None: ...
