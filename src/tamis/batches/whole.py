"""Events that were accepted, whole: each is read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable

from tamis.batches.asking import Raw, ask, raise_by_row
from tamis.batches.columns import Accepted
from tamis.model import Event, Schema
from tamis.model.names import Used

__all__ = ["ReadWhenAsked"]


class ReadWhenAsked:
    """Events by their rows; `raw` gives one as it came."""

    def __init__(self, raw: Callable[[int], Raw], schema: Schema, used: Used | None, known: Accepted) -> None:
        self._raw = raw
        self._schema = schema
        self._used = used
        self._known = known

    def __getitem__(self, row: int) -> Event:
        if row not in self._known:
            one = [(row, self._raw(row))]
            self._known |= ask(one, self._schema, raise_by_row, validated=True, used=self._used)
        return self._known[row]
