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

__all__ = ["Raw", "Refusal", "Refuse", "ask", "raise_by_row"]

Raw: TypeAlias = Mapping[str, object] | EventError
"""An event as it came, or why it cannot be read at all."""

Refusal: TypeAlias = EventError | LimitError
Refuse: TypeAlias = Callable[[int, Refusal], None]
"""What is to be done about an event that is refused, by its number."""


def ask(
    raws: Iterable[tuple[int, Raw]], schema: Schema, refuse: Refuse, *, validated: bool = False
) -> Iterator[tuple[int, Event]]:
    """The events that are accepted, with their numbers: rows, lines, whatever the caller counts.

    Of events that were validated the values are read and no rule is asked about.
    """
    read = partial(read_validated, schema) if validated else schema.event
    for number, raw in raws:
        try:
            if isinstance(raw, EventError):
                raise raw
            event = read(raw)
        except (EventError, LimitError) as error:
            refuse(number, error)
        else:
            yield number, event


def raise_by_row(row: int, error: Refusal) -> None:
    """Stop at the first refusal; the error says which event of the batch it is."""
    if isinstance(error, LimitError):
        raise error.placed(f"event {row}") from None
    message = str(error).removeprefix(f"{error.rule}: ")
    raise EventError(f"event {row}: {message}", error.rule, error.attribute) from None
