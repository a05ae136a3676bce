"""Names of nested attributes: `{"seller": {"rating": 5}}` has the attribute `seller.rating`.

The one rule for whatever has fields within fields: mappings here, structs of Arrow in `batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from tamis.errors import EventError, LimitError
from tamis.model.values import ValueRefused, is_text, show_raw

__all__ = ["MAX_DEPTH", "Wanted", "flatten", "flatten_mapping"]

MAX_DEPTH = 32
"""Objects inside one another."""

T = TypeVar("T")
_LEAVES = frozenset((str, int, float, bool, list, tuple, type(None)))
"""Types that are no mapping for sure, which asking `isinstance` takes ten times as long to say."""


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


def flatten_mapping(raw: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Names and values of mappings within a mapping, dotted."""
    return flatten(raw.items(), _items)


def _items(found: object) -> Iterable[tuple[Any, object]] | None:
    return found.items() if type(found) not in _LEAVES and isinstance(found, Mapping) else None


def _name(key: object) -> str:
    if not isinstance(key, str) or not key:
        raise EventError(f"expected attribute names as keys, found {show_raw(key)}")
    try:
        return is_text(key)
    except ValueRefused as error:
        raise EventError(f"attribute {show_raw(key)}: {error}") from None


class Wanted:
    """The attributes that somebody will look at, by their dotted names; the others of an event need not be read."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self._above = frozenset(_above(self.names))

    def all_in(self, read: Wanted | None) -> bool:
        """Whether these were read; None stands for all there are."""
        return read is None or self.names <= read.names

    def leads(self, name: str) -> bool:
        """Whether it is a wanted attribute, or what has one inside."""
        return name in self.names or name in self._above

    def only(self, raw: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        """An event as it came, without what nobody wants."""
        kept: dict[str, Any] = {}
        for key, found in raw.items():
            name = prefix + key if isinstance(key, str) else ""
            if _items(found) is None:
                if name in self.names:
                    kept[key] = found
            elif name in self._above:
                kept[key] = self.only(found, f"{name}.")
        return kept


def _above(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        at = name.find(".")
        while at >= 0:
            yield name[:at]
            at = name.find(".", at + 1)
