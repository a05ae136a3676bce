"""Slots, and the truths that some of them ask for: predicates that no region of values tells.

`bid > @reserve` is about two attributes, `name ends with 'x'` about each value of one. Which of them hold is found out
once per event, pair or distinct value, for all subscriptions that ask, and kept as codes of a column of its own.

    column `name ends with …`    members 'x', 'yx', 'z'       'ayx' has the codes of 'x' and 'yx', 2 and 3
    column `bid > @reserve`      one member                   2 where it holds, 1 where it does not
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from tamis.matchers.parts.postings import Postings
from tamis.model import OPERATORS, Kind, Operator, Predicate, Reference, String, Value

__all__ = ["FALSE", "FIRST_TRUTH", "Role", "Slot", "Teller", "TruthColumn", "is_keyed", "truth_slot"]

FALSE = 1
FIRST_TRUTH = 2
"""Codes of a truth column: 0 where nothing was to be found out, 1 where no member holds, then one for each member."""


class Role(IntEnum):
    """What a slot asks of its column; a positive role k is the k-th `contains`."""

    BOUND = 0
    LACKS = -1
    TRUTH = -2


class Slot(NamedTuple):
    """A column in a role. A truth's column is named by its first attribute, its operator, and the operand if it has one
    member alone."""

    attribute: str
    role: int = Role.BOUND
    operator: Operator | None = None
    operand: Value | Reference | None = None
    nth: int = 0
    """Of several members of one truth column that a conjunction asks for, each has a slot of its own."""


def is_keyed(slot: Slot) -> bool:
    """Whether a truth's column has a code for each of many members, of which few hold, so that it can be looked up as
    an attribute's equality is."""
    return slot.role == Role.TRUTH and slot.operand is None


class TruthColumn(NamedTuple):
    """The members of a truth: member i holds where an event has the code `FIRST_TRUTH + i`."""

    slot: Slot
    members: tuple[Predicate, ...]

    @property
    def last(self) -> int:
        """The last code."""
        return FIRST_TRUTH + len(self.members) - 1


def truth_slot(predicate: Predicate) -> Slot:
    """Positive tests of a value share a column; links and negated tests, which mostly hold, have one each."""
    operator, operand = predicate.operator, predicate.operand
    assert isinstance(operand, Value | Reference)
    alone = isinstance(operand, Reference) or OPERATORS[operator].negated
    return Slot(predicate.attribute, Role.TRUTH, operator, operand if alone else None)


class Teller:
    """The truths about the values of one attribute: which members of which columns hold for a value?"""

    def __init__(self, truths: Iterable[tuple[int, TruthColumn]]) -> None:
        self._postings = Postings(String())  # all of them are about text
        self._codes: list[tuple[int, int]] = []
        for column, truth in truths:
            for code, member in enumerate(truth.members, FIRST_TRUTH):
                self._postings.insert(len(self._codes), member)
                self._codes.append((column, code))

    def told(self, value: Value) -> list[tuple[int, int]]:
        """A column and a code for each member that holds."""
        if value.kind is not Kind.STRING:
            return []
        return [self._codes[member] for member in self._postings.search(value)]
