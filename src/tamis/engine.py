"""Engine: what users hold. The edge, and the choice of algorithm; no matching logic.

Any number of threads may use an engine: each answer is that of one moment, before or after a change and never within
one. Whatever error of ours a call raises, the engine is as it was before the call. A call that is interrupted, by
Ctrl-C, for want of memory or by a signal handler that raises, took effect wholly or not at all.

Numba comes with `tamis.segments`, so that is imported when an adaptive engine is made or a folder opened, not with this
module; `tamis.batches` and `tamis.registry` need no kernel.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import Batch
from tamis.batches.edge import read_batch, read_events
from tamis.errors import OptionError, SegmentError
from tamis.language import parse
from tamis.language.door import check_new
from tamis.matchers import MATCHERS
from tamis.matches import Matches
from tamis.model import Event, Kind, Schema, SubscriptionId
from tamis.model.domains import hint
from tamis.model.values import show_raw
from tamis.registry.attributes import attribute_names
from tamis.registry.explaining import Explanation, explain
from tamis.registry.given import Given, check_columns, checked_id, new_pairs, pairs_of, plain_columns
from tamis.registry.near_names import NearNames
from tamis.registry.plain_registry import PlainRegistry
from tamis.registry.protocol import Registry
from tamis.registry.receipts import Receipt
from tamis.store.saved import Saved, read_saved

__all__ = ["Engine", "Receipt"]

Events: TypeAlias = Iterable[Mapping[str, object]] | pa.Table | pa.RecordBatch

_UNKNOWN_OPTION = re.compile(r"unexpected keyword argument '(\w+)'")
_MOST_LEARNED = 10_000
"""Attribute names an open schema remembers for its statistics; a bound on what strange events can make us keep."""
_MOST_MATCHES = 1 << 27
"""Matches in one piece of `match_iter`: half a gigabyte of codes, unless a single event has more."""


class Engine:
    """Subscriptions in, matches out.

    `Engine()` takes any event (an open schema); `Engine(Schema.load("auctions.toml"))` checks events against a
    schema. `algorithm` is a name in `tamis.matchers.MATCHERS`; `options` go to the algorithm. After an installation the
    naive matcher answers while the kernels are compiled in another process; `wait=True`, or TAMIS_WAIT=1 in the
    environment, waits for the compiler where it is needed instead.
    """

    def __init__(
        self, schema: Schema | None = None, *, algorithm: str = "adaptive", wait: bool = False, **options: Any
    ) -> None:
        _check_algorithm(algorithm)
        _check_schema(schema)
        self.schema = schema if schema is not None else Schema(open=True)
        self.algorithm = algorithm
        try:
            self._registry = _registry(self.schema, algorithm, options, wait or bool(os.environ.get("TAMIS_WAIT")))
        except TypeError as error:
            if unknown := _UNKNOWN_OPTION.search(str(error)):
                raise OptionError(f"algorithm {algorithm!r}: there is no option {unknown[1]!r}") from None
            raise OptionError(f"algorithm {algorithm!r}: {error}") from None
        self._learned: dict[str, set[Kind]] = {}
        self._near: NearNames | None = None

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._registry)

    def __contains__(self, id: object) -> bool:
        return id in self._registry

    # -- subscribing ------------------------------------------------------------------------------------------

    def subscribe(self, id: SubscriptionId, expression: str) -> Receipt:
        """Subscribe an id, or replace what it had. A contradiction is accepted and reported in the receipt."""
        id = checked_id(id)
        check_new(expression, self.schema)
        names = self._names()
        receipt = self._registry.subscribe(id, expression)
        if names is None:
            return receipt
        return _noted(receipt, names.notes(expression, partial(attribute_names, expression, self.schema)))

    def subscribe_many(self, subscriptions: Given) -> Receipt:
        """Pairs, or an Arrow table with columns `id` and `expression`: all of them or, on an error, none.

        An id that comes twice has its last expression. The error says which subscription is wrong.
        """
        columns, names = plain_columns(subscriptions), self._names()
        if columns is not None:
            check_columns(*columns, self.schema)
            receipt = self._registry.subscribe_columns(*columns)
        else:
            receipt = self._registry.subscribe_many(new_pairs(pairs_of(subscriptions), self.schema))
        return receipt if names is None else _noted(receipt, names.meet(self._registry.attributes()))

    def _names(self) -> NearNames | None:
        """The attributes known so far, where nobody declares them."""
        if not self.schema.open:
            return None
        if self._near is None:
            self._near = NearNames([*self.schema.names(), *self._registry.attributes()])
        self._near.meet(list(self._learned))
        return self._near

    def unsubscribe(self, id: SubscriptionId) -> None:
        """Forget an id. `UnknownSubscription` if there is none."""
        self._registry.unsubscribe(checked_id(id))

    def expression(self, id: SubscriptionId) -> str:
        """The text an id was subscribed with."""
        return self._registry.text(checked_id(id))

    def ids(self) -> list[SubscriptionId]:
        """All ids, in the order of subscribing."""
        return [id for id, _ in self._registry.items()]

    # -- matching ---------------------------------------------------------------------------------------------

    def match(self, event: Mapping[str, object]) -> list[SubscriptionId]:
        """The ids that the event satisfies, each once, in the order of subscribing."""
        if not self.schema.open:
            return self._registry.match(event)
        read = self.schema.event(event)
        self._learn_events([read])
        return self._registry.match_event(read)

    def match_many(self, events: Events, *, threads: int = 1) -> Matches:
        """The answers to a batch: a list of mappings, an Arrow table or a RecordBatch.

        The adaptive engine splits the batch over `threads`.
        """
        _checked_count("threads", threads)
        return self._registry.match_many(self._batch(events), threads)

    def count_many(self, events: Events) -> npt.NDArray[np.int64]:
        """How many subscriptions each event satisfies, without listing them."""
        return self._registry.count_many(self._batch(events))

    def match_iter(self, events: Events, *, at_once: int = 1_000, threads: int = 1) -> Iterator[Matches]:
        """The answers piece by piece, in order: for batches whose whole answer would not fit in memory.

        A piece has at most `at_once` events, and fewer where they have very many matches. `events` may also be an
        iterator, which is read as the pieces are asked for.
        """
        _checked_count("at_once", at_once)
        _checked_count("threads", threads)
        pieces = (part for piece in _pieces(events, at_once) for part in self._bounded(piece))
        return (self.match_many(part, threads=threads) for part in pieces)

    def _bounded(self, piece: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch) -> Iterator[Events]:
        """The piece, cut further if its answer may be too large."""
        if len(piece) * len(self) <= _MOST_MATCHES:
            yield piece
            return
        ends = np.cumsum(self.count_many(piece))
        first = 0
        while first < len(piece):
            before = int(ends[first - 1]) if first else 0
            last = max(int(np.searchsorted(ends, before + _MOST_MATCHES, "right")), first + 1)
            yield _slice(piece, first, last)
            first = last

    def observe(self, events: Events) -> None:
        """Learn from a sample how likely values are. Segments compiled from now on use it to choose where
        subscriptions live; those that exist are compiled again, while others read and write. `save` and a durable
        folder keep what was learned."""
        read = self._read_all(events)
        if read:
            self._registry.observe(read)

    def explain(self, id: SubscriptionId, event: Mapping[str, object]) -> Explanation:
        """Why the event does or does not match: each predicate with the value that decided it."""
        read = self.schema.event(event)
        return explain(self.schema, parse(self.expression(id), self.schema), read)

    def _batch(self, events: Events) -> Batch:
        batch = read_batch(events, self.schema)
        if self.schema.open:
            for name, parts in batch.parts.items():
                self._learn(name, [part.kind for part in parts])
        return batch

    def _read_all(self, events: Events) -> list[Event]:
        read = read_events(events, self.schema)
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
        """Counts, bytes, work counters; for an open schema also the attributes and kinds learned so far, from both
        sides and from each: what subscriptions ask for and what events had."""
        found: dict[str, Any] = {"algorithm": self.algorithm} | self._registry.stats()
        if self.schema.open:
            asked, seen = self._registry.attributes(), dict(list(self._learned.items()))  # a copy: readers still add
            both = {name: asked.get(name, set()) | seen.get(name, set()) for name in asked.keys() | seen.keys()}
            found["attributes"] = _listed_kinds(both)
            found["subscription_attributes"] = _listed_kinds(asked)
            found["event_attributes"] = _listed_kinds(seen)
        return found

    def check(self) -> None:
        """Verify every invariant; AssertionError names the one that broke. For tests and for the suspicious."""
        self._registry.check()

    def save(self, path: str | Path) -> None:
        """Write the schema, all subscriptions in their order and what `observe` learned, atomically: the adaptive
        engine to a folder of segments, the others to one file with the name of their algorithm.

        Other options (`tuning=` and those of the papers' algorithms) are not kept: hand them to `open` again. Segments
        stay as they were compiled; only what is compiled later follows the options.
        """
        self._registry.save(_checked_path(path))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        schema: Schema | None = None,
        create: bool = False,
        verify: bool = True,
        **options: Any,
    ) -> Engine:
        """The engine kept there; `options` override, e.g. `algorithm=`.

        A folder is opened by memory map and stays *durable*: each write is on disk before its call returns, and
        `close`, or the end of a `with`, lets the folder go. `create=True` makes one if there is none.
        `verify=False` spares the sum over segments larger than memory. Under another algorithm than "adaptive" the
        subscriptions are read into memory, and what is written later is not kept.
        """
        algorithm = options.get("algorithm", "adaptive")
        _check_algorithm(algorithm)
        _check_schema(schema)
        path = _checked_path(path)
        if create and algorithm != "adaptive":
            raise OptionError(f"only the adaptive engine keeps a folder: create=True does not go with {algorithm!r}")
        if not create and not path.is_dir():
            kept = read_saved(path)
            if schema is not None and schema != kept.schema:
                raise SegmentError("the engine was made with another schema", str(path))
            options = {"algorithm": kept.algorithm} | options
        elif algorithm == "adaptive":
            return cls._open_folder(path, schema, create, verify, options)
        else:
            with cls._open_folder(path, schema, False, verify, {}) as engine:
                kept = Saved(engine.schema, algorithm, engine._registry.items())
        engine = cls(kept.schema, **options)
        engine._registry.subscribe_many(kept.subscriptions)  # past the door: what was right once keeps its reading
        return engine

    @classmethod
    def _open_folder(
        cls, path: Path, schema: Schema | None, create: bool, verify: bool, options: dict[str, Any]
    ) -> Engine:
        from tamis.segments.keep.folder import Folder

        folder = Folder(path, schema, create=create)
        try:
            return cls(folder.schema, **options, folder=folder, verify=verify)
        except BaseException:
            folder.close()
            raise

    def close(self) -> None:
        """Let go of the folder of a durable engine, after writing its log into segments. Reading goes on."""
        self._registry.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _registry(schema: Schema, algorithm: str, options: dict[str, Any], wait: bool) -> Registry:
    if algorithm != "adaptive":
        make = partial(MATCHERS[algorithm], schema, **options)
        outside = options.keys() & {"url", "database"}  # made twice, its tables would be there already
        return PlainRegistry(schema, algorithm, make(), None if outside else make)
    from tamis.kernels.warmth import is_warm
    from tamis.segments.compile.statistics import Statistics
    from tamis.segments.compile.tuning import DEFAULT, Tuning
    from tamis.segments.first_calls import FirstCalls, begin_compiling, wait_until_warm
    from tamis.segments.keep.folder import Folder
    from tamis.segments.segment_registry import SegmentRegistry

    _check_option("tuning", options.get("tuning", DEFAULT), Tuning)
    for name, kind in (("statistics", Statistics), ("folder", Folder)):
        if options.get(name) is not None:
            _check_option(name, options[name], kind)
    make_segments = partial(SegmentRegistry, schema, **options)
    if not wait and not is_warm():
        if options.get("folder") is None:
            return FirstCalls(schema, make_segments)
        begin_compiling()
        wait_until_warm()
    return make_segments()


def _listed_kinds(attributes: Mapping[str, set[Kind]]) -> dict[str, list[str]]:
    return {name: sorted(kind.name.lower() for kind in attributes[name]) for name in sorted(attributes)}


def _noted(receipt: Receipt, notes: list[str]) -> Receipt:
    return receipt._replace(notes=(*receipt.notes, *notes)) if notes else receipt


def _check_algorithm(algorithm: object) -> None:
    if not isinstance(algorithm, str) or algorithm not in MATCHERS:
        near = hint(str(algorithm), MATCHERS)
        raise OptionError(f"no algorithm is called {algorithm!r}{near} (there are: {', '.join(MATCHERS)})")


def _check_schema(schema: object) -> None:
    if schema is not None and not isinstance(schema, Schema):
        raise OptionError(f"expected a Schema, found {show_raw(schema)}; Schema.load reads one from a file")


def _check_option(name: str, found: object, kind: type) -> None:
    if not isinstance(found, kind):
        raise OptionError(f"option {name!r}: expected a {kind.__name__}, found {show_raw(found)}")


def _checked_path(path: object) -> Path:
    if not isinstance(path, str | Path):
        raise OptionError(f"expected a path, as text or a Path, found {show_raw(path)}")
    return Path(path)


def _checked_count(name: str, count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"expected {name} to be a whole number of at least 1, found {show_raw(count)}")


def _pieces(events: Events, at_once: int) -> Iterator[Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch]:
    if isinstance(events, pa.Table | pa.RecordBatch):
        yield from (events.slice(first, at_once) for first in range(0, len(events), at_once))
        return
    left = iter(events)
    while piece := list(islice(left, at_once)):
        yield piece


def _slice(piece: Sequence[Mapping[str, object]] | pa.Table | pa.RecordBatch, first: int, last: int) -> Events:
    if isinstance(piece, pa.Table | pa.RecordBatch):
        return piece.slice(first, last - first)
    return piece[first:last]
