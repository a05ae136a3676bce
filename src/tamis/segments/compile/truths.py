"""Slots, and the truths that some of them ask for: predicates that no region of values tells.

`bid > @reserve` is about two attributes, `name ends with 'x'` about each value of one. Which of them hold is found out
once per event, pair or distinct value, for all subscriptions that ask, and kept as codes of a column of its own.

    column `name ends with …`    members 'x', 'yx', 'z'       'ayx' has the codes of 'x' and 'yx', 2 and 3
    column `tags contains … ignoring case`                    a code where some value of the set equals it
    column `bid > @reserve`      one member                   2 where it holds, 1 where it does not
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.matchers.parts.text_tests import TextIndex, as_test
from tamis.model import COMPARISONS, OPERATORS, Among, Kind, Operator, Predicate, Reference, Threshold, Value

__all__ = ["FALSE", "FIRST_TRUTH", "Codes", "Role", "Slot", "Teller", "TruthColumn", "is_keyed", "members_of"]
__all__ += ["truth_slot"]

Ints = npt.NDArray[np.int32]

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
    operand: Value | Reference | Threshold | Among | tuple[Value, ...] | None = None
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


def members_of(predicate: Predicate) -> Sequence[Predicate]:
    """The members of a truth's column of which one must hold: those of a list are as good as equalities."""
    if predicate.operator is not Operator.FOLDED_IN:
        return (predicate,)
    return [Predicate(predicate.attribute, Operator.FOLDED_EQ, value) for value in predicate.constants]


def truth_slot(predicate: Predicate) -> Slot:
    """Positive tests of a value share a column; links and negated tests, which mostly hold, have one each."""
    operator, operand = predicate.operator, predicate.operand
    alone = isinstance(operand, Reference) or OPERATORS[operator].negated
    return Slot(predicate.attribute, Role.TRUTH, operator, operand if alone else None)


class Codes(NamedTuple):
    """Text `texts[i]` has the code `codes[i]` in the column `columns[i]`."""

    texts: Ints
    columns: npt.NDArray[np.int64]
    codes: Ints


class Teller:
    """The truths about the values of one attribute: which members of which columns hold for a text?"""

    def __init__(self, truths: Sequence[tuple[int, TruthColumn]]) -> None:
        held = [
            (column, code, *as_test(member))
            for column, truth in truths
            for code, member in enumerate(truth.members, FIRST_TRUTH)
        ]
        self._index = TextIndex([test for _, _, test, _ in held])
        self._columns = np.array([column for column, _, _, _ in held], np.int64)
        self._codes = np.array([code for _, code, _, _ in held], np.int32)
        self._negated = np.array([negated for _, _, _, negated in held], np.bool_)
        self.lacks = [column for column, truth in truths if _is_lack(truth)]
        """Columns, of one member each, that want it of all values: it holds for whatever is no text."""

    @property
    def looked_up(self) -> int:
        """Members looked at so far."""
        return self._index.looked_up

    @property
    def told_of_no_text(self) -> list[tuple[int, int]]:
        """The same as `told`, for a value that is no text."""
        return [(column, FIRST_TRUTH) for column in self.lacks]

    def told(self, value: Value) -> list[tuple[int, int]]:
        """A column and a code for each member that holds for the only value of an attribute."""
        if value.kind is not Kind.STRING:
            return self.told_of_no_text
        _, columns, codes = self.told_many(pa.array([value.data], pa.large_string()))
        return list(zip(columns.tolist(), codes.tolist(), strict=True))

    def told_many(self, texts: pa.Array) -> Codes:
        """The same for each text of a column."""
        of, tests = self._index.holding(texts)
        if self._negated.any():
            of, tests = self._turned(len(texts), of, tests)
        return Codes(of, self._columns[tests], self._codes[tests])

    def _turned(self, count: int, of: Ints, tests: Ints) -> tuple[Ints, Ints]:
        """Negated members where their tests do not hold, instead of where they do."""
        members = np.flatnonzero(self._negated).astype(np.int32)
        turned = self._negated[tests]
        left = np.ones((len(members), count), np.bool_)
        left[np.searchsorted(members, tests[turned]), of[turned]] = False
        at, others = np.nonzero(left)
        return np.concatenate([of[~turned], others]), np.concatenate([tests[~turned], members[at]])


def _is_lack(truth: TruthColumn) -> bool:
    operator = truth.members[0].operator
    return operator not in COMPARISONS and OPERATORS[operator].negated
