"""Matches: the answer to a batch of events, kept as compressed sparse rows until somebody asks for more."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import Any, Generic, Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from tamis.errors import OptionError
from tamis.matchers.base import Rows
from tamis.model import SubscriptionId
from tamis.model.predicates import Id

__all__ = ["Codes", "Ids", "ListedIds", "Matches", "arrow_ids"]

Codes = npt.NDArray[np.integer[Any]]


class Ids(Protocol):
    """The ids that the codes of an answer stand for."""

    def __len__(self) -> int: ...

    def __getitem__(self, code: int, /) -> SubscriptionId: ...

    def listed(self, codes: Codes) -> list[SubscriptionId]:
        """The ids of many codes."""

    def column(self, codes: Codes) -> pa.Array:
        """The ids of many codes, in Arrow; `OptionError` if no type can hold them."""


class ListedIds:
    """Ids in a list."""

    def __init__(self, ids: list[SubscriptionId]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, code: int) -> SubscriptionId:
        return self._ids[code]

    def listed(self, codes: Codes) -> list[SubscriptionId]:
        return [self._ids[code] for code in codes.tolist()]

    def column(self, codes: Codes) -> pa.Array:
        return arrow_ids(self.listed(codes))


def arrow_ids(listed: list[SubscriptionId]) -> pa.Array:
    """Ids as an Arrow array of strings or of integers."""
    try:
        return pa.array(listed) if listed else pa.array([], pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise OptionError("the ids (strings and integers, or integers too far apart) fit no Arrow type") from None


class Matches(Generic[Id]):
    """Which subscriptions each event of a batch satisfied. No order is promised within an event.

    Event `i` matched `ids[code]` for each code in `codes[offsets[i]:offsets[i + 1]]`.
    """

    def __init__(self, rows: Rows[Codes], ids: Ids) -> None:
        self._rows = rows
        self.offsets = rows.offsets
        self.codes = rows.items
        self.ids = ids

    def __len__(self) -> int:
        """The number of events."""
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<Matches: {len(self):,} events, {self.total:,} matches>"

    def __getitem__(self, row: int) -> list[Id]:
        """The ids that event `row` satisfied; from the end, if it is negative."""
        at = index(row)
        if not -len(self) <= at < len(self):
            raise IndexError(f"expected an event from 0 to {len(self) - 1}, found {at}")
        return self.for_event(at % len(self))

    def __iter__(self) -> Iterator[list[Id]]:
        return (self.for_event(row) for row in range(len(self)))

    @property
    def total(self) -> int:
        """Matches over all events."""
        return len(self.codes)

    def counts(self) -> npt.NDArray[np.int64]:
        """The number of matches of each event."""
        return self._rows.counts()

    def for_event(self, row: int) -> list[Id]:
        """The ids that event `row` satisfied."""
        return cast(list[Id], self.ids.listed(self._row(row)))

    def bitmap(self, row: int) -> BitMap:
        """The event's answer as a compressed bitmap of codes (positions in `ids`), to count or intersect unlisted."""
        return BitMap(self._row(row).astype(np.uint32))

    def to_arrow(self) -> pa.Table:
        """Columns `event` (row number) and `subscription` (id), one row per match."""
        events = np.repeat(np.arange(len(self), dtype=np.int64), self.counts())
        return pa.table({"event": events, "subscription": self.ids.column(self.codes)})

    def _row(self, row: int) -> Codes:
        if not 0 <= row < len(self):
            raise OptionError(f"expected an event from 0 to {len(self) - 1}, found {row}")
        return self._rows.row(row)
