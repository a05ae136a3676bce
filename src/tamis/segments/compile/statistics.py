"""What is known of events: how often an attribute is there, and how often it has which value.

`AttributeCodes.chances` makes of it what the choice of homes asks: how likely is an event to have this code?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tamis.model import Event, Kind, Value
from tamis.model.values import exact

__all__ = ["MOST_FREQUENT", "AttributeStatistics", "Statistics", "distance", "observe"]

MOST_FREQUENT = 1000
"""Most frequent values kept per attribute."""


@dataclass(frozen=True)
class AttributeStatistics:
    """Shares of events: `present` have the attribute, `frequent[value]` have the value; `distinct` values were seen."""

    present: float
    distinct: int
    frequent: Mapping[Value, float] = field(default_factory=dict)

    @property
    def other(self) -> float:
        """The chance of a value that is not among the frequent ones."""
        rest = max(self.present - sum(self.frequent.values()), 0.0)
        return rest / max(self.distinct - len(self.frequent), 1)


@dataclass(frozen=True)
class Statistics:
    """Statistics by attribute, over `events` events."""

    events: int
    attributes: Mapping[str, AttributeStatistics]

    def to_json(self) -> dict[str, Any]:
        return {
            "events": self.events,
            "attributes": {
                name: [one.present, one.distinct, [[int(v.kind), v.data, share] for v, share in one.frequent.items()]]
                for name, one in self.attributes.items()
            },
        }

    @staticmethod
    def from_json(found: Any) -> Statistics:
        """What `to_json` made; `ValueError` or `TypeError` if it is something else: a file may hold anything."""
        if not isinstance(found, dict) or not isinstance(found.get("attributes"), dict):
            raise ValueError("expected statistics by attribute")
        return Statistics(
            int(found["events"]), {name: _attribute_of(*one) for name, one in found["attributes"].items()}
        )


def _attribute_of(present: Any, distinct: Any, frequent: Any) -> AttributeStatistics:
    values = {_value_of(kind, data): _share(share) for kind, data, share in frequent}
    if type(distinct) is not int or distinct < 0:
        raise ValueError("expected a number of values")
    return AttributeStatistics(_share(present), distinct, values)


def _share(found: Any) -> float:
    if type(found) not in (int, float) or not 0 <= found <= 1:
        raise ValueError("expected a share from 0 to 1")
    return float(found)


_DATA: dict[Kind, tuple[type, ...]] = {Kind.STRING: (str,), Kind.NUMBER: (int, float), Kind.BOOLEAN: (bool, int)}


def _value_of(kind: Any, data: Any) -> Value:
    found = Kind(kind)
    if type(data) not in _DATA.get(found, (int,)) or data != data:  # NaN alone differs from itself
        raise ValueError(f"expected a {found.name.lower()}")
    return Value(found, exact(data) if type(data) is int else data)


def observe(events: Iterable[Event]) -> Statistics:
    """Statistics of a sample."""
    count = 0
    seen: dict[str, Counter[Value]] = {}
    present: Counter[str] = Counter()
    for event in events:
        count += 1
        for name, values in event.values.items():
            present[name] += 1
            seen.setdefault(name, Counter()).update(values)
    return Statistics(
        count,
        {
            name: AttributeStatistics(
                present[name] / count, len(values), {v: times / count for v, times in values.most_common(MOST_FREQUENT)}
            )
            for name, values in seen.items()
        },
    )


def distance(one: Statistics | None, other: Statistics | None) -> float:
    """How far apart two are, from 0 to 1: of the attribute where they differ most, the share of events that would have
    to have another value. 1 where nothing is known on one side."""
    if one is None or other is None:
        return 0.0 if one is other else 1.0
    names = one.attributes.keys() | other.attributes.keys()
    return max((_apart(one.attributes.get(name), other.attributes.get(name)) for name in names), default=0.0)


def _apart(one: AttributeStatistics | None, other: AttributeStatistics | None) -> float:
    known = [found for found in (one, other) if found is not None]
    if len(known) < 2:
        return max(found.present for found in known)
    values = {value for found in known for value in found.frequent}
    shares = [[found.frequent.get(value, 0.0) for found in known] for value in values]
    return min(sum(abs(before - after) for before, after in shares) / 2, 1.0)
