"""What the service answers: plain frozen values.

A *position* is an integer below 2**53. Times are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tamis.registry.explaining import Explanation
from tamis.service.requests import FeedSettings

__all__ = [
    "Acknowledged",
    "Explained",
    "Extended",
    "Feed",
    "Gap",
    "Lease",
    "Loaded",
    "Matched",
    "Notification",
    "Page",
    "Published",
    "Rejected",
    "Staged",
    "Subscribed",
    "Subscription",
    "Tried",
]


@dataclass(frozen=True, slots=True)
class Rejected:
    """An event of a publishing that was refused; `index` is its place in what was sent."""

    index: int
    rule: str | None
    attribute: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Published:
    """The i-th accepted event has the position `first + i`. Nothing accepted: both are None, and nothing was logged."""

    first: int | None
    last: int | None
    accepted: int
    rejected: tuple[Rejected, ...] = ()


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription that lives. `etag` changes whenever it is replaced."""

    id: str
    expression: str
    feed: str
    expires: datetime | None
    position: int
    etag: str


@dataclass(frozen=True, slots=True)
class Subscribed:
    """`created` is False if the id was there and was replaced; `never_matching` if the text contradicts itself."""

    subscription: Subscription
    created: bool
    never_matching: bool = False


@dataclass(frozen=True, slots=True)
class Staged:
    """A piece of an upload; `pieces` and `subscriptions` count what the upload has so far."""

    upload: str
    pieces: int
    subscriptions: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """Several subscriptions, by one record at `position`."""

    accepted: int
    position: int


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed that lives. `auto` feeds go with their last subscription."""

    name: str
    settings: FeedSettings
    auto: bool
    position: int
    subscriptions: int
    acknowledged: int
    head: int
    """The newest position with a notification, or 0 if there was none since the service started or the feed began."""


@dataclass(frozen=True, slots=True)
class Extended:
    """`position` None: the addition had nothing new, and nothing was logged."""

    version: int
    position: int | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    position: int


@dataclass(frozen=True, slots=True)
class Lease:
    """One reader's right to a feed until then. `cursor` is what was acknowledged when it was given: pages read from
    elsewhere are to be read again."""

    token: str
    until: datetime
    cursor: int


@dataclass(frozen=True, slots=True)
class Notification:
    """One event for one feed. `event` is JSON as published, spliced as it is; `id` is "position@feed"."""

    position: int
    feed: str
    event: bytes
    subscriptions: Sequence[str]
    published: datetime

    @property
    def id(self) -> str:
        return f"{self.position}@{self.feed}"


@dataclass(frozen=True, slots=True)
class Gap:
    """Positions that can no longer be read, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Page:
    """`next` is the position that was scanned to: the next page begins after it. It never lies past `reached`."""

    notifications: Sequence[Notification]
    next: int
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    """The ids that each event met, as of `position`; an event that was refused has none and is in `rejected`."""

    matches: Sequence[Sequence[str]]
    position: int
    rejected: tuple[Rejected, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """`notes` say what else matters, as that the subscription did not live at that position."""

    explanation: Explanation
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """An expression against the last `looked_at` stored events: how many matched, and the newest few with reasons."""

    looked_at: int
    matched: int
    examples: Sequence[tuple[Notification, Explanation]]
