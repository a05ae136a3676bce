"""Engine: what users hold. The edge, and the choice of algorithm; no matching logic.

Readers (`match`, `match_many`, `explain`, `stats`) run side by side, writers one at a time and alone. Whatever a
call raises, the engine is as it was before the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.errors import OptionError
from tamis.language import parse
from tamis.matchers import MATCHERS
from tamis.matchers.explain import Explanation, explain
from tamis.matchers.registry import PlainRegistry, Receipt, Registry
from tamis.matches import Matches
from tamis.model import Event, Kind, Schema, SubscriptionId
from tamis.model.domains import hint
from tamis.model.values import ValueRefused, is_text, show_raw
from tamis.segments.events import Batch, arrow_rows, batch_of_events, read_row
from tamis.segments.ids import IdColumn
from tamis.segments.registry import SegmentRegistry
from tamis.store.snapshot import Snapshot, read_snapshot, write_snapshot

__all__ = ["Engine", "Receipt"]

Events: TypeAlias = Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch
Subscriptions: TypeAlias = Iterable[tuple[SubscriptionId, str]] | pa.Table | pa.RecordBatch

_MOST_LEARNED = 10_000
"""Attribute names an open schema remembers for its statistics; a bound on what strange events can make us keep."""


class Engine:
    """Subscriptions in, matches out.

    `Engine()` takes any event (an open schema); `Engine(Schema.load("auctions.toml"))` checks events against a
    schema. `algorithm` is a name in `tamis.matchers.MATCHERS`; `options` go to the algorithm.
    """

    def __init__(self, schema: Schema | None = None, *, algorithm: str = "adaptive", **options: Any) -> None:
        if algorithm not in MATCHERS:
            known = ", ".join(MATCHERS)
            near = hint(str(algorithm), MATCHERS)
            raise OptionError(f"no algorithm is called {algorithm!r}{near} (there are: {known})")
        if schema is not None and not isinstance(schema, Schema):
            raise OptionError(f"expected a Schema, found {show_raw(schema)}; Schema.load reads one from a file")
        self.schema = schema if schema is not None else Schema(open=True)
        self.algorithm = algorithm
        try:
            self._registry = _registry(self.schema, algorithm, options)
        except TypeError as error:
            raise OptionError(f"algorithm {algorithm!r}: {error}") from None
        self._learned: dict[str, set[Kind]] = {}

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._registry)

    def __contains__(self, id: object) -> bool:
        return id in self._registry

    # -- subscribing ------------------------------------------------------------------------------------------

    def subscribe(self, id: SubscriptionId, expression: str) -> Receipt:
        """Subscribe an id, or replace what it had. A contradiction is accepted and reported in the receipt."""
        return self._registry.subscribe(_checked_id(id), expression)

    def subscribe_many(self, subscriptions: Subscriptions) -> Receipt:
        """Pairs, or an Arrow table with columns `id` and `expression`: all of them or, on an error, none.

        An id that comes twice has its last expression. The error says which subscription is wrong.
        """
        if isinstance(subscriptions, pa.Table | pa.RecordBatch) and isinstance(self._registry, SegmentRegistry):
            columns = _id_columns(subscriptions)
            if columns is not None:
                return self._registry.subscribe_columns(*columns)
        return self._registry.subscribe_many(_pairs(subscriptions))

    def unsubscribe(self, id: SubscriptionId) -> None:
        """Forget an id. `UnknownSubscription` if there is none."""
        self._registry.unsubscribe(_checked_id(id))

    def expression(self, id: SubscriptionId) -> str:
        """The text an id was subscribed with."""
        return self._registry.text(_checked_id(id))

    def ids(self) -> list[SubscriptionId]:
        """All ids, in the order of subscribing."""
        return [id for id, _ in self._registry.items()]

    # -- matching ---------------------------------------------------------------------------------------------

    def match(self, event: Mapping[str, object]) -> list[SubscriptionId]:
        """The ids that the event satisfies, each once, in the order of subscribing."""
        read = self.schema.event(event)
        self._learn_events([read])
        return self._registry.match(read)

    def match_many(self, events: Events, *, threads: int = 1) -> Matches:
        """The answers to a batch: a list of mappings, an Arrow table or a RecordBatch.

        The adaptive engine splits the batch over `threads`.
        """
        if isinstance(self._registry, SegmentRegistry):
            return Matches(*self._registry.match_batch(self._batch(events), threads))
        return Matches(*self._registry.match_many(self._read_all(events)))

    def count_many(self, events: Events) -> npt.NDArray[np.int64]:
        """How many subscriptions each event satisfies, without listing them."""
        if isinstance(self._registry, SegmentRegistry):
            return self._registry.count_batch(self._batch(events))
        return np.diff(self._registry.match_many(self._read_all(events)).offsets)

    def match_iter(self, events: Events, *, at_once: int = 1_000, threads: int = 1) -> Iterator[Matches]:
        """The answers piece by piece, `at_once` events each: for batches whose whole answer would not fit in memory."""
        if at_once < 1:
            raise OptionError(f"expected at_once to be at least 1, found {at_once}")
        for first in range(0, len(events), at_once):
            piece = events.slice(first, at_once) if isinstance(events, pa.Table | pa.RecordBatch) else None
            yield self.match_many(events[first : first + at_once] if piece is None else piece, threads=threads)

    def observe(self, events: Events) -> None:
        """Learn from a sample how likely values are. Segments compiled from now on use it to choose where
        subscriptions live; those that exist are compiled again."""
        if isinstance(self._registry, SegmentRegistry):
            self._registry.observe(self._read_all(events))

    def explain(self, id: SubscriptionId, event: Mapping[str, object]) -> Explanation:
        """Why the event does or does not match: each predicate with the value that decided it."""
        read = self.schema.event(event)
        return explain(self.schema, parse(self.expression(id), self.schema), read)

    def _batch(self, events: Events) -> Batch:
        assert isinstance(self._registry, SegmentRegistry)
        if isinstance(events, pa.Table | pa.RecordBatch):
            batch = self._registry.read_arrow(events)
        else:
            batch = batch_of_events(self._read_all(events), self.schema)
        if self.schema.open:
            for name, parts in batch.parts.items():
                self._learn(name, [part.kind for part in parts])
        return batch

    def _read_all(self, events: Events) -> list[Event]:
        rows = arrow_rows(events) if isinstance(events, pa.Table | pa.RecordBatch) else events
        read = [read_row(self.schema, event, row) for row, event in enumerate(rows)]
        self._learn_events(read)
        return read

    def _learn_events(self, events: Iterable[Event]) -> None:
        if self.schema.open:
            for name, values in (pair for event in events for pair in event.values.items()):
                self._learn(name, [value.kind for value in values])

    def _learn(self, name: str, kinds: Iterable[Kind]) -> None:
        if name in self._learned or len(self._learned) < _MOST_LEARNED:
            self._learned.setdefault(name, set()).update(kinds)

    # -- keeping ----------------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """Counts, bytes, work counters; for an open schema also the attributes and kinds learned so far."""
        found: dict[str, Any] = {"algorithm": self.algorithm} | self._registry.stats()
        if self.schema.open:
            learned = [(name, tuple(kinds)) for name, kinds in sorted(self._learned.items())]  # readers still add
            found["attributes"] = {name: sorted(kind.name.lower() for kind in kinds) for name, kinds in learned}
        return found

    def check(self) -> None:
        """Verify every invariant; AssertionError names the one that broke. For tests and for the suspicious."""
        self._registry.check()

    def save(self, path: str | Path) -> None:
        """Write everything to one file, atomically."""
        write_snapshot(Path(path), Snapshot(self.schema, self.algorithm, self._registry.items()))

    @classmethod
    def open(cls, path: str | Path, **options: Any) -> Engine:
        """The engine that was saved there; `options` override, e.g. `algorithm=`."""
        snapshot = read_snapshot(Path(path))
        engine = cls(snapshot.schema, **({"algorithm": snapshot.algorithm} | options))
        engine.subscribe_many(snapshot.subscriptions)
        return engine


def _registry(schema: Schema, algorithm: str, options: dict[str, Any]) -> Registry:
    if algorithm == "adaptive":
        return SegmentRegistry(schema, **options)
    return PlainRegistry(schema, MATCHERS[algorithm](schema, **options))


def _id_columns(table: pa.Table | pa.RecordBatch) -> tuple[IdColumn, pa.Array] | None:
    """Ids and texts as columns, where they are plain; None leaves it to the careful road."""
    if not {"id", "expression"} <= set(table.schema.names):
        return None
    ids, texts = (_whole(table.column(name)) for name in ("id", "expression"))
    if ids.null_count or texts.null_count or not _is_string(texts.type):
        return None
    if pa.types.is_integer(ids.type) and not pa.types.is_uint64(ids.type):
        return IdColumn(ids.cast(pa.int64())), texts
    return (IdColumn(ids.cast(pa.large_string())), texts) if _is_string(ids.type) else None


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks) if column.num_chunks else (
            pa.array([], column.type))  # fmt: skip
    return column


def _is_string(of: pa.DataType) -> bool:
    return bool(pa.types.is_string(of) or pa.types.is_large_string(of))


def _checked_id(id: object) -> SubscriptionId:
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise OptionError(f"expected a subscription id that is a string or an integer, found {show_raw(id)}")
    if isinstance(id, int) and id.bit_length() > 64:
        raise OptionError(f"expected a subscription id of at most 64 bits, found {show_raw(id)}")
    try:
        return is_text(id) if isinstance(id, str) else id
    except ValueRefused as error:
        raise OptionError(f"subscription id: {error}") from None


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
