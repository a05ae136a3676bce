"""Where JSON comes from: bytes in memory, a path, a binary file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, TypeAlias

from tamis.batches.json_bytes import JsonText
from tamis.errors import LimitError, OptionError
from tamis.model.values import show_raw

__all__ = ["MOST_BYTES", "JsonSource", "open_json"]

JsonSource: TypeAlias = bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO
"""A text is a path, never JSON."""

MOST_BYTES = (1 << 31) - (1 << 20)
"""Of one text; what is longer is to be cut between two events."""


def open_json(source: JsonSource) -> JsonText:
    """The text, held in memory for as long as it is read."""
    data = _bytes(source)
    if len(data) > MOST_BYTES:
        found = f"expected at most {MOST_BYTES:,} bytes of JSON at once, found {len(data):,}; cut it between two lines"
        raise LimitError(found, MOST_BYTES, len(data))
    return JsonText.told(data)


def _bytes(source: JsonSource) -> memoryview:
    if isinstance(source, str | os.PathLike):
        return memoryview(_read_path(source))
    if hasattr(source, "read"):
        found = source.read()
        if not isinstance(found, bytes | bytearray | memoryview):
            raise OptionError(
                f"expected a file that gives bytes, found one that gives {show_raw(found)}: open it as 'rb'"
            )
        return memoryview(found)
    try:
        return memoryview(source).cast("B")
    except TypeError:
        raise OptionError(f"expected JSON as bytes, a path or a binary file, found {show_raw(source)}") from None


def _read_path(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte
        said = getattr(error, "strerror", None) or error
        text = str(path).lstrip()[:1]
        advice = "; a str is a path: JSON itself is given as bytes" if text in ("{", "[") else ""
        raise OptionError(f"expected a file of JSON at {show_raw(str(path))}: {said}{advice}") from None
