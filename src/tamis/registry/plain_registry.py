"""Any algorithm of `MATCHERS` behind the engine: a dictionary of ids and texts under a lock, saved to one file.

The adaptive engine has a registry of its own (`tamis.segments.segment_registry`), which keeps ids and texts in columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis import forks
from tamis.batches.batch import ReadBatch
from tamis.errors import LanguageError, LimitError, OptionError, TamisError, UnknownSubscription
from tamis.matchers.base import Entry, Matcher, Rows
from tamis.matchers.naive import Naive
from tamis.matches import ListedIds, Matches
from tamis.model import Conjunction, Event, Schema, SubscriptionId
from tamis.model.names import Used
from tamis.registry.attributes import Attributes, attributes_of
from tamis.registry.finishing import finish
from tamis.registry.locks import ReadWriteLock
from tamis.registry.receipts import Receipt, Unreadable, notes_on, parse_text
from tamis.store.atomic import PRIVATE
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

    A forked child has a matcher of its own, made when it is first asked, if the parent's was half changed or is
    `connected` to something that stays with the parent; without `renew`, the oracle.
    """

    def __init__(
        self,
        schema: Schema,
        algorithm: str,
        matcher: Matcher,
        renew: Callable[[], Matcher] | None = None,
        connected: bool = False,
    ) -> None:
        self.schema = schema
        self._algorithm = algorithm
        self._matcher = matcher
        self._renew = renew
        self._connected = connected
        self._held: dict[SubscriptionId, _Held] = {}
        self._ids: dict[int, SubscriptionId] = {}
        self._next_key = 0
        self.used = Used.of((), whole=True)
        """The attributes that subscriptions name, also those that have gone."""
        self._lock = ReadWriteLock()
        self._changing = False
        self._noting: Callable[[], None] | None = None
        self._doubtful = False
        """In a child, until it is asked: whether its matcher is of no use there."""
        forks.tell(self)

    def after_fork(self) -> None:
        self._lock.after_fork()
        if self._noting is not None:
            self._note(self._noting)
        elif self._changing or self._connected:
            self._doubtful = True
        if self._connected:
            forks.never_free(self._matcher)

    # -- subscribing ------------------------------------------------------------------------------------------

    def subscribe(self, id: SubscriptionId, text: str) -> Receipt:
        return self._apply({id: (text, parse_text(text, self.schema))})

    def subscribe_many(self, pairs: Iterable[tuple[SubscriptionId, str]]) -> Receipt:
        parsed: dict[SubscriptionId, tuple[str, tuple[Conjunction, ...]]] = {}
        unreadable = []
        for row, (id, text) in enumerate(pairs):
            try:
                conjunctions = parse_text(text, self.schema)
            except (LanguageError, LimitError) as error:
                unreadable.append((row, id, error))
                continue
            parsed.pop(id, None)
            parsed[id] = (text, conjunctions)
        if unreadable:
            raise Unreadable(unreadable)
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
        return Receipt(len(held), len(replaced), never, notes=notes)

    def unsubscribe(self, id: SubscriptionId) -> None:
        with self._lock.writing():
            held = self._held.get(id)
            if held is None:
                raise UnknownSubscription(id)
            self._change([], [held.key], partial(self._forget, id, held.key))

    def unsubscribe_many(self, ids: Sequence[SubscriptionId]) -> None:
        with self._lock.writing():
            known = list(dict.fromkeys(ids))
            for id in known:
                if id not in self._held:
                    raise UnknownSubscription(id)
            keys = [self._held[id].key for id in known]
            self._change([], keys, partial(self._forget_many, known, keys))

    def _forget_many(self, ids: Sequence[SubscriptionId], keys: Sequence[int]) -> None:
        for id, key in zip(ids, keys, strict=True):
            self._forget(id, key)

    def _change(self, come: Sequence[Entry], gone: Sequence[int], note: Callable[[], None]) -> None:
        """Tell the matcher, then note it: wholly or, whatever is raised meanwhile, not at all."""
        added = told = False
        self._settle_doubts()
        self._changing = True
        try:
            self._matcher.add(come)
            added = True
            self._matcher.remove(gone)
            told = True
            self._note(note)
        except BaseException as error:
            if told:
                finish(self._note, note)
            elif added or not isinstance(error, TamisError):  # an error of ours comes before a change
                finish(self._learn_again)
            raise
        finally:
            self._changing = False

    def _note(self, note: Callable[[], None]) -> None:
        """A child forked meanwhile has it half done, and sees it through."""
        self._noting = note
        note()
        self._noting = None

    def _exchange(self, held: Mapping[SubscriptionId, _Held], replaced: Sequence[int], next_key: int) -> None:
        for key in replaced:
            self._ids.pop(key, None)
        for id in held:
            self._held.pop(id, None)
        self._held.update(held)
        self._ids.update((one.key, id) for id, one in held.items())
        self._next_key = next_key
        found: Attributes = {}
        for one in held.values():
            attributes_of(one.conjunctions, found)
        if found.keys() - self.used.names:
            self.used = Used.of(self.used.names | found.keys(), whole=True)

    def _forget(self, id: SubscriptionId, key: int) -> None:
        self._held.pop(id, None)
        self._ids.pop(key, None)

    def _learn_again(self) -> None:
        if self._renew is not None:
            self._take(self._renew())

    def _take(self, matcher: Matcher) -> None:
        matcher.add([(one.key, one.conjunctions) for one in self._held.values()])
        self._matcher = matcher

    def _settle_doubts(self) -> None:
        """The lock for writing is held."""
        if self._doubtful:
            self._take(self._renew() if self._renew is not None else Naive(self.schema))
            self._doubtful = False

    @contextmanager
    def _reading(self) -> Iterator[None]:
        if self._doubtful:
            with self._lock.writing():
                self._settle_doubts()
        with self._lock.reading():
            yield

    # -- matching ---------------------------------------------------------------------------------------------

    def match(self, raw: Mapping[str, object]) -> list[SubscriptionId]:
        with self._reading():
            return self._match(self.schema.event(raw, self.used))

    def match_event(self, event: Event) -> list[SubscriptionId]:
        with self._reading():
            return self._match(event)

    def _match(self, event: Event) -> list[SubscriptionId]:
        return [self._ids[int(key)] for key in sorted(self._matcher.match(event))]

    def match_many(self, read: ReadBatch, threads: int = 1) -> Matches:
        with self._reading():
            events = read(self.used).events()
            found = self._matcher.match_many(events)
            unique, codes = np.unique(found.items, return_inverse=True)
            ids = ListedIds([self._ids[int(key)] for key in unique])
        return Matches(Rows(found.offsets, codes.astype(np.int64)), ids)

    def count_many(self, read: ReadBatch) -> npt.NDArray[np.int64]:
        return self.match_many(read).counts()

    def observe(self, events: Sequence[Event]) -> None:
        """The papers' algorithms learn from the events they match, if at all."""

    def settle(self) -> None:
        """They do nothing in the background."""

    # -- about what is held -----------------------------------------------------------------------------------

    def text(self, id: SubscriptionId) -> str:
        with self._reading():  # a replacement in progress is not seen half done
            held = self._held.get(id)
        if held is None:
            raise UnknownSubscription(id)
        return held.text

    def items(self) -> list[tuple[SubscriptionId, str]]:
        with self._reading():
            return [(id, held.text) for id, held in self._held.items()]

    def __len__(self) -> int:
        with self._reading():
            return len(self._held)

    def __contains__(self, id: object) -> bool:
        with self._reading():
            return id in self._held

    def stats(self) -> dict[str, Any]:
        with self._reading():
            stats = self._matcher.stats()
            found: dict[str, Any] = {"subscriptions": len(self._held), "conjunctions": stats.conjunctions}
            found |= {"bytes": stats.bytes, "work": dict(stats.work)}
            found["never_matching"] = sum(not one.conjunctions for one in self._held.values())
            return found | dict(stats.details)

    def attributes(self) -> Attributes:
        found: Attributes = {}
        with self._reading():
            for held in self._held.values():
                attributes_of(held.conjunctions, found)
        return found

    def check(self) -> None:
        with self._reading():
            assert self._ids == {held.key: id for id, held in self._held.items()}, "ids and keys disagree"
            self._matcher.check()

    # -- keeping ----------------------------------------------------------------------------------------------

    def save(self, path: Path, mode: int | None = None) -> None:
        write_saved(path, Saved(self.schema, self._algorithm, self.items()), PRIVATE if mode is None else mode)

    def extend(self, addition: Schema) -> Schema:
        raise OptionError(
            f"only the adaptive engine extends its schema while it lives; make a new one for {self._algorithm!r}"
        )

    @property
    def mark(self) -> int | None:
        return None

    def checkpoint_at(self, mark: int) -> None:
        raise OptionError("only an engine opened with marked=True has checkpoints with marks")

    def refresh(self) -> bool:
        raise OptionError("only an engine that reads a folder beside its writer is refreshed; see read_only=True")

    @property
    def path(self) -> Path | None:
        return None

    def close(self) -> None:
        """There is nothing outside the process."""
