"""Frames of server-sent events, as the HTML standard has them."""

from __future__ import annotations

from typing import Final

__all__ = ["MEDIA", "comment", "frame", "mark", "retry"]

MEDIA: Final = "text/event-stream"


def frame(event: str, data: bytes, id: str | None = None) -> bytes:
    """One event. `data` is JSON, which has no bare line ends; an id must have none either."""
    named = f"id: {id}\n" if id is not None else ""
    return b"%sevent: %s\ndata: %s\n\n" % (named.encode(), event.encode(), data)


def mark(id: str) -> bytes:
    """A frame without data: the reader's place moves on, and no event is dispatched."""
    return f"id: {id}\n\n".encode()


def comment(text: str) -> bytes:
    """What readers skip: it keeps a connection open."""
    return f": {text}\n\n".encode()


def retry(milliseconds: int) -> bytes:
    """After how long a reader that lost its connection comes back."""
    return f"retry: {milliseconds}\n\n".encode()
