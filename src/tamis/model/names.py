"""Names of nested attributes: `{"seller": {"rating": 5}}` has the attribute `seller.rating`.

The one rule for whatever has fields within fields: mappings here, structs of Arrow in `batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tamis.errors import EventError, LimitError
from tamis.model.values import ValueRefused, is_text, show_raw

__all__ = ["MAX_DEPTH", "Used", "flatten", "flatten_mapping"]

MAX_DEPTH = 32
"""Objects inside one another."""

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

    @classmethod
    def of(cls, names: Iterable[str], *, whole: bool = False) -> Used:
        found = frozenset(names)
        inside = frozenset(name[:at] for name in found for at, sign in enumerate(name) if sign == ".")
        return cls(found, inside, whole)


def flatten(
    fields: Iterable[tuple[object, T]],
    inside: Callable[[T], Iterable[tuple[object, T]] | None],
    prefix: str = "",
    depth: int = 0,
) -> Iterator[tuple[str, T]]:
    """Dotted name → what has no fields of its own; `inside` gives the fields of what has some, else None.

    A name may come twice, nested and with a dot.
    """
    if depth > MAX_DEPTH:
        raise LimitError(f"expected at most {MAX_DEPTH} objects inside one another, found more", MAX_DEPTH, depth)
    for key, found in fields:
        name = prefix + _name(key)
        inner = inside(found)
        if inner is None:
            yield name, found
        else:
            yield from flatten(inner, inside, f"{name}.", depth + 1)


def flatten_mapping(raw: Mapping[str, object], used: Used | None = None) -> Iterator[tuple[str, object]]:
    """Names and values of mappings within a mapping, dotted; of those that are used, where that is given."""
    return flatten(raw.items(), _items) if used is None else _flatten_used(raw.items(), used, "", 0)


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
            if inner is None and named:
                yield name, found
            elif inner is not None and outer:
                yield from _flatten_used(inner, used, f"{name}.", depth + 1)


def _items(found: object) -> Iterable[tuple[Any, object]] | None:
    return found.items() if type(found) not in _LEAVES and isinstance(found, Mapping) else None


def _name(key: object) -> str:
    if not isinstance(key, str) or not key:
        raise EventError(f"expected attribute names as keys, found {show_raw(key)}")
    try:
        return is_text(key)
    except ValueRefused as error:
        raise EventError(f"attribute {show_raw(key)}: {error}") from None
