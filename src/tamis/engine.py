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
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import ReadBatch
from tamis.batches.edge import Given, check_events, given_events, pieces_of, read_batch, read_events
from tamis.batches.frames import Frame
from tamis.batches.refusals import OnError, Refusing, check_on_error
from tamis.errors import OptionError, SegmentError
from tamis.language import parse
from tamis.language.door import check_new
from tamis.matchers import MATCHERS
from tamis.matches import Matches, with_refused
from tamis.model import Schema
from tamis.model.domains import hint
from tamis.model.names import Used
from tamis.model.predicates import Id
from tamis.model.values import show_raw
from tamis.registry.attributes import Attributes, attribute_names, attributes_of
from tamis.registry.explaining import Explanation, explain
from tamis.registry.given import Subscribing, checked_id, subscribe_given
from tamis.registry.learning import Learned
from tamis.registry.near_names import NearNames
from tamis.registry.plain_registry import PlainRegistry
from tamis.registry.protocol import Registry
from tamis.registry.receipts import Receipt
from tamis.store.atomic import checked_mode
from tamis.store.saved import Saved, read_saved
from tamis.store.verify import checked_verify

if TYPE_CHECKING:
    from tamis.batches.json_source import JsonSource
    from tamis.lint.report import Report

__all__ = ["Engine", "Receipt"]

Events: TypeAlias = Iterable[Mapping[str, object]] | pa.Table | pa.RecordBatch | Frame

_T = TypeVar("_T")

_UNKNOWN_OPTION = re.compile(r"unexpected keyword argument '(\w+)'")
_LINTED = 10_000
"""Events that `lint` looks at."""
_MOST_MATCHES = 1 << 27
"""Matches in one piece of `match_iter`: half a gigabyte of codes, unless a single event has more."""


class Engine(Generic[Id]):
    """Subscriptions in, matches out.

    `Engine()` takes any event (an open schema); `Engine(Schema.load("auctions.toml"))` checks events against a
    schema. `Engine[str]` tells a type checker that ids are strings. `algorithm` is a name in
    `tamis.matchers.MATCHERS`; `options` go to the algorithm. Of Arrow's tables all offsets and lengths are looked at
    before anything is read, unless `arrow="trusted"`: then a damaged one may end the process. After an installation the
    naive matcher answers while the kernels are compiled in another process; `wait=True`, or TAMIS_WAIT=1 in the
    environment, waits for the compiler where it is needed instead.

    The adaptive engine watches a few of the events that pass (`seed` chooses which) and moves subscriptions to better
    homes in the background; `observe=False` leaves them where they are.
    """

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        algorithm: str = "adaptive",
        arrow: str = "checked",
        wait: bool = False,
        **options: Any,
    ) -> None:
        _check_algorithm(algorithm)
        _check_schema(schema)
        _check_arrow_option(arrow)
        self._strange = arrow == "checked"
        schema = schema if schema is not None else Schema(open=True)
        self.algorithm = algorithm
        try:
            self._registry = _registry(schema, algorithm, options, wait or bool(os.environ.get("TAMIS_WAIT")))
        except TypeError as error:
            if unknown := _UNKNOWN_OPTION.search(str(error)):
                raise OptionError(f"algorithm {algorithm!r}: there is no option {unknown[1]!r}") from None
            raise OptionError(f"algorithm {algorithm!r}: {error}") from None
        self._learned = Learned(self.schema)
        self._near: NearNames | None = None
        self._near_learned = 0

    @property
    def schema(self) -> Schema:
        """What events and expressions are held against; `extend` adds to it."""
        return self._registry.schema

    def __repr__(self) -> str:
        path = self._registry.path
        place = f" in {str(path)!r}" if path is not None else ""
        return f"<Engine: {self.algorithm}, {len(self):,} subscriptions{place}>"

    def __reduce__(self) -> tuple[Any, ...]:
        path = self._registry.path
        if path is None:
            raise OptionError("an engine without a folder cannot be pickled: save it, and open that")
        return _open_to_read, (type(self), str(path.resolve()))

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._registry)

    def __contains__(self, id: object) -> bool:
        return id in self._registry

    # -- subscribing ------------------------------------------------------------------------------------------

    def subscribe(self, id: Id, expression: str) -> Receipt:
        """Subscribe an id, or replace what it had. A contradiction is accepted and reported in the receipt."""
        known = checked_id(id)
        check_new(expression, self.schema)
        names = self._names()
        receipt = self._registry.subscribe(known, expression)
        if names is None:
            return receipt
        return _noted(receipt, names.notes(expression, partial(attribute_names, expression, self.schema)))

    def subscribe_many(self, subscriptions: Subscribing, *, on_error: OnError = "raise") -> Receipt:
        """Pairs, mappings with `id` and `expression`, a dictionary of ids to expressions, or an Arrow table or frame
        with columns `id` and `expression`: all of them or, on an error that says which is wrong, none.

        With `on_error="skip"` those that are refused are left out, with "collect" the receipt's `errors` have them
        too. An id that comes twice has its last expression.
        """
        check_on_error(on_error)
        names = self._names()
        receipt = subscribe_given(self._registry, self.schema, subscriptions, on_error)
        return receipt if names is None else _noted(receipt, names.meet(sorted(self._registry.attributes())))

    def _names(self) -> NearNames | None:
        """The attributes known so far, where nobody declares them."""
        if not self.schema.open:
            return None
        if self._near is None:
            self._near = NearNames([*self.schema.names(), *self._registry.attributes()])
        if len(self._learned.names) != self._near_learned:  # names only come
            learned = list(self._learned.names)
            self._near.meet(learned)
            self._near_learned = len(learned)
        return self._near

    def unsubscribe(self, id: Id) -> None:
        """Forget an id. `UnknownSubscription` if there is none."""
        self._registry.unsubscribe(checked_id(id))

    def unsubscribe_many(self, ids: Iterable[Id]) -> None:
        """Forget several. `UnknownSubscription`, and nothing is forgotten, if there is one nobody subscribed."""
        self._registry.unsubscribe_many([checked_id(id) for id in ids])

    def expression(self, id: Id) -> str:
        """The text an id was subscribed with."""
        return self._registry.text(checked_id(id))

    def ids(self) -> list[Id]:
        """All ids, in the order of subscribing."""
        return [cast(Id, id) for id, _ in self._registry.items()]

    # -- matching ---------------------------------------------------------------------------------------------

    def match(self, event: Mapping[str, object]) -> list[Id]:
        """The ids that the event satisfies, each once, in the order of subscribing."""
        found = self._registry.match(event)
        self._learned.from_one(event)
        return cast(list[Id], found)

    def match_many(
        self, events: Events, *, threads: int = 1, on_error: OnError = "raise", event_id: str | None = None
    ) -> Matches[Id]:
        """The answers to a batch: mappings, an Arrow table or RecordBatch, a frame of pandas or polars, or anything
        else that gives Arrow its columns.

        An event that is refused raises an error that says which it is. With `on_error="skip"` it just has no matches,
        and with "collect" the answer's `errors` have all of them; row numbers stay those of `events`. `event_id` names
        the field with the events' own ids, for the errors. The adaptive engine splits the batch over `threads`.
        """
        return self._match(self._given(events, event_id), threads, on_error)

    def match_json(self, data: JsonSource, *, threads: int = 1, on_error: OnError = "raise") -> Matches[Id]:
        """The answers to events in JSON, a line each or one array of them: bytes, a path, or a binary file.

        A `str` is a path, never JSON. The answers are those of `match_many` for what Python's `json` reads; what is
        not JSON is an `EventError` that names line and column. `on_error` is as in `match_many`: after a line that is
        no JSON the next one is read, and in an array all that follows is one error.
        """
        from tamis.batches.json_bytes import first_of, read_json
        from tamis.batches.json_source import open_json

        _checked_count("threads", threads)
        check_on_error(on_error)
        text, refusing = open_json(data), Refusing(on_error)
        found = self._registry.match_many(lambda used: read_json(text, self.schema, refusing, used=used), threads)
        self._learned.from_many(partial(first_of, text))
        return cast("Matches[Id]", with_refused(found, refusing))

    def count_many(
        self, events: Events, *, on_error: OnError = "raise", event_id: str | None = None
    ) -> npt.NDArray[np.int64]:
        """How many subscriptions each event satisfies, without listing them. An event that is refused raises an error,
        or with `on_error="skip"` satisfies none."""
        check_on_error(on_error, ("raise", "skip"))
        given = self._given(events, event_id)
        counts, refusing = self._answer(given, self._registry.count_many, on_error)
        return refusing.spread(counts)

    def match_iter(
        self,
        events: Events,
        *,
        at_once: int = 1_000,
        threads: int = 1,
        on_error: OnError = "raise",
        event_id: str | None = None,
    ) -> Iterator[Matches[Id]]:
        """The answers piece by piece, in order: for batches whose whole answer would not fit in memory.

        A piece has at most `at_once` events, and fewer where they have very many matches. `events` may also be an
        iterator or a stream of Arrow, which is read as the pieces are asked for. Errors count rows from the first
        piece on.
        """
        _checked_count("at_once", at_once)
        _checked_count("threads", threads)
        check_on_error(on_error)
        strange = self._strange
        if strange and isinstance(events, pa.Table | pa.RecordBatch):
            check_events(events)  # once for all pieces
            strange = False
        pieces = (self._given(piece, event_id)._replace(strange=strange) for piece in pieces_of(events, at_once))
        return self._match_pieces(pieces, threads, on_error)

    def _given(self, events: Events, event_id: str | None) -> Given:
        return given_events(events, self.schema, _checked_name(event_id))._replace(strange=self._strange)

    def _match_pieces(self, pieces: Iterator[Given], threads: int, on_error: OnError) -> Iterator[Matches[Id]]:
        first = 0
        for piece in pieces:
            for part in self._bounded(piece, on_error):
                yield self._match(part, threads, on_error, first)
                first += len(part.events)

    def _bounded(self, piece: Given, on_error: OnError) -> Iterator[Given]:
        """The piece, cut further if its answer may be too large."""
        size = len(piece.events)
        if size * len(self) <= _MOST_MATCHES:
            yield piece
            return
        counts, refusing = self._answer(piece, self._registry.count_many, "skip")
        ends = np.cumsum(refusing.spread(counts))
        first = 0
        while first < size:
            before = int(ends[first - 1]) if first else 0
            last = max(int(np.searchsorted(ends, before + _MOST_MATCHES, "right")), first + 1)
            yield piece.slice(first, last)
            first = last

    def _match(self, given: Given, threads: int, on_error: OnError, first: int = 0) -> Matches[Id]:
        _checked_count("threads", threads)
        found, refusing = self._answer(given, lambda read: self._registry.match_many(read, threads), on_error, first)
        return cast("Matches[Id]", with_refused(found, refusing))

    def _answer(
        self, given: Given, ask: Callable[[ReadBatch], _T], on_error: OnError, first: int = 0
    ) -> tuple[_T, Refusing]:
        check_on_error(on_error)
        refusing = Refusing(on_error, given.id_of, first)
        strange = given.strange
        found = ask(lambda used: read_batch(given.events, self.schema, refusing, used=used, strange=strange))
        self._learned.from_many(given.first)
        return found, refusing

    def extend(self, addition: Schema) -> Schema:
        """Extend the schema by the four rules, as `Schema.extend` has it, while others read: the schema from now on.

        `Conflict`, and nothing has changed, if a subscription would say something else under it; its `ids` has them.
        That can be where an open schema learns the domain of an attribute, or where event types are declared first.
        """
        _check_schema(addition)
        schema = self._registry.extend(addition)
        learned = Learned(schema)
        learned.take(self._learned)
        self._learned = learned
        return schema

    def observe(self, events: Events) -> None:
        """Learn from a sample how likely values are. Segments compiled from now on use it to choose where
        subscriptions live; those that exist are compiled again, while others read and write. `save` and a durable
        folder keep what was learned."""
        given = self._given(events, None)
        read = read_events(given.events, self.schema, strange=given.strange)
        self._learned.from_many(given.first)
        if read:
            self._registry.observe(read)

    def settle(self) -> None:
        """Wait until nothing is left to do in the background: segments merged, and subscriptions moved to better homes
        as far as the events that passed so far tell. For tests and measurements; answers do not depend on it."""
        self._registry.settle()

    def explain(self, id: Id, event: Mapping[str, object]) -> Explanation:
        """Why the event does or does not match: each predicate with the value that decided it."""
        conjunctions = parse(self.expression(id), self.schema)
        named: Attributes = {}
        attributes_of(conjunctions, named)
        return explain(self.schema, conjunctions, self.schema.event(event, Used.of(named)))

    def lint(self, events: Events | None = None) -> Report[Id]:
        """What is wrong with the subscriptions: those that never match, that say the same as another or are covered by
        one, that ask for what no event has, that cost the most.

        Beside the events that the engine has seen (with an open schema, a sample of them), up to ten thousand of
        `events` are looked at. Nothing is changed.
        """
        from tamis.lint import lint_subscriptions

        seen = self._learned.seen()
        if events is not None:
            sample = Learned(self.schema, _LINTED)
            sample.from_many(self._given(events, None).first)
            seen = seen.joined(sample.seen())
        return cast("Report[Id]", lint_subscriptions(self._registry.items(), self.schema, seen))

    # -- keeping ----------------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """Counts, bytes, work counters; for an open schema also the attributes and kinds learned so far, from both
        sides and from each: what subscriptions ask for and what events had."""
        found: dict[str, Any] = {"algorithm": self.algorithm} | self._registry.stats()
        if self.schema.open:
            asked = self._registry.attributes()
            seen = dict(list(self._learned.names.items()))  # a copy: readers still add
            both = {name: asked.get(name, set()) | seen.get(name, set()) for name in asked.keys() | seen.keys()}
            found["attributes"] = _listed_kinds(both)
            found["subscription_attributes"] = _listed_kinds(asked)
            found["event_attributes"] = _listed_kinds(seen)
        return found

    def check(self) -> None:
        """Verify every invariant; AssertionError names the one that broke. For tests and for the suspicious."""
        self._registry.check()

    @property
    def mark(self) -> int | None:
        """Of an engine that was opened with `marked=True`: the mark of its last checkpoint, at first 0."""
        return self._registry.mark

    def checkpoint(self, mark: int) -> None:
        """Put an engine that was opened with `marked=True` in its folder as it is now, under a mark of the caller's
        own: a position, say, in the log that its writes come from. What is on disk already is not written again."""
        if isinstance(mark, bool) or not isinstance(mark, int) or not 0 <= mark < 1 << 63:
            raise OptionError(f"expected a mark from 0 to 2**63 - 1, found {show_raw(mark)}")
        self._registry.checkpoint_at(mark)

    def save(self, path: str | Path, *, mode: int | None = None) -> None:
        """Write the schema, all subscriptions in their order and what `observe` learned, atomically: the adaptive
        engine to a folder of segments, the others to one file with the name of their algorithm.

        Both are their owner's alone, unless `mode` says otherwise, as 0o750 does: files have it without the right to
        enter.

        Other options (`tuning=` and those of the papers' algorithms) are not kept: hand them to `open` again. Segments
        stay as they were compiled; only what is compiled later follows the options.
        """
        self._registry.save(_checked_path(path), checked_mode(mode))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        schema: Schema | None = None,
        create: bool = False,
        verify: str = "full",
        mode: int | None = None,
        read_only: bool = False,
        marked: bool = False,
        **options: Any,
    ) -> Self:
        """The engine kept there; `options` override, e.g. `algorithm=`.

        A folder is opened by memory map and stays *durable*: each write is on disk before its call returns, and
        `close`, or the end of a `with`, lets the folder go. `create=True` makes one if there is none.
        A new folder is its owner's alone unless `mode` says otherwise (0o750: the group may read it); given for one
        that exists, it is changed. A folder that may not be written to opens for reading. `read_only=True` does so
        beside the one process that writes it: `refresh` takes in what that wrote since. With `marked=True` writes stay
        in memory until `checkpoint`: for those who keep a log of their own and read on in it from `mark`.
        `verify="full"` looks at the sums and the structure of all segments, "structure" spares the sums, "trusted"
        spares both: it opens any size in milliseconds, and is for files that nobody else can have written. Under
        another algorithm than "adaptive" the subscriptions are read into memory, and later writes are not kept.
        """
        algorithm = options.get("algorithm", "adaptive")
        _check_algorithm(algorithm)
        _check_schema(schema)
        checked_verify(verify)
        path = _checked_path(path)
        if (create or marked) and algorithm != "adaptive":
            asked = "create=True" if create else "marked=True"
            raise OptionError(f"only the adaptive engine keeps a folder: {asked} does not go with {algorithm!r}")
        if read_only and (create or not path.is_dir()):
            raise OptionError(f"read_only=True is for a folder that exists, found {str(path)!r}, create={create}")
        if not create and not path.is_dir():
            kept = read_saved(path)
            if schema is not None and schema != kept.schema:
                raise SegmentError("the engine was made with another schema", str(path))
            options = {"algorithm": kept.algorithm} | options
        elif algorithm == "adaptive":
            how = {"schema": schema, "create": create, "mode": checked_mode(mode), "read_only": read_only}
            how |= {"marked": marked}
            return cls._open_folder(path, verify, options, **how)
        else:
            with cls._open_folder(path, verify, {}, schema=schema, read_only=read_only) as opened:
                kept = Saved(opened.schema, algorithm, opened._registry.items())
        engine = cls(kept.schema, **options)
        subscribe_given(engine._registry, None, kept.subscriptions, "raise")
        return engine

    @classmethod
    def _open_folder(cls, path: Path, verify: str, options: dict[str, Any], **how: Any) -> Self:
        """`how` goes to the `Folder`, `options` to the engine."""
        from tamis.segments.keep.beside import until_quiet
        from tamis.segments.keep.folder import Folder

        def opened() -> Any:
            folder = Folder(path, **how)
            try:
                return cls(folder.schema, **options, folder=folder, verify=verify)
            except BaseException:
                folder.close()
                raise

        made: Self = until_quiet(path, opened) if how["read_only"] else opened()
        return made

    def refresh(self) -> bool:
        """Of an engine that reads a folder: take in what its writer wrote since, and say whether there was anything.
        A write is seen whole, perhaps before its call has returned."""
        return self._registry.refresh()

    def close(self) -> None:
        """Let go of the folder of a durable engine, after writing its log into segments. Reading goes on."""
        self._registry.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open_to_read(kind: type[Engine[Any]], path: str) -> Engine[Any]:
    """What a pickled engine is where it is unpickled."""
    return kind.open(path, read_only=True)


def _registry(schema: Schema, algorithm: str, options: dict[str, Any], wait: bool) -> Registry:
    if algorithm != "adaptive":
        make = partial(MATCHERS[algorithm], schema, **options)
        outside = options.keys() & {"url", "database"}  # made twice, its tables would be there already
        connected = algorithm.startswith("sql-")
        return PlainRegistry(schema, algorithm, make(), None if outside else make, connected)
    from tamis.kernels.warmth import is_warm
    from tamis.segments.compile.statistics import Statistics
    from tamis.segments.compile.tuning import DEFAULT, Tuning
    from tamis.segments.first_calls import FirstCalls, begin_compiling, wait_until_warm
    from tamis.segments.keep.folder import Folder
    from tamis.segments.segment_registry import SegmentRegistry

    _check_option("tuning", options.get("tuning", DEFAULT), Tuning)
    _check_option("observe", options.get("observe", True), bool)
    _check_option("seed", options.get("seed", 0), int)
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


def _listed_kinds(attributes: Attributes) -> dict[str, list[str]]:
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


def _check_arrow_option(arrow: object) -> None:
    if arrow not in ("checked", "trusted"):
        raise OptionError(f"expected arrow to be 'checked' or 'trusted', found {show_raw(arrow)}")


def _check_option(name: str, found: object, kind: type) -> None:
    if not isinstance(found, kind):
        raise OptionError(f"option {name!r}: expected a {kind.__name__}, found {show_raw(found)}")


def _checked_path(path: object) -> Path:
    if not isinstance(path, str | Path):
        raise OptionError(f"expected a path, as text or a Path, found {show_raw(path)}")
    return Path(path)


def _checked_name(name: object) -> str | None:
    if name is not None and not isinstance(name, str):
        raise OptionError(f"event_id: expected the name of a field, found {show_raw(name)}")
    return name


def _checked_count(name: str, count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"expected {name} to be a whole number of at least 1, found {show_raw(count)}")
