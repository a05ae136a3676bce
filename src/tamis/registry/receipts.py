"""Texts read, and what is said of them: a receipt, or an error with the subscription it belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tamis.batches.refusals import Refusals
from tamis.errors import LanguageError, LimitError
from tamis.language import parse
from tamis.model import Conjunction, Schema, SubscriptionId
from tamis.model.values import show_raw

__all__ = ["Receipt", "Unreadable", "mistake_in", "parse_text"]


_SHOWN = 3
"""Ids in what a receipt prints."""


class Receipt(NamedTuple):
    """What a `subscribe` did. `never_matching` are ids whose expression contradicts itself."""

    subscribed: int
    replaced: int
    never_matching: tuple[SubscriptionId, ...]
    errors: Refusals = Refusals()
    """Subscriptions that were refused, if they were to be collected."""

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.never_matching[:_SHOWN]))
        more = len(self.never_matching) - _SHOWN
        never = f"({shown}, and {more:,} more)" if more > 0 else repr(self.never_matching)
        refused = f", errors={self.errors!r}" if self.errors else ""
        return f"Receipt(subscribed={self.subscribed}, replaced={self.replaced}, never_matching={never}{refused})"


class Unreadable(Exception):
    """All texts that cannot be read of those that were given, each with its row. The engine words it for the user."""

    def __init__(self, rows: Iterable[tuple[int, SubscriptionId, LanguageError | LimitError]]) -> None:
        self.rows = sorted(rows, key=lambda one: one[0])
        super().__init__(self.rows)

    def first(self) -> LanguageError | LimitError:
        return at_row(*self.rows[0])


def parse_text(text: str, schema: Schema) -> tuple[Conjunction, ...]:
    if not isinstance(text, str):
        raise LanguageError(f"expected an expression as text, found {show_raw(text)}", 1, "")
    return parse(text, schema)


def mistake_in(text: str, schema: Schema) -> LanguageError | LimitError | None:
    """Why a text cannot be read, if it cannot."""
    try:
        parse_text(text, schema)
    except (LanguageError, LimitError) as error:
        return error
    return None


def at_row(row: int, id: SubscriptionId, error: LanguageError | LimitError) -> LanguageError | LimitError:
    """The error with the subscription it belongs to."""
    place = f"subscription {id!r} (row {row})"
    if isinstance(error, LimitError):
        return error.placed(place)
    return LanguageError(f"{place}: {str(error).removeprefix(f'column {error.column}: ')}", error.column, error.text)
