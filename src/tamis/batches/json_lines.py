"""JSON lines → mappings: an event per line, each with the number of its line."""

from __future__ import annotations

from collections.abc import Iterator

from tamis.batches.asking import Raw
from tamis.errors import EventError
from tamis.model import parse_json

__all__ = ["read_lines", "read_text"]


def read_lines(text: str) -> Iterator[tuple[int, Raw]]:
    """Each line with its number, from 1 on; blank lines are skipped."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, read_text(line)


def read_text(text: str | bytes | None) -> Raw:
    """One event as JSON text."""
    if text is None:
        return EventError("expected an event, found nothing")
    try:
        return parse_json(text)
    except EventError as error:
        return error
