"""Names of nested attributes: `{"seller": {"rating": 5}}` has the attribute `seller.rating`.

The one rule for whatever has fields within fields: mappings here, structs of Arrow in `batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tamis.errors import EventError, LimitError
from tamis.model.values import ValueRefused, is_text, show_raw

__all__ = ["MAX_DEPTH", "MAX_NAME", "MAX_NAMES", "Used", "checked_length", "flatten", "flatten_mapping", "has_records"]

MAX_DEPTH = 32
"""Objects inside one another."""

MAX_NAME = 4_096
"""Characters of a name, dots and all. No name is made before its length is known."""

MAX_NAMES = 8_388_608
"""Characters of all names of an event, dotted, those of objects too: `{60,000 letters: {90,000 keys}}` is a megabyte of
JSON and would be gigabytes of names."""

T = TypeVar("T")
_LEAVES = frozenset((str, int, float, bool, list, tuple, type(None)))
"""Types that are no mapping for sure, which asking `isinstance` takes ten times as long to say."""


@dataclass(frozen=True, eq=False)
class Used:
    """The attributes that subscriptions name. In an open schema nothing else of an event is looked at."""

    names: frozenset[str]
    inside: frozenset[str]
    """What such a name begins with, up to one of its dots: an object of that name is looked into."""
    whole: bool = False
    """Whether events will be asked for one by one: there is no use in columns then."""
    _within: dict[str, Used] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, names: Iterable[str], *, whole: bool = False) -> Used:
        found = frozenset(names)
        inside = frozenset(name[:at] for name in found for at, sign in enumerate(name) if sign == ".")
        return cls(found, inside, whole)

    def within(self, outer: str) -> Used:
        """What is used of the records of a list, by their own names."""
        found = self._within.get(outer)
        if found is None:
            prefix = f"{outer}."
            found = Used.of(name.removeprefix(prefix) for name in self.names if name.startswith(prefix))
            if outer in self.names or outer in self.inside:
                self._within[outer] = found  # as many as subscriptions name
        return found


def flatten(
    fields: Iterable[tuple[object, T]], inside: Callable[[T], Iterable[tuple[object, T]] | None], prefix: str = ""
) -> Iterator[tuple[str, T]]:
    """Dotted name → what has no fields of its own; `inside` gives the fields of what has some, else None.

    A name may come twice, nested and with a dot. All begin with the `prefix`.
    """
    open_objects: list[tuple[str, Iterator[tuple[object, T]]]] = [(prefix, iter(fields))]
    letters = 0
    while open_objects:
        prefix, left = open_objects[-1]
        for key, found in left:
            name = _joined(prefix, _name(key))
            letters += len(name)
            if letters > MAX_NAMES:
                raise _too_much("characters in all names of one event", MAX_NAMES, letters)
            inner = inside(found)
            if inner is None:
                yield name, found
                continue
            if len(open_objects) > MAX_DEPTH:
                raise _too_much("objects inside one another", MAX_DEPTH, len(open_objects))
            open_objects.append((f"{name}.", iter(inner)))
            break
        else:
            open_objects.pop()


def flatten_mapping(
    raw: Mapping[str, object], used: Used | None = None, prefix: str = ""
) -> Iterator[tuple[str, object]]:
    """Names and values of mappings within a mapping, dotted; of those that are used, where that is given."""
    return flatten(raw.items(), _items, prefix) if used is None else _flatten_used(raw.items(), used, prefix, 0)


def _flatten_used(
    fields: Iterable[tuple[object, object]], used: Used, prefix: str, depth: int
) -> Iterator[tuple[str, object]]:
    """As `flatten`, without a look at what nobody names: not at a key that is no name either."""
    if depth > MAX_DEPTH:
        raise LimitError(f"expected at most {MAX_DEPTH} objects inside one another, found more", MAX_DEPTH, depth)
    for key, found in fields:
        if not isinstance(key, str) or not key:
            continue
        name = prefix + (key if type(key) is str else str.__str__(key))
        named, outer = name in used.names, name in used.inside
        if named or outer:
            inner = _items(found)
            if inner is None and (named or has_records(found)):
                yield name, found
            elif inner is not None and outer:
                yield from _flatten_used(inner, used, f"{name}.", depth + 1)


def _items(found: object) -> Iterable[tuple[Any, object]] | None:
    return found.items() if type(found) not in _LEAVES and isinstance(found, Mapping) else None


def has_records(found: object) -> bool:
    """Whether it is a list with mappings in it."""
    return isinstance(found, list | tuple) and any(isinstance(one, Mapping) for one in found)


def _joined(prefix: str, name: str) -> str:
    checked_length(len(prefix) + len(name), prefix + name[:64])
    return prefix + name


def checked_length(length: int, shown: str) -> None:
    """That a name is not too long."""
    if length > MAX_NAME:
        raise _too_much("characters in a name", MAX_NAME, length, f": {show_raw(shown)}")


def _too_much(what: str, limit: int, found: int, where: str = "") -> LimitError:
    return LimitError(f"expected at most {limit:,} {what}, found {found:,}{where}", limit, found)


def _name(key: object) -> str:
    if not isinstance(key, str) or not key:
        raise EventError(f"expected attribute names as keys, found {show_raw(key)}")
    try:
        return is_text(key)
    except ValueRefused as error:
        raise EventError(f"attribute {show_raw(key)}: {error}") from None
