"""The one interface of every predicate index, and its contract.

An index holds the predicates of one attribute, all constants of one kind, and answers: which of them does this
value satisfy? Contract, tested for every entry of `INDEXES` by `tests/conformance`:

- Operators are the six comparisons `= != < <= > >=`. `INDEXES[name](domain)` builds an empty index over the domain's
  order; domains with a partial order are not indexed, their users turn them into points.
- `insert` takes a new id, `delete` a present one. Ids are small non-negative integers and may be used again.
- `search` returns each satisfied id once, in no promised order. The value is of the index's kind.
- A structure that cannot hold a domain (a table over an unbounded one) raises `LimitError` when built.
- `check()` verifies every invariant and raises AssertionError with the one that broke.
- `visited` counts nodes, slots or pages looked at by all searches so far; `bytes_used()` is the structure's size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tamis.model import Operator, Value

__all__ = ["Ids", "IndexMaker", "PredicateIndex", "SIX"]

Ids = npt.NDArray[np.int32]

SIX = (Operator.EQ, Operator.NE, Operator.LT, Operator.LE, Operator.GT, Operator.GE)
"""The operators an index knows."""


class PredicateIndex(Protocol):
    """WHICH predicates does a value satisfy? The module's docstring is the contract."""

    visited: int

    def insert(self, predicate_id: int, operator: Operator, constant: Value) -> None: ...

    def insert_many(self, predicates: Sequence[tuple[int, Operator, Value]]) -> None: ...

    def delete(self, predicate_id: int) -> None: ...

    def search(self, value: Value) -> Ids: ...

    def bytes_used(self) -> int: ...

    def check(self) -> None: ...


IndexMaker = Callable[..., PredicateIndex]
"""`maker(domain)`; a disk index also takes `path=`."""
