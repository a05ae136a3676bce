"""The one place that asks `Schema.event`, which alone decides what is an event and has the words for what is none.

Whoever asks says what becomes of a refusal: `refuse` is told each one, in order, and may raise to read no further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from tamis.errors import EventError, LimitError
from tamis.model import Event, Schema
from tamis.model.events import read_validated
from tamis.model.names import Used
from tamis.model.values import show_raw

__all__ = ["Raw", "Refusal", "Refuse", "ask", "raise_by_row"]

Raw: TypeAlias = Mapping[str, object] | EventError
"""An event as it came, or why it cannot be read at all."""

Refusal: TypeAlias = EventError | LimitError
Refuse: TypeAlias = Callable[[int, Refusal], None]
"""What is to be done about an event that is refused, by its number."""


def ask(
    raws: Iterable[tuple[int, Raw]],
    schema: Schema,
    refuse: Refuse,
    *,
    validated: bool = False,
    used: Used | None = None,
) -> Iterator[tuple[int, Event]]:
    """The events that are accepted, with their numbers: rows, lines, whatever the caller counts.

    Of events that were validated the values are read and no rule is asked about. Of an open schema only what is
    `used` is read, where that is given.
    """
    read = partial(read_validated, schema, used=used) if validated else partial(schema.event, used=used)
    for number, raw in raws:
        try:
            if isinstance(raw, EventError):
                raise raw
            event = read(raw)
        except (EventError, LimitError) as error:
            refuse(number, error)
        else:
            yield number, event


def raise_by_row(row: int, error: Refusal, id: object = None) -> None:
    """Stop at the first refusal; the error says which event of the batch it is."""
    place = f"event {row}" if id is None else f"event {row} ({show_raw(id) if isinstance(id, str) else id})"
    if isinstance(error, LimitError):
        raise error.placed(place) from None
    message = str(error).removeprefix(f"{error.rule}: ")
    raise EventError(f"{place}: {message}", error.rule, error.attribute) from None
