"""Files the commands read and write: JSON lines in, text out, mistakes named by line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tamis.errors import EventError, OptionError
from tamis.model import parse_json

__all__ = ["read_events", "read_text", "write_text"]


def read_text(path: str) -> str:
    """A file's text, or standard input for `-`."""
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return raw.decode("utf-8")
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise OptionError(
            f"{path}: expected UTF-8, found byte 0x{raw[error.start]:02x} at offset {error.start}"
        ) from None


def read_events(path: str) -> Iterator[dict[str, object]]:
    """Events as JSON lines; blank lines are skipped."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            try:
                yield parse_json(line)
            except EventError as error:
                raise EventError(f"{path}, line {number}: {error}") from None


def write_text(path: str | None, text: str) -> None:
    """To a file, or to standard output where no path is given."""
    if path is None:
        sys.stdout.write(text)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror}") from None
