"""How selective is a predicate? Estimated from the values that events had lately, or guessed from the operator.

Each attribute keeps its last few values, and the share of events that had it at all. Without events yet, an equality is
taken to be rare and an inequality to hold half the time, as in the query optimisers of Hanson's day.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from tamis.matchers.naive import conjunction_holds
from tamis.model import COMPARISONS, Event, Operator, Predicate, Reference, Schema, Value, compare

__all__ = ["Statistics"]

_O = Operator
_KEPT = 64
"""Events remembered per attribute: an estimate is then off by some hundredths, which is enough to choose by."""
_FEW = 8
"""Fewer than this say nothing."""
_MOST_ATTRIBUTES = 1000
_EVERY = 8
"""One event in so many is looked at once the memory is full."""

_GUESS = dict.fromkeys(Operator, 0.5) | {_O.EQ: 0.01, _O.CONTAINS: 0.05, _O.IN: 0.05, _O.STARTS: 0.1, _O.MISSING: 0.3}
_GUESS |= {_O.NE: 0.9, _O.NOT_IN: 0.9, _O.LACKS: 0.9, _O.NOT_STARTS: 0.9, _O.PRESENT: 0.95}


class Statistics:
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
        guess = _GUESS[predicate.operator]
        kept = list(self._values.get(predicate.attribute, ()))
        if len(kept) < _FEW or predicate.operator is _O.MISSING or isinstance(predicate.operand, Reference):
            return guess
        held = sum(self._holds(predicate, values) for values in kept)
        return (held + guess) / (len(kept) + 1) * self._having[predicate.attribute] / self._observed

    def _holds(self, predicate: Predicate, values: tuple[Value, ...]) -> bool:
        operand = predicate.operand
        if predicate.operator not in COMPARISONS or operand is None or isinstance(operand, Reference):
            return conjunction_holds(self._schema, (predicate,), Event({predicate.attribute: values}))
        domain = self._schema.domain(predicate.attribute)
        assert domain is not None
        return any(compare(domain, predicate.operator, value, operand) for value in values)
