"""Files the commands read and write: schemas and JSON lines in, text out, mistakes named by line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tamis.batches.json_lines import read_lines
from tamis.errors import EventError, OptionError, SchemaError
from tamis.model import Schema

__all__ = ["read_events", "read_schema", "read_text", "write_text"]


def read_text(path: str) -> str:
    """A file's text, or standard input for `-`. The mark some editors put before UTF-8 is no part of it."""
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise OptionError(f"{path or 'a file without a name'}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise OptionError(
            f"{path}: expected UTF-8, found byte 0x{error.object[error.start]:02x} at offset {error.start}"
        ) from None


def read_schema(path: str) -> Schema:
    """A schema from a TOML file."""
    text = read_text(path)
    try:
        return Schema.loads(text)
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None


def read_events(path: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Events as JSON lines, each with the number of its line; blank lines are skipped."""
    for number, raw in read_lines(read_text(path)):
        if isinstance(raw, EventError):
            raise EventError(f"{path}, line {number}: {raw}")
        yield number, raw


def write_text(path: str | None, text: str) -> None:
    """To a file, or to standard output where no path is given; always UTF-8, whatever the terminal speaks."""
    try:
        if path is None:
            sys.stdout.flush()
            sys.stdout.buffer.write(text.encode("utf-8"))
        else:
            Path(path).write_text(text, encoding="utf-8")
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OptionError(f"{path or 'standard output'}: {error.strerror}") from None
