"""Matches: the answer to a batch of events, kept as compressed sparse rows until somebody asks for more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap

from tamis.errors import OptionError
from tamis.model import SubscriptionId
from tamis.registry.plain import Ids

__all__ = ["Matches"]


class Matches:
    """Which subscriptions each event of a batch satisfied. No order is promised within an event.

    Event `i` matched `ids[code]` for each code in `codes[offsets[i]:offsets[i + 1]]`.
    """

    def __init__(
        self,
        offsets: npt.NDArray[np.int64],
        codes: npt.NDArray[np.integer],
        ids: Ids,
    ) -> None:
        self.offsets = offsets
        self.codes = codes
        self.ids = ids

    def __len__(self) -> int:
        """The number of events."""
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[list[SubscriptionId]]:
        return (self.for_event(row) for row in range(len(self)))

    @property
    def total(self) -> int:
        """Matches over all events."""
        return len(self.codes)

    def counts(self) -> npt.NDArray[np.int64]:
        """The number of matches of each event."""
        return np.diff(self.offsets)

    def for_event(self, row: int) -> list[SubscriptionId]:
        """The ids that event `row` satisfied."""
        return self.ids.listed(self._row(row))

    def bitmap(self, row: int) -> BitMap:
        """The event's answer as a compressed bitmap of codes (positions in `ids`), to count or intersect unlisted."""
        return BitMap(self._row(row).astype(np.uint32))

    def to_arrow(self) -> pa.Table:
        """Columns `event` (row number) and `subscription` (id), one row per match."""
        events = np.repeat(np.arange(len(self), dtype=np.int64), self.counts())
        return pa.table({"event": events, "subscription": self.ids.column(self.codes)})

    def _row(self, row: int) -> npt.NDArray[np.integer]:
        if not 0 <= row < len(self):
            raise OptionError(f"expected an event from 0 to {len(self) - 1}, found {row}")
        return self.codes[self.offsets[row] : self.offsets[row + 1]]
