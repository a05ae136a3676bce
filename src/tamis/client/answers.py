"""What the service answers, as values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from tamis.batches.refusals import Refusals, Refused
from tamis.errors import ServiceError

__all__ = ["Answer", "Feed", "Gap", "Loaded", "Notification", "Page", "Published", "Subscribed", "Tried"]


class Answer(NamedTuple):
    """A response that is no problem."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise ServiceError("expected JSON from the service; is this address one?", self.status) from None


class Published(NamedTuple):
    """The i-th accepted event has the position `first + i`; `matches` are counts, if asked for and in time."""

    first: int
    last: int
    accepted: int
    errors: Refusals
    matches: list[int] | None


class Subscribed(NamedTuple):
    """A subscription. `etag` changes whenever it is replaced; `never_matching` if its text contradicts itself."""

    id: str
    expression: str
    feed: str
    expires: datetime | None
    position: int
    etag: str
    never_matching: bool
    created: bool


class Loaded(NamedTuple):
    """Several subscriptions that took effect at one position."""

    accepted: int
    position: int


class Feed(NamedTuple):
    """A feed; `auto` ones go with their last subscription."""

    name: str
    channel: str
    auto: bool
    position: int
    subscriptions: int
    acknowledged: int


class Gap(NamedTuple):
    """Positions that can no longer be read, both included."""

    first: int
    last: int


class Notification(NamedTuple):
    """One event for one feed, with all ids that it met. `gap` is what can no longer be read just before it."""

    id: str
    position: int
    feed: str
    event: dict[str, Any]
    subscriptions: list[str]
    published: datetime
    gap: Gap | None = None


class Page(NamedTuple):
    """Notifications pulled; `next` is where to go on, or what to acknowledge, with the `lease` if there is one."""

    notifications: list[Notification]
    next: int
    gap: Gap | None
    lease: str | None


class Tried(NamedTuple):
    """How many of the last `looked_at` events would have matched; `examples` are some of them, the newest first."""

    looked_at: int
    matched: int
    examples: list[dict[str, Any]]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def refusals(rejected: list[Any], first: int = 0) -> Refusals:
    return Refusals(
        Refused(first + one["index"], None, one["rule"], one["attribute"], one["detail"]) for one in rejected
    )


def published(answer: Answer) -> Published:
    found = answer.json()
    return Published(
        found["first"], found["last"], found["accepted"], refusals(found["rejected"]), found.get("matches")
    )


def subscribed(answer: Answer) -> Subscribed:
    found = answer.json()
    return _subscribed(found, created=answer.status == 201)


def _subscribed(found: Mapping[str, Any], created: bool = False) -> Subscribed:
    expires = moment(found["expires"]) if found["expires"] else None
    never = bool(found.get("never_matching"))
    named = {name: found[name] for name in ("id", "expression", "feed", "position", "etag")}
    return Subscribed(**named, expires=expires, never_matching=never, created=created)


def loaded(answer: Answer) -> Loaded:
    found = answer.json()
    return Loaded(found["accepted"], found["position"])


def feed(answer: Answer) -> Feed:
    found = answer.json()
    return Feed(*(found[name] for name in Feed._fields))


def notification(found: Mapping[str, Any], gap: Gap | None = None) -> Notification:
    named = {name: found[name] for name in ("id", "position", "feed", "event", "subscriptions")}
    return Notification(**named, published=moment(found["published"]), gap=gap)


def gap(found: Mapping[str, Any] | None) -> Gap | None:
    return Gap(found["from"], found["to"]) if found else None


def page(answer: Answer) -> Page:
    found = answer.json()
    notifications = [notification(one) for one in found["notifications"]]
    return Page(notifications, found["next"], gap(found["gap"]), found["lease"])


def tried(answer: Answer) -> Tried:
    found = answer.json()
    return Tried(found["looked_at"], found["matched"], found["examples"])
