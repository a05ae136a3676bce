"""Predicates, conjunctions and subscriptions, in the normal form that every matcher receives.

A predicate is the papers' triple (attribute, operator, constant). A conjunction is a tuple of predicates that
must hold together; a subscription is an id and the conjunctions any one of which is enough. An empty tuple of
conjunctions is the subscription that never matches.

Comparisons speak of the *one* value bound to their attribute; `contains`, `not contains`, `is present` and
`is missing` speak of the attribute's whole set of values. `compare` is the meaning of a comparison; it stands
here once, and everything faster is tested against it.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, assert_never

from tamis.model.domains import Domain
from tamis.model.operators import COMPARISONS, COMPLEMENT, OPERATORS, Operator, Row, Shape
from tamis.model.patterns import pattern
from tamis.model.values import Kind, Value

__all__ = ["Among", "Conjunction", "Id", "Predicate", "Reference", "Subscription", "SubscriptionId", "Threshold"]
__all__ += ["compare", "folded", "is_about_event"]


class Reference(NamedTuple):
    """The other attribute in `bid > @reserve`."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """How many of which expressions must hold in `at least 2 of (…)`; each is judged on its own, in normal form."""

    least: int
    members: tuple[tuple[Conjunction, ...], ...]

    def predicates(self) -> Iterator[Predicate]:
        """Those of all members, also of an `at least` among them: all that speak of the event itself."""
        for predicate in (one for member in self.members for conjunction in member for one in conjunction):
            yield predicate
            if isinstance(predicate.operand, Threshold):
                yield from predicate.operand.predicates()


@dataclass(frozen=True, slots=True)
class Among:
    """What one record of a list must satisfy in `any(variants: …)`: any one of the conjunctions, in normal form, by the
    record's own names."""

    conjunctions: tuple[Conjunction, ...]


Operand = Value | Reference | Threshold | Among | tuple[Value, ...] | None
SubscriptionId = str | int

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers have it; a default comes with Python 3.13

    Id = TypeVar("Id", bound=SubscriptionId, default=SubscriptionId)
else:
    Id = typing.TypeVar("Id", bound=SubscriptionId)


@dataclass(frozen=True, slots=True)
class Predicate:
    """`attribute operator operand`; the operand is None for presence and a tuple of one kind for `in`.

    `at least` has no attribute of its own.
    """

    attribute: str
    operator: Operator
    operand: Operand = None

    @property
    def constants(self) -> tuple[Value, ...]:
        """What it compares with; nothing for presence and for another attribute."""
        match self.operand:
            case Value():
                return (self.operand,)
            case None | Reference() | Threshold() | Among():
                return ()
        return self.operand

    @property
    def attributes(self) -> tuple[str, ...]:
        """What it speaks of: one attribute, the two that it compares, or a list and the fields of its records."""
        if isinstance(self.operand, Reference):
            return self.attribute, self.operand.attribute
        if isinstance(self.operand, Threshold):
            members = (one for member in self.operand.members for conjunction in member for one in conjunction)
            return tuple(dict.fromkeys(name for one in members for name in one.attributes))
        if isinstance(self.operand, Among):
            inner = (one for conjunction in self.operand.conjunctions for one in conjunction)
            fields = dict.fromkeys(f"{self.attribute}.{name}" for one in inner for name in one.attributes)
            return self.attribute, *fields
        return (self.attribute,)


Conjunction = tuple[Predicate, ...]


def is_about_event(predicate: Predicate) -> bool:
    """Whether no single attribute decides it: two are compared, expressions counted, or records looked at."""
    return isinstance(predicate.operand, Reference | Threshold | Among)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Somebody's interest: any one of the conjunctions is enough."""

    id: SubscriptionId
    conjunctions: tuple[Conjunction, ...]


def compare(domain: Domain, operator: Operator, value: Value, operand: Value | tuple[Value, ...]) -> bool:
    """Whether one value satisfies one comparison. Across kinds every comparison is false, also `!=`."""
    constants = (operand,) if isinstance(operand, Value) else operand
    same = value.kind is constants[0].kind and value.kind is not Kind.RECORD
    return same and _MEANINGS[operator](domain, value, constants)


_Meaning = Callable[[Domain, Value, tuple[Value, ...]], bool]


def _meaning(operator: Operator) -> _Meaning:
    """What a comparison says of a value and constants of one kind."""
    row = OPERATORS[operator]
    match row.shape:
        case _ if operator not in COMPARISONS:
            return _about_the_set
        case Shape.POINTS:
            return _said(row, lambda domain, value, constants: value in constants)
        case Shape.PREFIX:
            return _said(row, lambda domain, value, constants: _text(value).startswith(_text(constants[0])))
        case Shape.SUFFIX:
            return _said(row, lambda domain, value, constants: _text(value).endswith(_text(constants[0])))
        case Shape.SUBSTRING:
            return _said(row, lambda domain, value, constants: _text(constants[0]) in _text(value))
        case Shape.PATTERN:
            return _said(row, lambda domain, value, constants: pattern(_text(constants[0])).fits(_text(value)))
        case Shape.BELOW | Shape.UP_TO | Shape.ABOVE | Shape.FROM:
            return _order(operator)
        case Shape.PRESENCE | Shape.COUNT | Shape.RECORDS:
            return _about_the_set
        case never:
            assert_never(never)


def _said(row: Row, holds: _Meaning) -> _Meaning:
    """The meaning of a shape as an operator says it: perhaps of the folded value, perhaps negated."""
    if row.folded:
        return lambda domain, value, constants: holds(domain, folded(value), constants) is not row.negated
    return (lambda domain, value, constants: not holds(domain, value, constants)) if row.negated else holds


def folded(value: Value) -> Value:
    """The text as it is compared when case is ignored: Unicode's default case folding, and nothing else."""
    return Value(Kind.STRING, _text(value).casefold())


def _text(value: Value) -> str:
    assert value.kind is Kind.STRING, "the parser lets only text be asked what stands in it"
    return str(value.data)


def _order(operator: Operator) -> _Meaning:
    negated = OPERATORS[operator].negated  # `not <` and its like
    relations = OPERATORS[COMPLEMENT[operator] if negated else operator].relations
    below, or_equal = "<" in relations, "=" in relations

    def holds(domain: Domain, value: Value, constants: tuple[Value, ...]) -> bool:
        (constant,) = constants
        if value.kind is Kind.BOOLEAN:
            return False
        less = domain.less(value, constant) if below else domain.less(constant, value)
        return (less or (or_equal and value == constant)) is not negated

    return holds


def _about_the_set(domain: Domain, value: Value, constants: tuple[Value, ...]) -> bool:
    raise AssertionError("what is about the set of values cannot be asked of one")


_MEANINGS = {operator: _meaning(operator) for operator in Operator}
