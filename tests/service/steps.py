"""A service taken step by step: each write is committed and matched before the next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tamis.model import Schema
from tamis.service import Form, NewSubscription, Published, Publishing, Service, Settings, Subscribed

START = 1_800_000_000.0


class Steps:
    """Answers are returned, errors are raised."""

    def __init__(self, folder: Path, schema: Schema | None = None, settings: Settings | None = None) -> None:
        self.folder = folder
        self.now = START
        self.settings = settings if settings is not None else Settings()
        self.service = Service.open(folder, schema, self.settings, clock=lambda: self.now)

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *error: object) -> None:
        self.service.close()

    def reopen(self) -> None:
        """As after the end of the process."""
        self.service.abandon()
        self.service = Service.open(self.folder, None, self.settings, clock=lambda: self.now)
        self.match()

    def match(self) -> None:
        while self.service.match_once():
            pass

    def do(self, call: Callable[..., None], *arguments: Any, **options: Any) -> Any:
        outcomes: list[Any] = []
        call(*arguments, outcomes.append, **options)
        self.service.write_once()
        self.match()
        assert len(outcomes) == 1
        if isinstance(outcomes[0], Exception):
            raise outcomes[0]
        return outcomes[0]

    def publish(self, events: Any, form: Form = "json", key: str | None = None) -> Published:
        found: Published = self.do(self.service.publish, Publishing(events, form, key))
        return found

    def subscribe(self, id: str, expression: str, feed: str | None = None, **options: Any) -> Subscribed:
        found: Subscribed = self.do(self.service.subscribe, NewSubscription(id, expression, feed), **options)
        return found

    def told(self, feed: str, after: int = 0) -> list[tuple[int, list[str]]]:
        """Positions and ids."""
        return [(one.position, list(one.subscriptions)) for one in self.service.read_feed(feed, after).notifications]
