"""The first calls after an installation: the oracle answers them while the kernels are compiled in a process beside it.

Whoever answers is chosen before anything is asked: the naive matcher, as long as there are few subscriptions and little
work; segments, from the moment on when the machine code is on disk, or when more is asked than the oracle can do in a
moment. Then the call waits for the compiler, and says so. The answers are the same.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis import forks
from tamis.batches.batch import Batch, ReadBatch
from tamis.kernels import warmth
from tamis.matchers.naive import Naive
from tamis.matches import Matches
from tamis.model import Event, Schema, SubscriptionId
from tamis.registry.attributes import Attributes
from tamis.registry.plain_registry import PlainRegistry
from tamis.registry.protocol import Registry
from tamis.registry.receipts import Receipt

__all__ = ["FirstCalls", "begin_compiling", "wait_until_warm"]

_MOST_SUBSCRIPTIONS = 2_000
_MOST_WORK = 100_000
"""Events times subscriptions; the oracle takes a few microseconds for each."""
_LOOK_EVERY_S = 0.1
_CLEAR = "\r\x1b[K"

_log = logging.getLogger("tamis")
_compilers: list[subprocess.Popen[bytes]] = []
"""Kept, so that they are waited for when they end, and nobody remarks on them when they do not."""


class FirstCalls:
    """A `Registry` that is one of two: the oracle's, and when the kernels are there, the one that `make` makes."""

    def __init__(self, schema: Schema, make: Callable[[], Registry]) -> None:
        make()  # an option that is wrong is told now
        self._make = make
        self._plain = PlainRegistry(schema, "adaptive", Naive(schema), lambda: Naive(schema))
        self._settled: Registry | None = None
        self._lock = threading.RLock()  # whoever writes, or changes from one to the other
        self._next_look = 0.0
        forks.tell(self)
        begin_compiling()

    def after_fork(self) -> None:
        self._lock = forks.renewed(self._lock)

    def _registry(self, work: int = 0) -> Registry:
        """Whoever answers a call that costs the oracle so much `work`."""
        if self._settled is not None:
            return self._settled
        if work > _MOST_WORK:
            wait_until_warm()
            return self._settle()
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_EVERY_S
            if warmth.is_warm():
                return self._settle()
        return self._plain

    def _settle(self) -> Registry:
        """From now on, segments answer. Until the very last step nothing has changed."""
        with self._lock:
            if self._settled is None:
                registry = self._make()
                registry.subscribe_many(self._plain.items())
                self._settled = registry
            return self._settled

    def _writer(self, more: int = 1) -> Registry:
        """Whoever takes so many more subscriptions. The lock is held."""
        many = self._settled is None and len(self._plain) + more > _MOST_SUBSCRIPTIONS
        return self._registry(_MOST_WORK + 1 if many else 0)

    # -- the contract: see `Registry` ---------------------------------------------------------------------------

    def subscribe(self, id: SubscriptionId, text: str) -> Receipt:
        with self._lock:
            return self._writer().subscribe(id, text)

    def subscribe_many(self, pairs: Iterable[tuple[SubscriptionId, str]]) -> Receipt:
        listed = list(pairs)
        with self._lock:
            return self._writer(len(listed)).subscribe_many(listed)

    def subscribe_columns(self, ids: pa.Array, texts: pa.Array) -> Receipt:
        with self._lock:
            return self._writer(len(ids)).subscribe_columns(ids, texts)

    def unsubscribe(self, id: SubscriptionId) -> None:
        with self._lock:
            self._writer(0).unsubscribe(id)

    def unsubscribe_many(self, ids: Sequence[SubscriptionId]) -> None:
        with self._lock:
            self._writer(0).unsubscribe_many(ids)

    def match(self, raw: Mapping[str, object]) -> list[SubscriptionId]:
        return self._registry().match(raw)

    def match_event(self, event: Event) -> list[SubscriptionId]:
        return self._registry().match_event(event)

    def match_many(self, read: ReadBatch, threads: int = 1) -> Matches:
        if self._registry() is not self._plain:
            return self._registry().match_many(read, threads)
        with self._lock:  # nobody subscribes between reading and asking
            batch = read(self._plain.used)
            return self._weighed(batch).match_many(lambda _: batch, threads)

    def count_many(self, read: ReadBatch) -> npt.NDArray[np.int64]:
        if self._registry() is not self._plain:
            return self._registry().count_many(read)
        with self._lock:
            batch = read(self._plain.used)
            return self._weighed(batch).count_many(lambda _: batch)

    def _weighed(self, batch: Batch) -> Registry:
        return self._registry(batch.size * len(self._plain))

    @property
    def schema(self) -> Schema:
        return (self._settled or self._plain).schema

    def extend(self, addition: Schema) -> Schema:
        with self._lock:
            return self._registry(_MOST_WORK + 1).extend(addition)

    @property
    def mark(self) -> int | None:
        return None

    def checkpoint_at(self, mark: int) -> None:
        self._plain.checkpoint_at(mark)

    def observe(self, events: Sequence[Event]) -> None:
        """What was learned is for segments, so there must be some."""
        self._registry(_MOST_WORK + 1).observe(events)

    def settle(self) -> None:
        self._registry().settle()

    def text(self, id: SubscriptionId) -> str:
        return self._registry().text(id)

    def items(self) -> list[tuple[SubscriptionId, str]]:
        return self._registry().items()

    def __len__(self) -> int:
        return len(self._registry())

    def __contains__(self, id: object) -> bool:
        return id in self._registry()

    def stats(self) -> dict[str, Any]:
        """`compiling` says that the oracle still answers."""
        registry = self._registry()
        return registry.stats() | {"compiling": registry is self._plain}

    def attributes(self) -> Attributes:
        return self._registry().attributes()

    def check(self) -> None:
        self._registry().check()

    def save(self, path: Path, mode: int | None = None) -> None:
        self._registry(_MOST_WORK + 1).save(path, mode)

    def refresh(self) -> bool:
        return self._plain.refresh()

    @property
    def path(self) -> Path | None:
        return None

    def close(self) -> None:
        self._registry().close()


# -- the process beside --------------------------------------------------------------------------------------------


def begin_compiling() -> None:
    """Start a process that compiles everything and goes on when this one ends, unless there is one."""
    _compilers[:] = [one for one in _compilers if one.poll() is None]
    if _compilers or warmth.under_way() is not None:
        return
    nothing = subprocess.DEVNULL
    command = [sys.executable, "-m", "tamis.warming"]
    try:
        process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
    except (OSError, ValueError):  # no interpreter to be had: the first large call compiles by itself
        return
    _compilers.append(process)


def wait_until_warm() -> None:
    """Return when all is compiled, or when nobody is at it: then the kernels compile as they are called."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    told = False
    while not warmth.is_warm() and _at_it():
        if shown:
            done, of = warmth.under_way() or (0, 1)
            line = f"tamis: compiling the inner loops, once after an installation: {100 * done // of} %"
            print(f"{_CLEAR}{line}", end="", file=sys.stderr, flush=True)
        elif not told:
            _log.warning("the inner loops are compiled once after an installation, for about half a minute; waiting")
        told = True
        time.sleep(_LOOK_EVERY_S)
    if told and shown:
        print(_CLEAR, end="", file=sys.stderr, flush=True)


def _at_it() -> bool:
    return warmth.under_way() is not None or any(process.poll() is None for process in _compilers)
