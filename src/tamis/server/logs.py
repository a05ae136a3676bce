"""One line of JSON per thing that happened, on standard error."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TextIO

__all__ = ["Log"]


class Log:
    """Each line is written at once, whole. With `requests` False, errors alone."""

    def __init__(self, requests: bool = True, out: TextIO | None = None) -> None:
        self._requests = requests
        self._out = out

    def request(self, **facts: object) -> None:
        if self._requests:
            self._line("info", "request", facts)

    def note(self, event: str, **facts: object) -> None:
        self._line("info", event, facts)

    def failure(self, error: BaseException, **facts: object) -> None:
        """What no client is told: an error that is none of ours, with where it came from."""
        self._line(
            "error", "failure", {**facts, "error": repr(error), "trace": "".join(traceback.format_exception(error))}
        )

    def forward(self, record: logging.LogRecord) -> None:
        """A line of the web server's own logger."""
        self._line(record.levelname.lower(), "http", {"said": record.getMessage()})

    def _line(self, level: str, event: str, facts: dict[str, object]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"at": at, "level": level, "event": event, **facts}, default=str, ensure_ascii=False)
        out = self._out if self._out is not None else sys.stderr
        out.write(f"{line}\n")
        out.flush()
