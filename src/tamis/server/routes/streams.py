"""Server-sent events: a feed from where its reader was, and a live tail of any expression."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tamis.errors import OptionError, UnknownFeed
from tamis.model.values import show_raw
from tamis.server.asked import name_in_path, whole
from tamis.server.desk import Bell, Desk, desk_of
from tamis.server.door import Unfinished
from tamis.server.frames import MEDIA, comment, frame, mark, retry
from tamis.server.routing import Parameter, Route
from tamis.server.shapes import GapTold, notified
from tamis.service import Page, Tail

__all__ = ["ROUTES"]

_AT_ONCE = 100
"""Notifications that are read, and held, at a time."""
_RETRY_MS = 1_000
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class _Stream(Response):
    """Frames as they come, for as long as there is a reader, who must take something now and then."""

    def __init__(self, desk: Desk, bell: Bell, content: AsyncGenerator[bytes]) -> None:
        super().__init__(None, headers=_HEADERS, media_type=MEDIA)
        del self.headers["content-length"]
        self._desk = desk
        self._bell = bell
        self._content = content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.create_task(self._until_gone(receive))
        try:
            with self._desk.streaming():
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                async for piece in self._content:
                    await self._send(send, piece, more=True)
                await self._send(send, b"", more=False)
        finally:
            leaving.cancel()
            await self._content.aclose()

    async def _send(self, send: Send, piece: bytes, *, more: bool) -> None:
        try:
            async with asyncio.timeout(self._desk.settings.write_seconds):
                await send({"type": "http.response.body", "body": piece, "more_body": more})
        except TimeoutError:
            raise Unfinished("the reader took nothing for too long") from None

    async def _until_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._bell.end()


async def of_feed(request: Request) -> Response:
    """From the last id that the reader saw, or from the acknowledged cursor, or from now."""
    desk, name = desk_of(request), name_in_path(request, "name")
    after = await _begin(desk, request, name)
    bell = Bell(desk)
    return _Stream(desk, bell, _feed_frames(desk, name, after, bell))


async def _begin(desk: Desk, request: Request, name: str) -> int:
    feed = await desk.read(desk.service.feed, name)
    if last := request.headers.get("last-event-id"):
        return _position(last)
    if request.query_params.get("after") == "now":
        return desk.service.reached
    return whole(request, "after", feed.acknowledged)


def _position(id: str) -> int:
    """The position of an id, `19@ann`."""
    found = id.partition("@")[0]
    if not (found.isascii() and found.isdigit() and len(found) < 17):
        raise OptionError(f"Last-Event-ID: expected an id of this stream, such as 19@ann, found {show_raw(id)}")
    return int(found)


async def _feed_frames(desk: Desk, name: str, after: int, bell: Bell) -> AsyncGenerator[bytes]:
    watch = desk.service.watch(name, bell.ring)  # before the first read, so that nothing is missed
    try:
        yield retry(_RETRY_MS) + mark(f"{after}@{name}")
        while not bell.ended:
            page = await desk.read(desk.service.read_feed, name, after, _AT_ONCE)
            if page.notifications or page.gap:
                yield b"".join(_frames(page))
            after = page.next
            if len(page.notifications) < _AT_ONCE and not await bell.wait(desk.settings.heartbeat_seconds):
                yield mark(f"{after}@{name}")
    except UnknownFeed:  # deleted meanwhile: a reader that comes back is told so
        yield comment("the feed is gone")
    finally:
        watch.close()


def _frames(page: Page) -> list[bytes]:
    encode = msgspec.json.encode
    told = [frame("notification", encode(notified(one)), one.id) for one in page.notifications]
    gap = [frame("gap", encode(GapTold(page.gap.first, page.gap.last)))] if page.gap else []
    return gap + told


async def live(request: Request) -> Response:
    """Events from now on that match; nothing is kept for who comes back."""
    desk, where = desk_of(request), request.query_params.get("where")
    if where is None:
        raise OptionError("where: expected an expression, as in ?where=price < 200, found none")
    bell = Bell(desk)
    tail = await desk.read(desk.service.tail_live, where, bell.ring)
    return _Stream(desk, bell, _tail_frames(desk, tail, bell))


async def _tail_frames(desk: Desk, tail: Tail, bell: Bell) -> AsyncGenerator[bytes]:
    encode, dropped = msgspec.json.encode, 0
    try:
        yield retry(_RETRY_MS)
        while not bell.ended:
            if found := tail.take():
                yield b"".join(frame("notification", encode(notified(one))) for one in found)
            if tail.dropped > dropped:
                dropped = tail.dropped
                yield frame("dropped", encode({"dropped": dropped}))
            if not await bell.wait(desk.settings.heartbeat_seconds):
                yield comment("nothing new")
    finally:
        tail.close()


_EVENTS = {"type": "string", "description": "server-sent events"}

ROUTES = (
    Route(
        "GET",
        "/v1/feeds/{name}/stream",
        of_feed,
        "The feed's notifications as server-sent events, from the last id that was seen",
        (
            Parameter("after", "a position, or now; without it the acknowledged cursor"),
            Parameter("Last-Event-ID", "the last id that was seen, such as 19@ann", place="header"),
        ),
        gives={200: {MEDIA: _EVENTS}},
        refuses=(404,),
    ),
    Route(
        "GET",
        "/v1/stream",
        live,
        "Events from now on that match an expression, as server-sent events; nothing is kept",
        (Parameter("where", "the expression", required=True),),
        gives={200: {MEDIA: _EVENTS}},
    ),
)
