"""Feeds: their settings, and their notifications pulled page by page."""

from __future__ import annotations

from datetime import datetime
from time import monotonic

from starlette.requests import Request
from starlette.responses import Response

from tamis.server.asked import name_in_path, number, whole
from tamis.server.bodies import JSON, json_of, key_of
from tamis.server.desk import Bell, Desk, desk_of
from tamis.server.routes.events import KEY
from tamis.server.routing import Parameter, Route, tell
from tamis.server.shapes import (
    Ack,
    Acked,
    Deleted,
    FeedAnswer,
    FeedPage,
    FeedPut,
    GapTold,
    NotificationsPage,
    feed_answer,
    notified,
)
from tamis.service import Acknowledged, Feed, FeedSettings, Lease, Page

__all__ = ["ROUTES"]


async def put(request: Request) -> Response:
    desk, name = desk_of(request), name_in_path(request, "name")
    asked = await json_of(request, FeedPut)
    feed: Feed = await desk.written(desk.service.put_feed, name, FeedSettings(asked.channel), key=key_of(request))
    return tell(feed_answer(feed))


async def get(request: Request) -> Response:
    desk = desk_of(request)
    return tell(feed_answer(await desk.read(desk.service.feed, name_in_path(request, "name"))))


async def delete(request: Request) -> Response:
    desk = desk_of(request)
    return tell(Deleted(await desk.written(desk.service.delete_feed, name_in_path(request, "name"))))


async def page(request: Request) -> Response:
    desk = desk_of(request)
    limit = whole(request, "limit", 100, least=1, most=desk.settings.service.page_notifications)
    found = await desk.read(desk.service.feeds, request.query_params.get("after"), limit)
    listed = [feed_answer(one) for one in found]
    return tell(FeedPage(listed, listed[-1].name if len(listed) == limit else None))


async def notifications(request: Request) -> Response:
    """A page, waited for if there is none yet. Without `after` it begins at the cursor, and is leased."""
    desk, name = desk_of(request), name_in_path(request, "name")
    limit = whole(request, "limit", 100, least=1, most=desk.settings.service.page_notifications)
    until = monotonic() + number(request, "wait", 0.0, desk.settings.most_wait_seconds)
    if "after" in request.query_params:
        after = whole(request, "after")
        found = await _waited(desk, name, after, limit, until)
        return tell(_told(found, None))
    return tell(_told(*await _leased(desk, name, limit, until, request.query_params.get("lease"))))


async def _waited(desk: Desk, name: str, after: int | None, limit: int, until: float) -> Page:
    bell = Bell(desk)
    watch = desk.service.watch(name, bell.ring)  # before the first read, so that nothing is missed
    try:
        while True:
            page = await desk.read(desk.service.read_feed, name, after, limit)
            left = until - monotonic()
            if page.notifications or page.gap or left <= 0 or bell.ended:
                return page
            await bell.wait(left)
    finally:
        watch.close()


async def _leased(desk: Desk, name: str, limit: int, until: float, token: str | None) -> tuple[Page, Lease | None]:
    """A page from the acknowledged cursor: leased after it was read, and read again if the cursor moved meanwhile."""
    while True:
        cursor = (await desk.read(desk.service.feed, name)).acknowledged
        page = await _waited(desk, name, cursor, limit, until)
        if not page.notifications:
            return page, None
        seconds = desk.settings.lease_seconds
        lease: Lease = await desk.written(desk.service.lease, name, seconds, page.next, token=token)
        if lease.cursor == cursor:
            return page, lease
        token = lease.token


def _told(page: Page, lease: Lease | None) -> NotificationsPage:
    gap = GapTold(page.gap.first, page.gap.last) if page.gap else None
    token: str | None = lease.token if lease else None
    until: datetime | None = lease.until if lease else None
    return NotificationsPage([notified(one) for one in page.notifications], page.next, gap, token, until)


async def acknowledge(request: Request) -> Response:
    desk, name = desk_of(request), name_in_path(request, "name")
    asked = await json_of(request, Ack)
    done: Acknowledged = await desk.written(desk.service.acknowledge, name, asked.position, token=asked.lease)
    return tell(Acked(done.position))


_LIMIT = Parameter("limit", "how many", {"type": "integer", "minimum": 1, "maximum": 1000})
_ONE = "/v1/feeds/{name}"

ROUTES = (
    Route(
        "PUT",
        _ONE,
        put,
        "Make a feed, or change how it is told",
        (KEY,),
        takes={JSON: FeedPut},
        gives={200: {JSON: FeedAnswer}},
        refuses=(409,),
    ),
    Route("GET", _ONE, get, "One feed", gives={200: {JSON: FeedAnswer}}, refuses=(404,)),
    Route(
        "DELETE",
        _ONE,
        delete,
        "Delete a feed, and its subscriptions with it",
        gives={200: {JSON: Deleted}},
        refuses=(404, 409),
    ),
    Route(
        "GET",
        "/v1/feeds",
        page,
        "Feeds in the order of their names, a page at a time",
        (Parameter("after", "the name after which the page begins"), _LIMIT),
        gives={200: {JSON: FeedPage}},
    ),
    Route(
        "GET",
        f"{_ONE}/notifications",
        notifications,
        "Notifications after a position; without one from the acknowledged cursor, leased",
        (
            Parameter("after", "the position after which the page begins", {"type": "integer", "minimum": 0}),
            _LIMIT,
            Parameter("wait", "seconds to wait if there is none", {"type": "number", "minimum": 0}),
            Parameter("lease", "the token of a lease that is to be renewed"),
        ),
        gives={200: {JSON: NotificationsPage}},
        refuses=(404, 409),
    ),
    Route(
        "POST",
        f"{_ONE}/ack",
        acknowledge,
        "Move the cursor: what is up to this position was taken care of",
        takes={JSON: Ack},
        gives={200: {JSON: Acked}},
        refuses=(404, 409),
    ),
)
