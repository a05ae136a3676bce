"""Names of nested attributes: `{"seller": {"rating": 5}}` has the attribute `seller.rating`.

The one rule for whatever has fields within fields: mappings here, structs of Arrow in `batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from tamis.errors import EventError, LimitError
from tamis.model.values import ValueRefused, is_text, show_raw

__all__ = ["MAX_DEPTH", "MAX_NAME", "MAX_NAMES", "flatten", "flatten_mapping"]

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


def flatten(
    fields: Iterable[tuple[object, T]], inside: Callable[[T], Iterable[tuple[object, T]] | None]
) -> Iterator[tuple[str, T]]:
    """Dotted name → what has no fields of its own; `inside` gives the fields of what has some, else None.

    A name may come twice, nested and with a dot.
    """
    open_objects: list[tuple[str, Iterator[tuple[object, T]]]] = [("", iter(fields))]
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


def flatten_mapping(raw: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Names and values of mappings within a mapping, dotted."""
    return flatten(raw.items(), _items)


def _items(found: object) -> Iterable[tuple[Any, object]] | None:
    return found.items() if type(found) not in _LEAVES and isinstance(found, Mapping) else None


def _joined(prefix: str, name: str) -> str:
    length = len(prefix) + len(name)
    if length > MAX_NAME:
        raise _too_much("characters in a name", MAX_NAME, length, f": {show_raw(prefix + name[:64])}")
    return prefix + name


def _too_much(what: str, limit: int, found: int, where: str = "") -> LimitError:
    return LimitError(f"expected at most {limit:,} {what}, found {found:,}{where}", limit, found)


def _name(key: object) -> str:
    if not isinstance(key, str) or not key:
        raise EventError(f"expected attribute names as keys, found {show_raw(key)}")
    try:
        return is_text(key)
    except ValueRefused as error:
        raise EventError(f"attribute {show_raw(key)}: {error}") from None
