"""Texts read, and what is said of them: a receipt, or an error with the subscription it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tamis.batches.refusals import Refusals
from tamis.errors import LanguageError, LimitError
from tamis.language import parse, print_predicate
from tamis.model import OPERATORS, Among, Conjunction, Predicate, Schema, SubscriptionId, Threshold
from tamis.model.operators import Shape
from tamis.model.patterns import pattern
from tamis.model.values import show_raw

__all__ = ["Receipt", "Unreadable", "at_row", "mistake_in", "notes_on", "parse_text"]


_SHOWN = 3
"""Ids in what a receipt prints."""

_PATTERNS = frozenset(operator for operator, row in OPERATORS.items() if row.shape is Shape.PATTERN)


class Receipt(NamedTuple):
    """What a `subscribe` did. `never_matching` are ids whose expression contradicts itself; `notes` are sentences about
    what was taken and may cost more, or mean something else, than its subscriber thinks."""

    subscribed: int
    replaced: int
    never_matching: tuple[SubscriptionId, ...]
    errors: Refusals = Refusals()
    """Subscriptions that were refused, if they were to be collected."""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.never_matching[:_SHOWN]))
        more = len(self.never_matching) - _SHOWN
        never = f"({shown}, and {more:,} more)" if more > 0 else repr(self.never_matching)
        refused = f", errors={self.errors!r}" if self.errors else ""
        notes = f", notes={self.notes!r}" if self.notes else ""
        more_said = f"{refused}{notes}"
        return f"Receipt(subscribed={self.subscribed}, replaced={self.replaced}, never_matching={never}{more_said})"


class Unreadable(Exception):
    """All texts that cannot be read of those that were given, each with its row. The engine words it for the user."""

    def __init__(self, rows: Iterable[tuple[int, SubscriptionId, LanguageError | LimitError]]) -> None:
        self.rows = sorted(rows, key=lambda one: one[0])
        super().__init__(self.rows)

    def first(self) -> LanguageError | LimitError:
        return at_row(*self.rows[0])


def notes_on(predicates: Iterable[Predicate]) -> tuple[str, ...]:
    """How far the index goes where it does not go all the way: a sentence for each sort, with an example."""
    found: dict[str, set[Predicate]] = {}
    for predicate in _with_members(predicates):
        if predicate.operator in _PATTERNS:
            found.setdefault(_how_far(predicate), set()).add(predicate)
    return tuple(sorted(_sentence(how, some) for how, some in found.items()))


def _with_members(predicates: Iterable[Predicate], seen: dict[int, object] | None = None) -> Iterator[Predicate]:
    """With those inside of others; a member that many have in common is one object, and is looked at once."""
    seen = {} if seen is None else seen
    for predicate in predicates:
        yield predicate
        if isinstance(predicate.operand, Threshold):
            for member in predicate.operand.members:
                if id(member) not in seen:
                    seen[id(member)] = member
                    yield from _with_members((one for each in member for one in each), seen)
        elif isinstance(predicate.operand, Among):
            yield from _with_members((one for each in predicate.operand.conjunctions for one in each), seen)


def _sentence(how: str, some: set[Predicate]) -> str:
    others = f" and {len(some) - 1:,} like it" if len(some) > 1 else ""
    example = min(some, key=lambda one: (one.attribute, one.operator, one.constants))
    return f"{print_predicate(example)}{others}: {how}"


def _how_far(predicate: Predicate) -> str:
    if not any(stretch.literals for stretch in pattern(str(predicate.constants[0].data)).stretches):
        return "it has no literal to be found by and is tried on every value"
    return "it is found by its rarest literal, then tried on the values that have it"


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
