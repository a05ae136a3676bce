"""A stream as a client reads it: where it is, what a frame means, whether it may come back."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tamis.client.answers import Gap, Notification, gap, notification
from tamis.client.frames import Frames

__all__ = ["Listening"]


class Listening:
    """One reader of one stream, over as many connections as it takes."""

    def __init__(self, after: int | str | None) -> None:
        self._after = after
        self._frames = Frames()
        self._gap: Gap | None = None

    @property
    def query(self) -> dict[str, str]:
        """Where to begin, until an id says it."""
        return {} if self._after is None or self._frames.id else {"after": str(self._after)}

    @property
    def headers(self) -> dict[str, str]:
        last = {"Last-Event-ID": self._frames.id} if self._frames.id else {}
        return {"Accept": "text/event-stream", **last}

    def read(self, piece: bytes) -> Iterator[Notification]:
        for frame in self._frames.feed(piece):
            if frame.event == "gap":
                self._gap = gap(json.loads(frame.data))
            elif frame.event == "notification":
                before, self._gap = self._gap, None
                yield notification(json.loads(frame.data), before)

    def restart(self) -> None:
        self._frames.restart()
