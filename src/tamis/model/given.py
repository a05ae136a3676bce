"""A mapping as it came → raw values by their dotted names, and lists of records.

    {"seller": {"rating": 5}, "variants": [{"size": "M"}, {"size": "L", "stock": 0}]}

    values    seller.rating: 5      variants.size: "M", "L"      variants.stock: 0
    lists     variants: what {"size": "M"} has, what {"size": "L", "stock": 0} has

What is missing has no name here. A value within records counts once for each list around it, so that lists inside one
another cost no more than the limits say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tamis.errors import EventError, LimitError
from tamis.model.names import MAX_DEPTH, MAX_NAMES, Used, checked_length, flatten_mapping
from tamis.model.values import show_raw

if TYPE_CHECKING:
    from tamis.model.events import Event

__all__ = ["MAX_VALUES", "Given"]

MAX_VALUES = 100_000
"""Values in one event, over all its attributes, records among them. Far past any real event; a bound on what one event
may cost."""

_SEVERAL = (list, tuple, set, frozenset)
_PLAIN = frozenset((str, int, float, bool))
_NO_RECORD = _PLAIN | {list, tuple}
"""Types that are no mapping for sure."""


class _Budget:
    """What an event may still have, its records with it."""

    def __init__(self) -> None:
        self._values = self._letters = 0

    def spend(self, values: int) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            found = self._values
            raise LimitError(f"expected at most {MAX_VALUES:,} values in one event, found {found:,}", MAX_VALUES, found)

    def spend_name(self, length: int) -> None:
        self._letters += length
        if self._letters > MAX_NAMES:
            message = f"expected at most {MAX_NAMES:,} characters in all names of one event, found more"
            raise LimitError(message, MAX_NAMES, self._letters)


class Given:
    """What an event, or a record, has; of it what is used, where that is given."""

    __slots__ = ("_budget", "_depth", "event", "lists", "spread", "values")

    def __init__(
        self, raw: Mapping[str, object], used: Used | None = None, budget: _Budget | None = None, depth: int = 0
    ) -> None:
        self.values: dict[str, list[object]] = {}
        self.lists: dict[str, list[Given]] = {}
        self.spread: set[str] = set()
        """Names whose values were found in records."""
        self.event: Event | None = None
        """What was made of it, once it was read."""
        self._budget = budget
        self._depth = depth
        count = self._read(raw, used)
        if count > MAX_VALUES or self._budget is not None:
            self._open_budget().spend(count)

    def _open_budget(self) -> _Budget:
        if self._budget is None:
            self._budget = _Budget()
        return self._budget

    def _read(self, raw: Mapping[str, object], used: Used | None) -> int:
        values, count = self.values, 0
        for name, found in flatten_mapping(raw, used):
            choice: list[Any]
            if isinstance(found, _SEVERAL):
                choice = [one for one in found if one is not None]
            elif found is not None:
                choice = [found]
            else:
                continue
            if name in values or name in self.lists:
                raise _twice(name)
            count += len(choice)
            if type(found) not in _PLAIN and _are_records(name, choice):
                self._add_list(name, choice, None if used is None else used.within(name))
            elif choice:
                values[name] = choice
        return count

    def _add_list(self, name: str, records: list[Mapping[str, object]], used: Used | None) -> None:
        """The records of a list, and what they have by dotted names: none of it may come from elsewhere too."""
        depth = self._depth + 1
        if depth > MAX_DEPTH:
            raise LimitError(f"expected at most {MAX_DEPTH} objects inside one another, found more", MAX_DEPTH, depth)
        budget = self._open_budget()
        listed = [Given(one, used, budget, depth) for one in records]
        values: dict[str, list[object]] = {}
        lists: dict[str, list[Given]] = {name: listed}
        for one in listed:
            for field, choice in one.values.items():
                budget.spend(len(choice))
                values.setdefault(_dotted(name, field, budget), []).extend(choice)
            for field, inner in one.lists.items():
                budget.spend(len(inner))
                lists.setdefault(_dotted(name, field, budget), []).extend(inner)
        for dotted in (*values, *lists):
            if dotted in self.values or dotted in self.lists:
                raise _twice(dotted)
            if dotted in values and dotted in lists:
                raise _mixed(dotted)
        self.values |= values
        self.lists |= lists
        self.spread.update(values)


def _dotted(outer: str, name: str, budget: _Budget) -> str:
    length = len(outer) + 1 + len(name)
    checked_length(length, f"{outer}.{name[:64]}")
    budget.spend_name(length)
    return f"{outer}.{name}"


def _are_records(name: str, choice: list[Any]) -> bool:
    """Whether these are records; records and plain values together are refused."""
    if _NO_RECORD.issuperset(map(type, choice)):
        return False
    count = sum(isinstance(one, Mapping) for one in choice)
    if 0 < count < len(choice):
        raise _mixed(name)
    return count > 0


def _mixed(name: str) -> EventError:
    message = f"attribute {show_raw(name)}: expected records or plain values, found both"
    return EventError(message, attribute=name)


def _twice(name: str) -> EventError:
    return EventError(f"the attribute {show_raw(name)} is given twice, nested and with a dot", attribute=name)
