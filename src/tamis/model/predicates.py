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
from typing import NamedTuple, assert_never

from tamis.model.domains import Domain
from tamis.model.operators import COMPLEMENT, OPERATORS, Operator
from tamis.model.values import Kind, Value

__all__ = ["Conjunction", "Predicate", "Reference", "Subscription", "SubscriptionId", "compare"]

_O = Operator


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

    @property
    def attributes(self) -> tuple[str, ...]:
        """What it speaks of: one attribute, or the two that it compares."""
        if isinstance(self.operand, Reference):
            return self.attribute, self.operand.attribute
        return (self.attribute,)


Conjunction = tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Subscription:
    """Somebody's interest: any one of the conjunctions is enough."""

    id: SubscriptionId
    conjunctions: tuple[Conjunction, ...]


def compare(domain: Domain, operator: Operator, value: Value, operand: Value | tuple[Value, ...]) -> bool:
    """Whether one value satisfies one comparison. Across kinds every comparison is false, also `!=`."""
    constants = (operand,) if isinstance(operand, Value) else operand
    if value.kind is not constants[0].kind:
        return False
    match operator:
        case _O.EQ | _O.IN:
            return value in constants
        case _O.NE | _O.NOT_IN:
            return value not in constants
        case _O.STARTS:
            return _text(value).startswith(_text(constants[0]))
        case _O.NOT_STARTS:
            return not _text(value).startswith(_text(constants[0]))
        case _O.ENDS:
            return _text(value).endswith(_text(constants[0]))
        case _O.NOT_ENDS:
            return not _text(value).endswith(_text(constants[0]))
        case _O.LT | _O.LE | _O.GT | _O.GE | _O.NOT_LT | _O.NOT_LE | _O.NOT_GT | _O.NOT_GE:
            return value.kind is not Kind.BOOLEAN and _ordered(domain, operator, value, constants[0])
        case _O.CONTAINS | _O.LACKS | _O.PRESENT | _O.MISSING:
            raise AssertionError(f"{operator.value!r} is about the set of values, not about one")
        case _:
            assert_never(operator)


def _text(value: Value) -> str:
    assert value.kind is Kind.STRING, "the parser lets only text be asked how it begins"
    return str(value.data)


def _ordered(domain: Domain, operator: Operator, value: Value, constant: Value) -> bool:
    row = OPERATORS[operator]
    if row.negated:  # `not <` and its like
        return not _ordered(domain, COMPLEMENT[operator], value, constant)
    lower, upper = (value, constant) if "<" in row.relations else (constant, value)
    return domain.less(lower, upper) or ("=" in row.relations and value == constant)
