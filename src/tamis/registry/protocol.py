"""What the engine asks of a registry, and the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.batch import ReadBatch
from tamis.matches import Matches
from tamis.model import Event, Schema, SubscriptionId
from tamis.registry.attributes import Attributes
from tamis.registry.receipts import Receipt

__all__ = ["Registry"]


class Registry(Protocol):
    """Subscriptions by id, and the answers to events.

    Any number of threads may call it: each answer is that of one moment, before or after a change and never within
    one. What raises has changed nothing; what is interrupted, at whatever bytecode, has changed all or nothing. Ids
    were checked before they come here; texts are read here, and so is a mapping that stands for an event, as a registry
    may know a shorter way than to read it whole. Ids of one event, and `items`, come in the order of subscribing;
    within an event of a batch no order is promised.
    """

    def subscribe(self, id: SubscriptionId, text: str) -> Receipt:
        """Subscribe an id, or replace what it had."""

    def subscribe_many(self, pairs: Iterable[tuple[SubscriptionId, str]]) -> Receipt:
        """All of them or, if some cannot be read, none: `Unreadable` has those. An id that comes twice has its last."""

    def subscribe_columns(self, ids: pa.Array, texts: pa.Array) -> Receipt:
        """The same from columns without nulls: ids are int64 or large strings, texts strings."""

    def unsubscribe(self, id: SubscriptionId) -> None:
        """Forget an id; `UnknownSubscription` if there is none."""

    def unsubscribe_many(self, ids: Sequence[SubscriptionId]) -> None:
        """Forget several, or, if there is one nobody subscribed, none."""

    def match(self, raw: Mapping[str, object]) -> list[SubscriptionId]:
        """The ids that an event satisfies; `EventError` or `LimitError` as `Schema.event` has it."""

    def match_event(self, event: Event) -> list[SubscriptionId]:
        """The ids that an event, read already, satisfies."""

    def match_many(self, read: ReadBatch, threads: int = 1) -> Matches:
        """The answers to a batch, perhaps on several threads. `read` gets what is used at that moment, once."""

    def count_many(self, read: ReadBatch) -> npt.NDArray[np.int64]:
        """How many subscriptions each event of a batch satisfies."""

    @property
    def schema(self) -> Schema:
        """Under which texts and events are read."""

    def extend(self, addition: Schema) -> Schema:
        """Extend the schema by the four rules; what it is then. `Conflict` if a text that is there would be read
        otherwise, `OptionError` where a schema cannot be extended."""

    @property
    def mark(self) -> int | None:
        """Where in a log that is kept elsewhere the folder is a checkpoint of it, if it is one."""

    def checkpoint_at(self, mark: int) -> None:
        """Put everything in the folder, as of that mark; `OptionError` if it is none with marks."""

    def observe(self, events: Sequence[Event]) -> None:
        """A sample of what events are like, for whoever can make use of it."""

    def settle(self) -> None:
        """Return when nothing is left to do in the background."""

    def text(self, id: SubscriptionId) -> str:
        """What an id was subscribed with; `UnknownSubscription` if there is none."""

    def items(self) -> list[tuple[SubscriptionId, str]]:
        """All ids and texts."""

    def __len__(self) -> int: ...

    def __contains__(self, id: object) -> bool: ...

    def stats(self) -> dict[str, Any]:
        """At least `subscriptions`, `conjunctions`, `never_matching`, `bytes` and `work`."""

    def attributes(self) -> Attributes:
        """Those that subscriptions name."""

    def check(self) -> None:
        """Verify every invariant; AssertionError names the one that broke."""

    def save(self, path: Path, mode: int | None = None) -> None:
        """Write the schema and all subscriptions, atomically; `mode` is that of a folder, a file has it too."""

    def refresh(self) -> bool:
        """Take in what another process wrote to the folder since, and say whether there was anything. `OptionError` if
        this is no reader of a folder."""

    @property
    def path(self) -> Path | None:
        """The folder that it reads or writes, if there is one."""

    def close(self) -> None:
        """Let go of whatever is held outside the process. Reading goes on; closing again does nothing."""
