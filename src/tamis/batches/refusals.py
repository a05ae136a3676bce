"""What becomes of events and subscriptions that are refused: the first is raised, all are skipped, or all are kept.

The one mechanism for every door: `Refusing` is a `Refuse`, told each refusal by its row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.asking import Refusal, raise_by_row
from tamis.errors import EventError, OptionError, TamisError
from tamis.model.domains import hint
from tamis.model.values import show_raw

__all__ = ["ON_ERROR", "OnError", "Refusals", "Refused", "Refusing", "check_on_error", "refused"]

OnError: TypeAlias = Literal["raise", "skip", "collect"]
ON_ERROR = ("raise", "skip", "collect")


def check_on_error(found: object, allowed: Sequence[str] = ON_ERROR) -> None:
    if not isinstance(found, str) or found not in allowed:
        near = hint(found, allowed) if isinstance(found, str) else ""
        raise OptionError(f"on_error: expected one of {', '.join(allowed)}, found {show_raw(found)}{near}")


class Refused(NamedTuple):
    """One event, or one subscription, that was refused."""

    row: int
    """Where it stands in what was given, from 0."""
    id: object
    """The event's id, where `event_id` names it; a subscription's id."""
    rule: str | None
    attribute: str | None
    reason: str


_TYPES = (("row", pa.int64()), ("rule", pa.string()), ("attribute", pa.string()), ("reason", pa.string()))


class Refusals(Sequence[Refused]):
    """All that were refused, in order."""

    def __init__(self, listed: Iterable[Refused] = ()) -> None:
        self._listed = list(listed)

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, at: int) -> Refused: ...
    @overload
    def __getitem__(self, at: slice) -> list[Refused]: ...
    def __getitem__(self, at: int | slice) -> Refused | list[Refused]:
        return self._listed[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refusals) and self._listed == other._listed

    def __hash__(self) -> int:
        return hash(tuple(self._listed))

    def __repr__(self) -> str:
        first = f", the first: {self._listed[0].reason!r}" if self._listed else ""
        return f"<{len(self):,} refused{first}>"

    def to_arrow(self) -> pa.Table:
        """Columns `row`, `id`, `rule`, `attribute` and `reason`."""
        columns = {name: pa.array([getattr(one, name) for one in self._listed], of) for name, of in _TYPES}
        table = pa.table(columns)
        return table.add_column(1, "id", _ids([one.id for one in self._listed]))


def _ids(found: list[object]) -> pa.Array:
    try:
        column = pa.array(found)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if one is None else str(one) for one in found], pa.string())
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def refused(row: int, id: object, error: TamisError) -> Refused:
    """An error as a row of a table."""
    rule, attribute = (error.rule, error.attribute) if isinstance(error, EventError) else (None, None)
    return Refused(row, id, rule, attribute, str(error).removeprefix(f"{rule}: "))


class Refusing:
    """Told each refusal, it does what `on_error` says. `first` is the number of the first row."""

    def __init__(self, on_error: OnError, id_of: Callable[[int], object] | None = None, first: int = 0) -> None:
        self._on_error = on_error
        self._id_of = id_of
        self._first = first
        self._rows: list[int] = []
        self._kept: list[Refused] = []

    def __call__(self, row: int, error: Refusal) -> None:
        id = self._id_of(row) if self._id_of is not None and self._on_error != "skip" else None
        if self._on_error == "raise":
            raise_by_row(self._first + row, error, id)
        self._rows.append(row)
        if self._on_error == "collect":
            self._kept.append(refused(self._first + row, id, error))

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The rows that were refused."""
        return np.array(self._rows, np.int64)

    @property
    def errors(self) -> Refusals:
        return Refusals(self._kept)

    def spread(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Numbers of the accepted events → of all events, zero for the refused."""
        if not self._rows:
            return counts
        size = len(counts) + len(self._rows)
        found = np.zeros(size, np.int64)
        found[np.setdiff1d(np.arange(size), self.rows, assume_unique=True)] = counts
        return found
