"""Any algorithm of `MATCHERS` behind the engine: a dictionary of ids and texts under a lock, saved to one file.

The adaptive engine has a registry of its own (`tamis.segments.segment_registry`), which keeps ids and texts in columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch
from tamis.errors import TamisError, UnknownSubscription
from tamis.matchers.base import Entry, Matcher, Rows
from tamis.matches import ListedIds, Matches
from tamis.model import Conjunction, Event, Schema, SubscriptionId
from tamis.registry.attributes import Attributes, attributes_of
from tamis.registry.finishing import finish
from tamis.registry.locks import ReadWriteLock
from tamis.registry.receipts import Receipt, notes_on, parse_row, parse_text
from tamis.store.saved import Saved, write_saved

__all__ = ["PlainRegistry"]


class _Held(NamedTuple):
    key: int
    text: str
    conjunctions: tuple[Conjunction, ...]


class PlainRegistry:
    """A `Registry`: a dictionary of what is subscribed, and a matcher that knows it by keys.

    A matcher that is interrupted while it changes may be left half changed. `renew` makes an empty one, which then
    learns again what is subscribed; without it the matcher is trusted to have undone its half.
    """

    def __init__(
        self, schema: Schema, algorithm: str, matcher: Matcher, renew: Callable[[], Matcher] | None = None
    ) -> None:
        self._schema = schema
        self._algorithm = algorithm
        self._matcher = matcher
        self._renew = renew
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
            replaced = [self._held[id].key for id in held if id in self._held]
            entries = [(one.key, one.conjunctions) for one in held.values()]
            self._change(entries, replaced, partial(self._exchange, held, replaced, keys.stop))
        never = tuple(id for id, one in held.items() if not one.conjunctions)
        notes = notes_on(
            predicate for one in held.values() for conjunction in one.conjunctions for predicate in conjunction
        )
        return Receipt(len(held), len(replaced), never, notes)

    def unsubscribe(self, id: SubscriptionId) -> None:
        with self._lock.writing():
            held = self._held.get(id)
            if held is None:
                raise UnknownSubscription(id)
            self._change([], [held.key], partial(self._forget, id, held.key))

    def _change(self, come: Sequence[Entry], gone: Sequence[int], note: Callable[[], None]) -> None:
        """Tell the matcher, then note it: wholly or, whatever is raised meanwhile, not at all."""
        added = told = False
        try:
            self._matcher.add(come)
            added = True
            self._matcher.remove(gone)
            told = True
            note()
        except BaseException as error:
            if told:
                finish(note)
            elif added or not isinstance(error, TamisError):  # an error of ours comes before a change
                finish(self._learn_again)
            raise

    def _exchange(self, held: Mapping[SubscriptionId, _Held], replaced: Sequence[int], next_key: int) -> None:
        for key in replaced:
            self._ids.pop(key, None)
        for id in held:
            self._held.pop(id, None)
        self._held.update(held)
        self._ids.update((one.key, id) for id, one in held.items())
        self._next_key = next_key

    def _forget(self, id: SubscriptionId, key: int) -> None:
        self._held.pop(id, None)
        self._ids.pop(key, None)

    def _learn_again(self) -> None:
        if self._renew is not None:
            matcher = self._renew()
            matcher.add([(one.key, one.conjunctions) for one in self._held.values()])
            self._matcher = matcher

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
