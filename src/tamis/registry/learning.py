"""What an open schema learns from events, for statistics alone: attributes that they have, and the kinds of values.

Matching reads what subscriptions use and nothing else, so this is learned from a sample: of the first thousand events
all of it, later of the first event of each batch, and of one single event in a thousand. Nothing is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from tamis.errors import EventError, LimitError
from tamis.model import Kind, Schema, Value
from tamis.model.names import flatten_mapping, has_records
from tamis.model.values import ValueRefused
from tamis.registry.attributes import Attributes

__all__ = ["MAX_LEARNED", "MAX_LEARNED_CHARACTERS", "Learned", "Seen"]

_FIRST = 1_000
"""So many events are looked at whole, and of single events one in so many afterwards."""
_RECORDS = 3
"""Of a list, the first ones are looked into,"""
_DEEPEST = 4
"""and of lists within them, so far."""
MAX_LEARNED = 10_000
MAX_LEARNED_CHARACTERS = 1 << 20
"""Attribute names that an open schema remembers for its statistics, and the characters of all of them: bounds on what
strange events can make us keep."""


class Seen(NamedTuple):
    """What events were seen to have."""

    events: int
    """How many were looked at."""
    kinds: Attributes
    several: frozenset[str]
    """Attributes that some event gave several values."""

    def joined(self, other: Seen) -> Seen:
        """What was seen by either."""
        names = self.kinds.keys() | other.kinds.keys()
        kinds = {name: self.kinds.get(name, set()) | other.kinds.get(name, set()) for name in names}
        return Seen(self.events + other.events, kinds, self.several | other.several)


class Learned:
    """Names and kinds seen so far. `first` events are looked at whole, by default some if the schema is open."""

    def __init__(self, schema: Schema, first: int | None = None) -> None:
        self._schema = schema
        self._left = first if first is not None else _FIRST if schema.open else 0
        self._singles = 0
        self._letters = 0
        self.names: Attributes = {}
        self._several: set[str] = set()
        self._looked_at = 0

    def seen(self) -> Seen:
        """What it is now; readers may go on learning."""
        kinds = {name: set(kinds) for name, kinds in list(self.names.items())}
        return Seen(self._looked_at, kinds, frozenset(self._several.copy()))

    def take(self, other: Learned) -> None:
        """Know what another knew."""
        self.names |= other.names
        self._several |= other._several
        self._looked_at += other._looked_at

    def from_one(self, raw: Mapping[str, object]) -> None:
        """An event that came on its own."""
        if self._left > 0:
            self._left -= 1
        else:
            self._singles += 1
            if self._singles % _FIRST or not self._schema.open:
                return
        self._look_at(raw)

    def from_many(self, sample: Callable[[int], Iterable[object]]) -> None:
        """A batch of events; `sample` gives the first ones of it, as many as are wanted, those that can be read."""
        if not self._schema.open and self._left <= 0:
            return
        for raw in islice(sample(max(self._left, 1)), max(self._left, 1)):
            self._left = max(self._left - 1, 0)
            if isinstance(raw, Mapping):
                self._look_at(raw)

    def _look_at(self, raw: Mapping[str, object]) -> None:
        self._looked_at += 1
        try:
            self._look_into(raw, "", 0)
        except (EventError, LimitError):  # a key that is no name, objects too deep: what comes before it was learned
            return

    def _look_into(self, raw: Mapping[str, object], prefix: str, depth: int) -> None:
        for name, found in flatten_mapping(raw, prefix=prefix):
            if found is not None and (name in self.names or self._has_room(name)):
                self._add(name, found if isinstance(found, list | tuple | set | frozenset) else (found,))
                if depth:  # a field has the values of all records
                    self._several.add(name)
                if depth < _DEEPEST and isinstance(found, list | tuple) and has_records(found):
                    for one in islice(found, _RECORDS):
                        if isinstance(one, Mapping):
                            self._look_into(one, f"{name}.", depth + 1)

    def _has_room(self, name: str) -> bool:
        return len(self.names) < MAX_LEARNED and self._letters + len(name) <= MAX_LEARNED_CHARACTERS

    def _add(self, name: str, found: Iterable[object]) -> None:
        domain = self._schema.domain(name)
        if domain is None:
            return
        kinds: set[Kind] = set()
        values: set[Value] = set()
        for one in islice(found, _FIRST):
            try:
                if isinstance(one, Mapping):
                    kinds.add(Kind.RECORD)
                else:
                    values.add(domain.value(one))
            except ValueRefused:
                continue
        kinds |= {value.kind for value in values}
        if len(values) > 1:
            self._several.add(name)
        if kinds and name not in self.names:
            self._letters += len(name)
        if kinds:
            self.names.setdefault(name, set()).update(kinds)
