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

__all__ = ["AttributeStatistics", "Statistics", "observe"]

_KEPT = 1000
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
    def from_json(found: Mapping[str, Any]) -> Statistics:
        return Statistics(
            found["events"],
            {
                name: AttributeStatistics(
                    present, distinct, {_value(Kind(k), data): share for k, data, share in frequent}
                )
                for name, (present, distinct, frequent) in found["attributes"].items()
            },
        )


def _value(kind: Kind, data: Any) -> Value:
    return Value(kind, exact(data) if type(data) is int else data)


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
                present[name] / count, len(values), {v: times / count for v, times in values.most_common(_KEPT)}
            )
            for name, values in seen.items()
        },
    )
