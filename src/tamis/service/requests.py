"""What is asked of the service: plain frozen values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias, TypeVar

import pyarrow as pa

__all__ = ["Done", "FeedSettings", "Form", "NewSubscription", "Publishing"]

_T = TypeVar("_T")

Done: TypeAlias = "Callable[[_T | Exception], None]"
"""Called once, on a thread of the service, with the outcome of a write or with the exception that it met."""

Form = Literal["json", "jsonl", "arrow"]
"""One object or an array of them; an object a line; a table of Arrow or the bytes of an IPC stream."""


@dataclass(frozen=True, slots=True)
class Publishing:
    """Events as they were sent. A repeated `key` gets the first receipt, or `KeyReused` with another body."""

    events: bytes | pa.Table
    form: Form = "json"
    key: str | None = None


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """`feed` None: the one the subscription has, or else one named as the id. `expires` is an aware datetime."""

    id: str
    expression: str
    feed: str | None = None
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """How a feed is told. `more` is for what a channel of its own needs; it is kept and given back as it is."""

    channel: Literal["stream", "pull"] = "stream"
    more: Mapping[str, object] = field(default_factory=dict)
