"""Answers as the log keeps them beside an idempotency key, so that a repeated write is answered alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tamis.service.answers import Extended, Feed, Loaded, Published, Rejected, Subscribed, Subscription
from tamis.service.requests import FeedSettings

__all__ = ["read_answer", "written_answer"]


def written_answer(answer: Any) -> str:
    found = answer if isinstance(answer, int) else asdict(answer)
    return json.dumps(found, ensure_ascii=False, default=lambda time: time.isoformat())


def _published(rejected: list[dict[str, Any]], **fields: Any) -> Published:
    return Published(**fields, rejected=tuple(Rejected(**one) for one in rejected))


def _subscription(expires: str | None, **fields: Any) -> Subscription:
    return Subscription(**fields, expires=None if expires is None else datetime.fromisoformat(expires))


_READ: dict[str, Callable[[Any], Any]] = {
    "publish": lambda found: _published(**found),
    "subscribe": lambda found: Subscribed(**found | {"subscription": _subscription(**found["subscription"])}),
    "load": lambda found: Loaded(**found),
    "unsubscribe": lambda found: found,
    "feed": lambda found: Feed(**found | {"settings": FeedSettings(**found["settings"])}),
    "extend": lambda found: Extended(**found | {"warnings": tuple(found["warnings"])}),
}


def read_answer(kind: str, text: str) -> Any:
    return _READ[kind](json.loads(text))
