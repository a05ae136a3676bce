"""How selective is a predicate? Estimated from the values that events had lately, or guessed from the operator.

Each attribute keeps its last few values, and the share of events that had it at all. Without events yet, an equality is
taken to be rare and an inequality to hold half the time, as in the query optimisers of Hanson's day.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import assert_never

from tamis.matchers.naive import conjunction_holds
from tamis.model import COMPARISONS, OPERATORS, Event, Operator, Predicate, Schema, Value, compare
from tamis.model.operators import Shape
from tamis.model.predicates import is_about_event

__all__ = ["Selectivity"]

_KEPT = 64
"""Events remembered per attribute: an estimate is then off by some hundredths, which is enough to choose by."""
_FEW = 8
"""Fewer than this say nothing."""
_MOST_ATTRIBUTES = 1000
_EVERY = 8
"""One event in so many is looked at once the memory is full."""


def _guess(operator: Operator) -> float:
    """The share of events that satisfy a predicate of which nothing is known."""
    row = OPERATORS[operator]
    match row.shape:
        case Shape.POINTS:
            return 0.9 if row.negated else 0.01 if operator is Operator.EQ else 0.05
        case Shape.PREFIX | Shape.SUFFIX | Shape.SUBSTRING | Shape.PATTERN:
            return 0.9 if row.negated else 0.1
        case Shape.BELOW | Shape.UP_TO | Shape.ABOVE | Shape.FROM:
            return 0.5
        case Shape.COUNT:
            return 0.3
        case Shape.RECORDS:
            return 0.5 if row.negated else 0.1
        case Shape.PRESENCE:
            return 0.3 if row.negated else 0.95
        case never:
            assert_never(never)


class Selectivity:
    """Values of recent events. Observing costs O(attributes of the event), estimating O(values kept)."""

    def __init__(self, schema: Schema, events: Iterable[Event] = ()) -> None:
        self._schema = schema
        self._seen = 0
        self._observed = 0
        self._having: dict[str, int] = {}
        self._values: dict[str, deque[tuple[Value, ...]]] = {}
        for event in events:
            self._observe(event)

    def observe(self, event: Event) -> None:
        """Look at the event, or once there is enough to go by, at one in a few."""
        self._seen += 1
        if self._observed < _KEPT or self._seen % _EVERY == 0:
            self._observe(event)

    def _observe(self, event: Event) -> None:
        self._observed += 1
        for name, values in event.values.items():
            if name not in self._values and len(self._values) >= _MOST_ATTRIBUTES:
                continue
            self._having[name] = self._having.get(name, 0) + 1
            self._values.setdefault(name, deque(maxlen=_KEPT)).append(values)

    def selectivity(self, predicate: Predicate) -> float:
        """The share of events expected to satisfy the predicate."""
        guess = _guess(predicate.operator)
        kept = list(self._values.get(predicate.attribute, ()))
        if len(kept) < _FEW or predicate.operator is Operator.MISSING or is_about_event(predicate):
            return guess
        held = sum(self._holds(predicate, values) for values in kept)
        return (held + guess) / (len(kept) + 1) * self._having[predicate.attribute] / self._observed

    def _holds(self, predicate: Predicate, values: tuple[Value, ...]) -> bool:
        if predicate.operator not in COMPARISONS:
            return conjunction_holds(self._schema, (predicate,), Event({predicate.attribute: values}))
        domain = self._schema.domain(predicate.attribute)
        assert domain is not None
        return any(compare(domain, predicate.operator, value, predicate.constants) for value in values)
