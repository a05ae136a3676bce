"""Texts read, and what is said of them: a receipt, or an error with the subscription it belongs to."""

from __future__ import annotations

from typing import NamedTuple

from tamis.errors import LanguageError, LimitError
from tamis.language import parse
from tamis.model import Conjunction, Schema, SubscriptionId
from tamis.model.values import show_raw

__all__ = ["Receipt", "at_row", "parse_row", "parse_text"]


class Receipt(NamedTuple):
    """What a `subscribe` did. `never_matching` are ids whose expression contradicts itself."""

    subscribed: int
    replaced: int
    never_matching: tuple[SubscriptionId, ...]


def parse_text(text: str, schema: Schema) -> tuple[Conjunction, ...]:
    if not isinstance(text, str):
        raise LanguageError(f"expected an expression as text, found {show_raw(text)}", 1, "")
    return parse(text, schema)


def parse_row(row: int, id: SubscriptionId, text: str, schema: Schema) -> tuple[Conjunction, ...]:
    """One of many; an error says which."""
    try:
        return parse_text(text, schema)
    except (LanguageError, LimitError) as error:
        raise at_row(row, id, error) from None


def at_row(row: int, id: SubscriptionId, error: LanguageError | LimitError) -> LanguageError | LimitError:
    """The error with the subscription it belongs to."""
    place = f"subscription {id!r} (row {row})"
    if isinstance(error, LimitError):
        return error.placed(place)
    return LanguageError(f"{place}: {str(error).removeprefix(f'column {error.column}: ')}", error.column, error.text)
