"""Engine: what users hold. Ids, the edge, the lock and the choice of algorithm; no matching logic.

Readers (`match`, `match_many`, `explain`, `stats`) run side by side, writers one at a time and alone. Whatever a
call raises, the engine is as it was before the call.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.errors import EventError, LanguageError, LimitError, OptionError, UnknownSubscription
from tamis.language import parse
from tamis.matchers import MATCHERS
from tamis.matchers.explain import Explanation, explain
from tamis.matches import Matches
from tamis.model import Conjunction, Event, Kind, Schema, SubscriptionId, Value
from tamis.model.domains import hint
from tamis.model.values import ValueRefused, is_text, show_raw
from tamis.store.snapshot import Snapshot, read_snapshot, write_snapshot

__all__ = ["Engine", "Receipt"]

Events: TypeAlias = Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch
Subscriptions: TypeAlias = Iterable[tuple[SubscriptionId, str]] | pa.Table | pa.RecordBatch

_MOST_LEARNED = 10_000
"""Attribute names an open schema remembers for its statistics; a bound on what strange events can make us keep."""


class Receipt(NamedTuple):
    """What a `subscribe` did. `never_matching` are ids whose expression contradicts itself."""

    subscribed: int
    replaced: int
    never_matching: tuple[SubscriptionId, ...]


class _Held(NamedTuple):
    key: int
    text: str
    conjunctions: tuple[Conjunction, ...]


class Engine:
    """Subscriptions in, matches out.

    `Engine()` takes any event (an open schema); `Engine(Schema.load("auctions.toml"))` checks events against a
    schema. `algorithm` is a name in `tamis.matchers.MATCHERS`; `options` go to the algorithm.
    """

    def __init__(self, schema: Schema | None = None, *, algorithm: str = "naive", **options: Any) -> None:
        if algorithm not in MATCHERS:
            known = ", ".join(MATCHERS)
            near = hint(str(algorithm), MATCHERS)
            raise OptionError(f"no algorithm is called {algorithm!r}{near} (there are: {known})")
        if schema is not None and not isinstance(schema, Schema):
            raise OptionError(f"expected a Schema, found {show_raw(schema)}; Schema.load reads one from a file")
        self.schema = schema if schema is not None else Schema(open=True)
        self.algorithm = algorithm
        try:
            self._matcher = MATCHERS[algorithm](self.schema, **options)
        except TypeError as error:
            raise OptionError(f"algorithm {algorithm!r}: {error}") from None
        self._held: dict[SubscriptionId, _Held] = {}
        self._ids: dict[int, SubscriptionId] = {}
        self._next_key = 0
        self._learned: dict[str, set[Kind]] = {}
        self._lock = _ReadWriteLock()

    def __len__(self) -> int:
        """The number of subscriptions."""
        with self._lock.reading():
            return len(self._held)

    def __contains__(self, id: object) -> bool:
        with self._lock.reading():
            return id in self._held

    # -- subscribing ------------------------------------------------------------------------------------------

    def subscribe(self, id: SubscriptionId, expression: str) -> Receipt:
        """Subscribe an id, or replace what it had. A contradiction is accepted and reported in the receipt."""
        return self._apply({_checked_id(id): (expression, self._parse(expression))})

    def subscribe_many(self, subscriptions: Subscriptions) -> Receipt:
        """Pairs, or an Arrow table with columns `id` and `expression`: all of them or, on an error, none.

        An id that comes twice has its last expression. The error says which subscription is wrong.
        """
        parsed: dict[SubscriptionId, tuple[str, tuple[Conjunction, ...]]] = {}
        for row, (id, expression) in enumerate(_pairs(subscriptions)):
            try:
                conjunctions = self._parse(expression)
            except LanguageError as error:
                message = str(error).removeprefix(f"column {error.column}: ")
                raise LanguageError(f"subscription {id!r} (row {row}): {message}", error.column, error.text) from None
            except LimitError as error:
                raise LimitError(f"subscription {id!r} (row {row}): {error}", error.limit, error.found) from None
            parsed.pop(id, None)
            parsed[id] = (expression, conjunctions)
        return self._apply(parsed)

    def unsubscribe(self, id: SubscriptionId) -> None:
        """Forget an id. `UnknownSubscription` if there is none."""
        with self._lock.writing():
            held = self._held.get(_checked_id(id))
            if held is None:
                raise UnknownSubscription(id)
            self._matcher.remove([held.key])
            del self._held[id]
            del self._ids[held.key]

    def _parse(self, expression: str) -> tuple[Conjunction, ...]:
        if not isinstance(expression, str):
            raise LanguageError(f"expected an expression as text, found {show_raw(expression)}", 1, "")
        return parse(expression, self.schema)

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
            self._learn_predicates(held.values())
        never = tuple(id for id, one in held.items() if not one.conjunctions)
        return Receipt(len(held), len(replaced), never)

    def expression(self, id: SubscriptionId) -> str:
        """The text an id was subscribed with."""
        return self._find(id).text

    def ids(self) -> list[SubscriptionId]:
        """All ids, in the order of subscribing."""
        with self._lock.reading():
            return list(self._held)

    def _find(self, id: SubscriptionId) -> _Held:
        with self._lock.reading():  # a replacement in progress is not seen half done
            held = self._held.get(_checked_id(id))
        if held is None:
            raise UnknownSubscription(id)
        return held

    # -- matching ---------------------------------------------------------------------------------------------

    def match(self, event: Mapping[str, object]) -> list[SubscriptionId]:
        """The ids that the event satisfies, each once, in the order of subscribing."""
        read = self._read(event)
        self._learn_events([read])
        with self._lock.reading():
            return [self._ids[int(key)] for key in sorted(self._matcher.match(read))]

    def match_many(self, events: Events) -> Matches:
        """The answers to a batch: a list of mappings, an Arrow table or a RecordBatch."""
        rows = _arrow_rows(events) if isinstance(events, pa.Table | pa.RecordBatch) else events
        read = [self._read(event, row) for row, event in enumerate(rows)]
        self._learn_events(read)
        with self._lock.reading():
            offsets, keys = self._matcher.match_many(read)
            unique, codes = np.unique(keys, return_inverse=True)
            return Matches(offsets, codes.astype(np.int64), [self._ids[int(key)] for key in unique])

    def explain(self, id: SubscriptionId, event: Mapping[str, object]) -> Explanation:
        """Why the event does or does not match: each predicate with the value that decided it."""
        read = self._read(event)
        return explain(self.schema, self._find(id).conjunctions, read)

    def _read(self, raw: Mapping[str, object], row: int | None = None) -> Event:
        try:
            return self.schema.event(raw)
        except EventError as error:
            if row is None:
                raise
            message = str(error).removeprefix(f"{error.rule}: ")
            raise EventError(f"event {row}: {message}", error.rule, error.attribute) from None
        except LimitError as error:
            if row is None:
                raise
            raise LimitError(f"event {row}: {error}", error.limit, error.found) from None

    def _learn_events(self, events: Iterable[Event]) -> None:
        if self.schema.open:
            for name, values in (pair for event in events for pair in event.values.items()):
                self._learn(name, values)

    def _learn(self, name: str, values: Iterable[Value]) -> None:
        if name in self._learned or len(self._learned) < _MOST_LEARNED:
            self._learned.setdefault(name, set()).update(value.kind for value in values)

    def _learn_predicates(self, held: Iterable[_Held]) -> None:
        if self.schema.open:
            for predicate in (p for one in held for conjunction in one.conjunctions for p in conjunction):
                self._learn(predicate.attribute, [predicate.operand] if isinstance(predicate.operand, Value) else [])

    # -- keeping ----------------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """Counts, bytes, work counters; for an open schema also the attributes and kinds learned so far."""
        with self._lock.reading():
            stats = self._matcher.stats()
            found: dict[str, Any] = {"algorithm": self.algorithm, "subscriptions": len(self._held)}
            found |= {"conjunctions": stats.conjunctions, "bytes": stats.bytes, "work": dict(stats.work)}
            found["never_matching"] = sum(not one.conjunctions for one in self._held.values())
            found |= stats.details
            if self.schema.open:
                learned = [(name, tuple(kinds)) for name, kinds in sorted(self._learned.items())]  # readers still add
                found["attributes"] = {name: sorted(kind.name.lower() for kind in kinds) for name, kinds in learned}
            return found

    def check(self) -> None:
        """Verify every invariant; AssertionError names the one that broke. For tests and for the suspicious."""
        with self._lock.reading():
            assert self._ids == {held.key: id for id, held in self._held.items()}, "ids and keys disagree"
            self._matcher.check()

    def save(self, path: str | Path) -> None:
        """Write everything to one file, atomically."""
        with self._lock.reading():
            texts = [(id, held.text) for id, held in self._held.items()]
        write_snapshot(Path(path), Snapshot(self.schema, self.algorithm, texts))

    @classmethod
    def open(cls, path: str | Path, **options: Any) -> Engine:
        """The engine that was saved there; `options` override, e.g. `algorithm=`."""
        snapshot = read_snapshot(Path(path))
        engine = cls(snapshot.schema, **({"algorithm": snapshot.algorithm} | options))
        engine.subscribe_many(snapshot.subscriptions)
        return engine


def _checked_id(id: object) -> SubscriptionId:
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise OptionError(f"expected a subscription id that is a string or an integer, found {show_raw(id)}")
    if isinstance(id, int) and id.bit_length() > 64:
        raise OptionError(f"expected a subscription id of at most 64 bits, found {show_raw(id)}")
    try:
        return is_text(id) if isinstance(id, str) else id
    except ValueRefused as error:
        raise OptionError(f"subscription id: {error}") from None


def _arrow_rows(events: pa.Table | pa.RecordBatch) -> list[dict[str, object]]:
    try:
        rows: list[dict[str, object]] = events.to_pylist()
    except (pa.ArrowException, KeyError, OverflowError, ValueError) as error:  # a year 40,000, a zone nobody knows
        raise EventError(f"the Arrow table holds a value that Python cannot: {error}") from None
    return rows


def _pairs(subscriptions: Subscriptions) -> Iterator[tuple[SubscriptionId, str]]:
    if isinstance(subscriptions, pa.Table | pa.RecordBatch):
        missing = {"id", "expression"} - set(subscriptions.schema.names)
        if missing:
            found = ", ".join(subscriptions.schema.names)
            raise OptionError(f"expected columns 'id' and 'expression', found {found}")
        columns = (subscriptions.column(name).to_pylist() for name in ("id", "expression"))
        pairs: Iterable[Any] = zip(*columns, strict=True)
    else:
        pairs = subscriptions
    for row, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise OptionError(f"row {row}: expected a pair (id, expression), found {show_raw(pair)}")
        try:
            id = _checked_id(pair[0])
        except OptionError as error:
            raise OptionError(f"row {row}: {error}") from None
        yield id, pair[1]


class _ReadWriteLock:
    """Many readers or one writer; a waiting writer goes before new readers, so that none starves."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writers_waiting = 0
        self._writing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._writing and not self._writers_waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._condition:
            self._writers_waiting += 1
            try:
                self._condition.wait_for(lambda: not self._writing and not self._readers)
            finally:  # a writer interrupted while it waits must not hold up the readers for ever
                self._writers_waiting -= 1
                self._condition.notify_all()
            self._writing = True
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()
