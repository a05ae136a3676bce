"""The door itself, around all routes: who may come in, under which id, how long it took, and what is told of failures.

Plain ASGI, since it is gone through by every request.
"""

from __future__ import annotations

import re
from time import perf_counter
from typing import Final
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tamis.errors import TamisError, TooBusy
from tamis.server.desk import Desk
from tamis.server.logs import Log
from tamis.server.problems import MEDIA, ForeignHost, headers_of, kind_of, problem_of, rendered

__all__ = ["Door", "Unfinished"]

_HERE: Final = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
_REQUEST_ID: Final = re.compile(rb"[\w.\-]{1,100}")


class Unfinished(OSError):
    """A reader that took nothing for too long: its connection ends in the midst of an answer."""


class Door:
    """Every request in, every answer out."""

    def __init__(self, inner: ASGIApp, desk: Desk, log: Log) -> None:
        self._inner = inner
        self._desk = desk
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        passing = _Passing(self._desk, self._log, scope, send)
        self._desk.requests += 1
        try:
            passing.check()
            await self._inner(scope, receive, passing.send)
        except Exception as error:  # noqa: BLE001  # whatever it is, no trace of it leaves the process
            await passing.fail(error)
        finally:
            self._desk.requests -= 1
            passing.done()


class _Passing:
    """One request on its way."""

    def __init__(self, desk: Desk, log: Log, scope: Scope, send: Send) -> None:
        self._desk, self._log, self._scope, self._send = desk, log, scope, send
        self._headers = dict(scope["headers"])
        given = self._headers.get(b"x-request-id", b"")
        self._id = given.decode() if _REQUEST_ID.fullmatch(given) else uuid4().hex
        self._began = perf_counter()
        self._first = 0.0
        self._status = 0
        # Routes see the path as it was sent, so that a slash within an id, which is sent as %2F, is no slash.
        scope["desk"] = desk
        scope["path"] = scope["raw_path"].decode("ascii", "replace")

    def check(self) -> None:
        """Requests for this machine, and not too many at once. The name is looked at, since until there are keys
        nothing else tells a program of this machine from a page that its browser shows."""
        if not _HERE.fullmatch(self._headers.get(b"host", b"localhost")):
            raise ForeignHost("expected a request for this machine, by localhost, 127.0.0.1 or [::1]")
        most = self._desk.settings.most_requests
        if self._desk.requests - self._desk.streams > most:
            raise TooBusy(f"expected at most {most:,} requests at once, and there are more; try again later", 1.0)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._first = perf_counter()
            message["headers"] = [*message["headers"], (b"x-request-id", self._id.encode())]
        await self._send(message)

    async def fail(self, error: Exception) -> None:
        if kind_of(error) is TamisError and not isinstance(error, Unfinished):
            self._log.failure(error, request=self._id)
        if self._status:  # the answer has begun: all that can be told is that it is not whole
            raise Unfinished("an answer that was begun and not finished") from None
        problem = problem_of(error)
        status = problem["status"]
        named = {"content-type": MEDIA, **headers_of(error)}
        headers = [(name.encode(), text.encode()) for name, text in named.items()]
        body = rendered(problem)
        headers.append((b"content-length", str(len(body)).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def done(self) -> None:
        now = perf_counter()
        route = self._scope.get("route")
        path = getattr(route, "path", "") or "other"
        self._desk.meter.count(self._scope["method"], path, self._status, (self._first or now) - self._began)
        self._log.request(
            request=self._id,
            method=self._scope["method"],
            path=self._scope["path"],
            status=self._status,
            ms=round((now - self._began) * 1000, 3),
        )
