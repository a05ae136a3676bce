"""Predicates, conjunctions and subscriptions, in the normal form that every matcher receives.

A predicate is the papers' triple (attribute, operator, constant). A conjunction is a tuple of predicates that
must hold together; a subscription is an id and the conjunctions any one of which is enough. An empty tuple of
conjunctions is the subscription that never matches.

Comparisons speak of the *one* value bound to their attribute; `contains`, `not contains`, `is present` and
`is missing` speak of the attribute's whole set of values. `compare` is the meaning of a comparison; it stands
here once, and everything faster is tested against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tamis.model.domains import Domain
from tamis.model.values import Kind, Value

__all__ = [
    "COMPARISONS",
    "COMPLEMENT",
    "MIRROR",
    "TOTAL",
    "Conjunction",
    "Operator",
    "Predicate",
    "Reference",
    "Subscription",
    "SubscriptionId",
    "compare",
]


class Operator(StrEnum):
    """The operators that remain in normal form, each with the text the printer writes."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    NOT_LT = "not <"
    NOT_LE = "not <="
    NOT_GT = "not >"
    NOT_GE = "not >="
    IN = "in"
    NOT_IN = "not in"
    STARTS = "starts with"
    NOT_STARTS = "not starts with"
    CONTAINS = "contains"
    LACKS = "not contains"
    PRESENT = "is present"
    MISSING = "is missing"

    __hash__ = str.__hash__  # Enum's own is a Python call


_O = Operator

COMPARISONS = frozenset(_O) - {_O.CONTAINS, _O.LACKS, _O.PRESENT, _O.MISSING}
"""Operators about the one bound value; the others are about the set."""

COMPLEMENT = {
    _O.EQ: _O.NE,
    _O.LT: _O.NOT_LT,
    _O.LE: _O.NOT_LE,
    _O.GT: _O.NOT_GT,
    _O.GE: _O.NOT_GE,
    _O.IN: _O.NOT_IN,
    _O.STARTS: _O.NOT_STARTS,
    _O.CONTAINS: _O.LACKS,
    _O.PRESENT: _O.MISSING,
}
COMPLEMENT |= {after: before for before, after in COMPLEMENT.items()}
"""What `not` makes of an operator. It keeps "missing satisfies nothing": both sides need a value of the kind."""

MIRROR = {_O.EQ: _O.EQ, _O.NE: _O.NE, _O.LT: _O.GT, _O.LE: _O.GE, _O.GT: _O.LT, _O.GE: _O.LE}
MIRROR |= {_O.NOT_LT: _O.NOT_GT, _O.NOT_LE: _O.NOT_GE, _O.NOT_GT: _O.NOT_LT, _O.NOT_GE: _O.NOT_LE}
"""`a < @b` says the same as `b > @a`."""

TOTAL = {_O.NOT_LT: _O.GE, _O.NOT_LE: _O.GT, _O.NOT_GT: _O.LE, _O.NOT_GE: _O.LT}
"""What the negated comparisons come to under a total order; a partial one has values that are neither."""

_BELOW = frozenset({_O.LT, _O.LE})
_OR_EQUAL = frozenset({_O.LE, _O.GE})


class Reference(NamedTuple):
    """The other attribute in `bid > @reserve`."""

    attribute: str


Operand = Value | Reference | tuple[Value, ...] | None
SubscriptionId = str | int


@dataclass(frozen=True, slots=True)
class Predicate:
    """`attribute operator operand`; the operand is None for presence and a tuple of one kind for `in`."""

    attribute: str
    operator: Operator
    operand: Operand = None

    @property
    def constants(self) -> tuple[Value, ...]:
        """What it compares with; nothing for presence and for another attribute."""
        match self.operand:
            case Value():
                return (self.operand,)
            case None | Reference():
                return ()
        return self.operand


Conjunction = tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Subscription:
    """Somebody's interest: any one of the conjunctions is enough."""

    id: SubscriptionId
    conjunctions: tuple[Conjunction, ...]


def compare(domain: Domain, operator: Operator, value: Value, operand: Value | tuple[Value, ...]) -> bool:
    """Whether one value satisfies one comparison. Across kinds every comparison is false, also `!=`."""
    if isinstance(operand, tuple) and not isinstance(operand, Value):
        return value.kind is operand[0].kind and (value in operand) is (operator is _O.IN)
    if value.kind is not operand.kind:
        return False
    match operator:
        case _O.EQ:
            return value == operand
        case _O.NE:
            return value != operand
        case _O.STARTS | _O.NOT_STARTS:
            starts = value.kind is Kind.STRING and str(value.data).startswith(str(operand.data))
            return starts is (operator is _O.STARTS)
    return value.kind is not Kind.BOOLEAN and _ordered(domain, operator, value, operand)


def _ordered(domain: Domain, operator: Operator, value: Value, operand: Value) -> bool:
    if operator in TOTAL:  # `not <` and its like
        return not _ordered(domain, COMPLEMENT[operator], value, operand)
    lower, upper = (value, operand) if operator in _BELOW else (operand, value)
    return domain.less(lower, upper) or (operator in _OR_EQUAL and value == operand)
