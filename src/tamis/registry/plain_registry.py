"""Any algorithm of `MATCHERS` behind the engine: a dictionary of ids and texts under a lock, saved to one file.

The adaptive engine has a registry of its own (`tamis.segments.segment_registry`), which keeps ids and texts in columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch
from tamis.errors import UnknownSubscription
from tamis.matchers.base import Matcher, Rows
from tamis.matches import ListedIds, Matches
from tamis.model import Conjunction, Event, Schema, SubscriptionId
from tamis.registry.attributes import Attributes, attributes_of
from tamis.registry.locks import ReadWriteLock
from tamis.registry.receipts import Receipt, parse_row, parse_text
from tamis.store.saved import Saved, write_saved

__all__ = ["PlainRegistry"]


class _Held(NamedTuple):
    key: int
    text: str
    conjunctions: tuple[Conjunction, ...]


class PlainRegistry:
    """A `Registry`: a dictionary of what is subscribed, and a matcher that knows it by keys."""

    def __init__(self, schema: Schema, algorithm: str, matcher: Matcher) -> None:
        self._schema = schema
        self._algorithm = algorithm
        self._matcher = matcher
        self._held: dict[SubscriptionId, _Held] = {}
        self._ids: dict[int, SubscriptionId] = {}
        self._next_key = 0
        self._lock = ReadWriteLock()

    # -- subscribing ------------------------------------------------------------------------------------------

    def subscribe(self, id: SubscriptionId, text: str) -> Receipt:
        return self._apply({id: (text, parse_text(text, self._schema))})

    def subscribe_many(self, pairs: Iterable[tuple[SubscriptionId, str]]) -> Receipt:
        parsed: dict[SubscriptionId, tuple[str, tuple[Conjunction, ...]]] = {}
        for row, (id, text) in enumerate(pairs):
            conjunctions = parse_row(row, id, text, self._schema)
            parsed.pop(id, None)
            parsed[id] = (text, conjunctions)
        return self._apply(parsed)

    def subscribe_columns(self, ids: pa.Array, texts: pa.Array) -> Receipt:
        return self.subscribe_many(zip(ids.to_pylist(), texts.to_pylist(), strict=True))

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

    # -- matching ---------------------------------------------------------------------------------------------

    def match(self, raw: Mapping[str, object]) -> list[SubscriptionId]:
        return self.match_event(self._schema.event(raw))

    def match_event(self, event: Event) -> list[SubscriptionId]:
        with self._lock.reading():
            return [self._ids[int(key)] for key in sorted(self._matcher.match(event))]

    def match_many(self, batch: Batch, threads: int = 1) -> Matches:
        events = batch.events()
        with self._lock.reading():
            found = self._matcher.match_many(events)
            unique, codes = np.unique(found.items, return_inverse=True)
            ids = ListedIds([self._ids[int(key)] for key in unique])
        return Matches(Rows(found.offsets, codes.astype(np.int64)), ids)

    def count_many(self, batch: Batch) -> npt.NDArray[np.int64]:
        return self.match_many(batch).counts()

    def observe(self, events: Sequence[Event]) -> None:
        """The papers' algorithms learn from the events they match, if at all."""

    # -- about what is held -----------------------------------------------------------------------------------

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

    # -- keeping ----------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        write_saved(path, Saved(self._schema, self._algorithm, self.items()))

    def close(self) -> None:
        """There is nothing outside the process."""
