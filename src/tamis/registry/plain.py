"""Ids and texts around an algorithm: what stands between the engine and a `Matcher`.

`Registry` is what the engine asks; `PlainRegistry` serves any algorithm of `MATCHERS` from a dictionary under a lock.
The adaptive engine has a registry of its own (`tamis.segments.segment_registry`), which keeps ids and texts in columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import LanguageError, LimitError, OptionError, UnknownSubscription
from tamis.language import parse
from tamis.matchers.base import Matcher
from tamis.model import Conjunction, Event, Kind, Reference, Schema, SubscriptionId
from tamis.model.values import show_raw
from tamis.registry.locks import ReadWriteLock

__all__ = ["Attributes", "Found", "Ids", "ListedIds", "PlainRegistry", "Receipt", "Registry"]
__all__ += ["arrow_ids", "attributes_of", "parse_row", "parse_text"]

Attributes = dict[str, set[Kind]]
"""Names, and the kinds of values each is compared with."""


class Receipt(NamedTuple):
    """What a `subscribe` did. `never_matching` are ids whose expression contradicts itself."""

    subscribed: int
    replaced: int
    never_matching: tuple[SubscriptionId, ...]


class Ids(Protocol):
    """The ids that the codes of an answer stand for."""

    def __len__(self) -> int: ...

    def __getitem__(self, code: int, /) -> SubscriptionId: ...

    def listed(self, codes: npt.NDArray[np.integer]) -> list[SubscriptionId]:
        """The ids of many codes."""

    def column(self, codes: npt.NDArray[np.integer]) -> pa.Array:
        """The same in Arrow; `OptionError` if no type can hold them."""


class Found(NamedTuple):
    """A batch's answer: event i matched `ids[code]` for the codes from `offsets[i]` to `offsets[i + 1]`."""

    offsets: npt.NDArray[np.int64]
    codes: npt.NDArray[np.integer]
    ids: Ids


class ListedIds:
    """Ids in a list."""

    def __init__(self, ids: list[SubscriptionId]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, code: int) -> SubscriptionId:
        return self._ids[code]

    def listed(self, codes: npt.NDArray[np.integer]) -> list[SubscriptionId]:
        return [self._ids[code] for code in codes.tolist()]

    def column(self, codes: npt.NDArray[np.integer]) -> pa.Array:
        return arrow_ids(self.listed(codes))


def arrow_ids(listed: list[SubscriptionId]) -> pa.Array:
    """Ids as an Arrow array of strings or of integers."""
    try:
        return pa.array(listed) if listed else pa.array([], pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise OptionError("the ids (strings and integers, or integers too far apart) fit no Arrow type") from None


class Registry(Protocol):
    """Subscriptions by id. Any number of threads may call it; what raises has changed nothing."""

    def subscribe(self, id: SubscriptionId, text: str) -> Receipt: ...

    def subscribe_many(self, pairs: Iterable[tuple[SubscriptionId, str]]) -> Receipt: ...

    def unsubscribe(self, id: SubscriptionId) -> None: ...

    def match(self, event: Event) -> list[SubscriptionId]: ...

    def match_many(self, events: Sequence[Event]) -> Found: ...

    def text(self, id: SubscriptionId) -> str: ...

    def items(self) -> list[tuple[SubscriptionId, str]]: ...

    def __len__(self) -> int: ...

    def __contains__(self, id: object) -> bool: ...

    def stats(self) -> dict[str, Any]: ...

    def attributes(self) -> Attributes: ...

    def check(self) -> None: ...


def attributes_of(conjunctions: Iterable[Conjunction], found: Attributes) -> None:
    """Add the attributes that conjunctions name to those found so far."""
    for predicate in (predicate for conjunction in conjunctions for predicate in conjunction):
        found.setdefault(predicate.attribute, set()).update(constant.kind for constant in predicate.constants)
        if isinstance(predicate.operand, Reference):
            found.setdefault(predicate.operand.attribute, set())


def parse_text(text: str, schema: Schema) -> tuple[Conjunction, ...]:
    if not isinstance(text, str):
        raise LanguageError(f"expected an expression as text, found {show_raw(text)}", 1, "")
    return parse(text, schema)


def parse_row(row: int, id: SubscriptionId, text: str, schema: Schema) -> tuple[Conjunction, ...]:
    """One of many; an error says which."""
    try:
        return parse_text(text, schema)
    except (LanguageError, LimitError) as error:
        raise at_row(row, id, error) from None


def at_row(row: int, id: SubscriptionId, error: LanguageError | LimitError) -> LanguageError | LimitError:
    """The error with the subscription it belongs to."""
    place = f"subscription {id!r} (row {row})"
    if isinstance(error, LimitError):
        return LimitError(f"{place}: {error}", error.limit, error.found)
    return LanguageError(f"{place}: {str(error).removeprefix(f'column {error.column}: ')}", error.column, error.text)


class _Held(NamedTuple):
    key: int
    text: str
    conjunctions: tuple[Conjunction, ...]


class PlainRegistry:
    """A dictionary of what is subscribed, and a matcher that knows it by keys."""

    def __init__(self, schema: Schema, matcher: Matcher) -> None:
        self._schema = schema
        self._matcher = matcher
        self._held: dict[SubscriptionId, _Held] = {}
        self._ids: dict[int, SubscriptionId] = {}
        self._next_key = 0
        self._lock = ReadWriteLock()

    def subscribe(self, id: SubscriptionId, text: str) -> Receipt:
        return self._apply({id: (text, parse_text(text, self._schema))})

    def subscribe_many(self, pairs: Iterable[tuple[SubscriptionId, str]]) -> Receipt:
        parsed: dict[SubscriptionId, tuple[str, tuple[Conjunction, ...]]] = {}
        for row, (id, text) in enumerate(pairs):
            conjunctions = parse_row(row, id, text, self._schema)
            parsed.pop(id, None)
            parsed[id] = (text, conjunctions)
        return self._apply(parsed)

    def _apply(self, parsed: Mapping[SubscriptionId, tuple[str, tuple[Conjunction, ...]]]) -> Receipt:
        with self._lock.writing():
            keys = range(self._next_key, self._next_key + len(parsed))
            held = {id: _Held(key, *one) for key, (id, one) in zip(keys, parsed.items(), strict=True)}
            self._matcher.add([(one.key, one.conjunctions) for one in held.values()])
            self._next_key = keys.stop
            replaced = [self._held.pop(id).key for id in held if id in self._held]
            self._matcher.remove(replaced)
            for key in replaced:
                del self._ids[key]
            self._held.update(held)
            self._ids.update((one.key, id) for id, one in held.items())
        never = tuple(id for id, one in held.items() if not one.conjunctions)
        return Receipt(len(held), len(replaced), never)

    def unsubscribe(self, id: SubscriptionId) -> None:
        with self._lock.writing():
            held = self._held.get(id)
            if held is None:
                raise UnknownSubscription(id)
            self._matcher.remove([held.key])
            del self._held[id]
            del self._ids[held.key]

    def match(self, event: Event) -> list[SubscriptionId]:
        with self._lock.reading():
            return [self._ids[int(key)] for key in sorted(self._matcher.match(event))]

    def match_many(self, events: Sequence[Event]) -> Found:
        with self._lock.reading():
            offsets, keys = self._matcher.match_many(events)
            unique, codes = np.unique(keys, return_inverse=True)
            return Found(offsets, codes.astype(np.int64), ListedIds([self._ids[int(key)] for key in unique]))

    def text(self, id: SubscriptionId) -> str:
        with self._lock.reading():  # a replacement in progress is not seen half done
            held = self._held.get(id)
        if held is None:
            raise UnknownSubscription(id)
        return held.text

    def items(self) -> list[tuple[SubscriptionId, str]]:
        with self._lock.reading():
            return [(id, held.text) for id, held in self._held.items()]

    def __len__(self) -> int:
        with self._lock.reading():
            return len(self._held)

    def __contains__(self, id: object) -> bool:
        with self._lock.reading():
            return id in self._held

    def stats(self) -> dict[str, Any]:
        with self._lock.reading():
            stats = self._matcher.stats()
            found: dict[str, Any] = {"subscriptions": len(self._held), "conjunctions": stats.conjunctions}
            found |= {"bytes": stats.bytes, "work": dict(stats.work)}
            found["never_matching"] = sum(not one.conjunctions for one in self._held.values())
            return found | dict(stats.details)

    def attributes(self) -> Attributes:
        found: Attributes = {}
        with self._lock.reading():
            for held in self._held.values():
                attributes_of(held.conjunctions, found)
        return found

    def check(self) -> None:
        with self._lock.reading():
            assert self._ids == {held.key: id for id, held in self._held.items()}, "ids and keys disagree"
            self._matcher.check()
