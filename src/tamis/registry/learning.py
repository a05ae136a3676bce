"""What an open schema learns from events, for statistics alone: attributes that they have, and the kinds of values.

Matching reads what subscriptions use and nothing else, so this is learned from a sample: of the first thousand events
all of it, later of the first event of each batch, and of one single event in a thousand. Nothing is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from tamis.errors import EventError, LimitError
from tamis.model import Kind, Schema
from tamis.model.names import flatten_mapping
from tamis.model.values import ValueRefused
from tamis.registry.attributes import Attributes

__all__ = ["MAX_LEARNED", "MAX_LEARNED_CHARACTERS", "Learned"]

_FIRST = 1_000
"""So many events are looked at whole, and of single events one in so many afterwards."""
MAX_LEARNED = 10_000
MAX_LEARNED_CHARACTERS = 1 << 20
"""Attribute names that an open schema remembers for its statistics, and the characters of all of them: bounds on what
strange events can make us keep."""


class Learned:
    """Names and kinds seen so far."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._left = _FIRST if schema.open else 0
        self._singles = 0
        self._letters = 0
        self.names: Attributes = {}

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
        if not self._schema.open:
            return
        for raw in islice(sample(max(self._left, 1)), max(self._left, 1)):
            self._left = max(self._left - 1, 0)
            if isinstance(raw, Mapping):
                self._look_at(raw)

    def _look_at(self, raw: Mapping[str, object]) -> None:
        try:
            for name, found in flatten_mapping(raw):
                if found is not None and (name in self.names or self._has_room(name)):
                    self._add(name, found if isinstance(found, list | tuple | set | frozenset) else (found,))
        except (EventError, LimitError):  # a key that is no name, objects too deep: what comes before it was learned
            return

    def _has_room(self, name: str) -> bool:
        return len(self.names) < MAX_LEARNED and self._letters + len(name) <= MAX_LEARNED_CHARACTERS

    def _add(self, name: str, found: Iterable[object]) -> None:
        domain = self._schema.domain(name)
        assert domain is not None
        kinds: set[Kind] = set()
        for one in islice(found, _FIRST):
            try:
                kinds.add(domain.value(one).kind)
            except ValueRefused:
                continue
        if kinds and name not in self.names:
            self._letters += len(name)
        if kinds:
            self.names.setdefault(name, set()).update(kinds)
