"""What goes over the wire, both ways: the shapes of bodies and answers, from which /openapi.json is made, too."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from tamis.registry.explaining import Explanation
from tamis.service import Feed, Notification, Rejected, Subscription

__all__ = [
    "Accepted",
    "Ack",
    "Acked",
    "CommitAsked",
    "DeleteAsked",
    "Deleted",
    "EventsToMatch",
    "Example",
    "ExplainAsked",
    "ExplainedAnswer",
    "Extended",
    "FeedAnswer",
    "FeedPage",
    "FeedPut",
    "GapTold",
    "Health",
    "Line",
    "MatchedAnswer",
    "NotificationTold",
    "NotificationsPage",
    "Problem",
    "Receipt",
    "RejectedEvent",
    "SchemaAddition",
    "SchemaTold",
    "StagedPiece",
    "SubscriptionAnswer",
    "SubscriptionLine",
    "SubscriptionPage",
    "SubscriptionPut",
    "TriedAnswer",
    "TryAsked",
    "explained",
    "feed_answer",
    "notified",
    "rejections",
    "subscription_answer",
]

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Position = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
Stored = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})]
"""An event as the bytes that were published."""


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """What a client sends: a field that is not known is a mistake, and is told."""


class Told(msgspec.Struct, omit_defaults=False):
    """What the server answers; more fields may come."""


# -- events -------------------------------------------------------------------------------------------------------


class RejectedEvent(Told):
    """An event that was refused; `index` is its place in what was sent, from 0."""

    index: int
    rule: str | None
    attribute: str | None
    detail: str


class Receipt(Told):
    """The i-th accepted event has the position first + i; `matches` is null if the matcher took too long."""

    first: int
    last: int
    accepted: int
    rejected: list[RejectedEvent]
    matches: list[int] | msgspec.UnsetType | None = msgspec.UNSET


class EventsToMatch(Asked):
    events: Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": ["array", "object"]})]


class MatchedAnswer(Told):
    """The ids that each event meets, in the order of subscribing, as of `position`."""

    matches: list[list[str]]
    position: int
    rejected: list[RejectedEvent] = []


# -- subscriptions ------------------------------------------------------------------------------------------------


class SubscriptionPut(Asked):
    expression: str
    feed: Name | None = None
    expires: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class SubscriptionLine(Asked):
    id: Name
    expression: str
    feed: Name | None = None
    expires: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class SubscriptionAnswer(Told):
    id: str
    expression: str
    feed: str
    expires: datetime | None
    position: int
    etag: str
    never_matching: bool | msgspec.UnsetType = msgspec.UNSET


class SubscriptionPage(Told):
    """`next` is the id to ask after, or null where this was the last page."""

    subscriptions: list[SubscriptionAnswer]
    next: str | None


class Accepted(Told):
    accepted: int
    position: int


class StagedPiece(Told):
    upload: str
    pieces: int
    subscriptions: int


class DeleteAsked(Asked):
    ids: list[Name]


class CommitAsked(Asked):
    pieces: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class Deleted(Told):
    position: int


class TryAsked(Asked):
    expression: str
    events: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1_000


class Line(Told):
    conjunction: int
    text: str
    holds: bool
    reason: str


class Example(Told):
    position: int
    event: Stored
    lines: list[Line]


class TriedAnswer(Told):
    looked_at: int
    matched: int
    examples: list[Example]


class ExplainAsked(Asked):
    """Either an event or the position of a stored one."""

    id: Name
    event: dict[str, Any] | None = None
    position: Position | None = None


class ExplainedAnswer(Told):
    matches: bool
    lines: list[Line]
    notes: list[str]


# -- feeds --------------------------------------------------------------------------------------------------------


class FeedPut(Asked):
    channel: Literal["stream", "pull"] = "stream"


class FeedAnswer(Told):
    name: str
    channel: str
    auto: bool
    position: int
    subscriptions: int
    acknowledged: int
    head: int


class FeedPage(Told):
    feeds: list[FeedAnswer]
    next: str | None


class NotificationTold(Told):
    """One event for one feed, with all ids that it met."""

    id: str
    position: int
    feed: str
    event: Stored
    subscriptions: list[str]
    published: datetime


class GapTold(Told):
    """Positions that can no longer be read, both included."""

    from_: int = msgspec.field(name="from")
    to: int


class NotificationsPage(Told):
    notifications: list[NotificationTold]
    next: int
    gap: GapTold | None
    lease: str | None
    leased_until: datetime | None


class Ack(Asked):
    position: Position
    lease: str | None = None


class Acked(Told):
    position: int


# -- schema, health, problems -------------------------------------------------------------------------------------


class SchemaTold(Told):
    version: int
    open: bool
    toml: str


class SchemaAddition(Asked):
    toml: str


class Extended(Told):
    version: int
    position: int | None
    warnings: list[str]


class Health(Told):
    ready: bool
    lag: int
    why: str | None = None


class Problem(Told):
    """RFC 9457. `type` ends in the name of the library's exception."""

    type: str
    title: str
    status: int
    detail: str
    column: int | msgspec.UnsetType = msgspec.UNSET
    expected: str | msgspec.UnsetType = msgspec.UNSET
    rule: str | msgspec.UnsetType = msgspec.UNSET
    attribute: str | msgspec.UnsetType = msgspec.UNSET
    index: int | msgspec.UnsetType = msgspec.UNSET


# -- the service's answers as these -------------------------------------------------------------------------------


def notified(one: Notification) -> NotificationTold:
    told = list(one.subscriptions)
    return NotificationTold(one.id, one.position, one.feed, msgspec.Raw(one.event), told, one.published)


def rejections(some: tuple[Rejected, ...]) -> list[RejectedEvent]:
    return [RejectedEvent(one.index, one.rule, one.attribute, one.detail) for one in some]


def subscription_answer(
    one: Subscription, never_matching: bool | msgspec.UnsetType = msgspec.UNSET
) -> SubscriptionAnswer:
    return SubscriptionAnswer(one.id, one.expression, one.feed, one.expires, one.position, one.etag, never_matching)


def feed_answer(one: Feed) -> FeedAnswer:
    return FeedAnswer(
        one.name, one.settings.channel, one.auto, one.position, one.subscriptions, one.acknowledged, one.head
    )


def explained(one: Explanation) -> list[Line]:
    return [Line(line.conjunction, line.text, line.holds, line.reason) for line in one.lines]
