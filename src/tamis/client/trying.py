"""When a call is sent again, and after how long: what both clients do about a server that is away or busy."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any, Final

import httpx

from tamis.client.answers import Answer
from tamis.client.calls import Call
from tamis.client.problems import error_of
from tamis.errors import OptionError, ServiceError
from tamis.model.values import show_raw

__all__ = ["Trying", "checked_url", "limits", "request_of", "times"]

_BUSY: Final = (429, 503)
_FIRST_SECONDS = 0.05
_LONGEST_SECONDS = 2.0


def request_of(call: Call[Any]) -> dict[str, Any]:
    """What httpx is asked to send."""
    headers = dict(call.headers)
    if call.body is not None:
        headers["Content-Type"] = call.media
    return {
        "method": call.method,
        "url": call.path,
        "params": dict(call.query) or None,
        "content": call.body,
        "headers": headers,
    }


class Trying:
    """One call's attempts, for as long as the client is patient."""

    def __init__(self, patience: float, call: Call[Any] | None = None) -> None:
        self._call = call
        self._until = time.monotonic() + patience
        self._attempts = 0

    def lost(self, error: httpx.TransportError) -> float:
        """No answer came: how long to wait before the next attempt, or the error for who waited long enough."""
        return self._pause(ServiceError(f"the service does not answer: {error or type(error).__name__}"), 0.0)

    def answered(self, status: int, headers: Mapping[str, str], body: bytes) -> Answer | float:
        """The answer; or how long to wait, for who came at a bad time; or the error that it tells of."""
        if status < 400 or (status == 404 and self._attempts and self._call is not None and self._call.gone):
            return Answer(status, headers, body)
        error = error_of(status, body, self._call.text if self._call is not None else "")
        if status not in _BUSY:
            raise error
        told = headers.get("retry-after", "")
        return self._pause(error, float(told) if told.isdigit() else 0.0)

    def _pause(self, error: Exception, least: float) -> float:
        longest = min(_FIRST_SECONDS * 2**self._attempts, _LONGEST_SECONDS)
        pause = max(least, random.uniform(longest / 2, longest))
        self._attempts += 1
        if time.monotonic() + pause > self._until:
            raise error
        return pause


def checked_url(url: object) -> str:
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise OptionError(f"expected the address of a service, such as http://127.0.0.1:8737, found {show_raw(url)}")
    return url.rstrip("/")


def times(seconds: float) -> httpx.Timeout:
    """A stream tells something every 15 seconds, so one timeout does for it, too."""
    return httpx.Timeout(seconds)


def limits() -> httpx.Limits:
    """Streams hold a connection each; there is no use in a bound of the client's own."""
    return httpx.Limits(max_connections=None, max_keepalive_connections=20)
