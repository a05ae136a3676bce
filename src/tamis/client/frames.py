"""Server-sent events, read as the HTML standard says: by lines of bytes, whatever the pieces they arrive in.

By bytes, since texts have more line ends than the standard knows: JSON may hold U+2028 as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Frame", "Frames"]

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Frame(NamedTuple):
    """What a blank line ends: `id` is where the reader now is; without `data` nothing else is told."""

    event: str
    data: str
    id: str


class Frames:
    """Pieces in, whole frames out; `id` is the last one, and outlives a connection."""

    def __init__(self, id: str = "") -> None:
        self.id = id
        self._rest = b""
        self._begin()

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """The frames that this piece completes, each once its reader has taken the one before."""
        self._rest += piece
        *lines, rest = _LINE_END.split(self._rest)
        if self._rest.endswith(b"\r") and not rest and lines:  # the other half of \r\n may be on its way
            rest = lines.pop() + b"\r"
        self._rest = rest
        for line in lines:
            if line:
                self._read(line)
            else:
                yield Frame(self._event, "\n".join(self._data), self.id)
                self._begin()

    def restart(self) -> None:
        """A new connection: what was half read comes again."""
        self._rest = b""
        self._begin()

    def _begin(self) -> None:
        self._event = "message"
        self._data: list[str] = []

    def _read(self, line: bytes) -> None:
        name, _, rest = line.partition(b":")
        text = rest.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(text)
        elif name == b"event":
            self._event = text
        elif name == b"id" and "\0" not in text:
            self.id = text
