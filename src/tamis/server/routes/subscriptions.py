"""Subscribing: one id, or many at once."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tamis.errors import LimitError
from tamis.server.arrow_bodies import ARROW_TABLE, exported, new_from_arrow
from tamis.server.asked import if_match_of, name_in_path, whole
from tamis.server.bodies import ARROW, JSON, LINES, accepts, json_of, key_of, media_of, read_body
from tamis.server.desk import Desk, desk_of
from tamis.server.json_bodies import decode_lines
from tamis.server.routes.events import KEY
from tamis.server.routing import Parameter, Route, tell
from tamis.server.shapes import (
    Accepted,
    DeleteAsked,
    Deleted,
    Example,
    SubscriptionAnswer,
    SubscriptionLine,
    SubscriptionPage,
    SubscriptionPut,
    TriedAnswer,
    TryAsked,
    explained,
    subscription_answer,
)
from tamis.service import Loaded, NewSubscription, Subscribed

__all__ = ["ROUTES", "many_of"]


async def put(request: Request) -> Response:
    desk, id = desk_of(request), name_in_path(request, "id")
    asked = await json_of(request, SubscriptionPut)
    new = NewSubscription(id, asked.expression, asked.feed, asked.expires)
    done: Subscribed = await desk.written(
        desk.service.subscribe, new, key=key_of(request), if_match=if_match_of(request)
    )
    answer = subscription_answer(done.subscription, done.never_matching)
    return tell(answer, 201 if done.created else 200, etag=f'"{answer.etag}"')


async def get(request: Request) -> Response:
    desk = desk_of(request)
    found = await desk.read(desk.service.subscription, name_in_path(request, "id"))
    return tell(subscription_answer(found), etag=f'"{found.etag}"')


async def delete(request: Request) -> Response:
    desk, id = desk_of(request), name_in_path(request, "id")
    tag = if_match_of(request)
    position = await desk.written(desk.service.unsubscribe, id, key=key_of(request), if_match=tag)
    return tell(Deleted(position))


async def delete_many(request: Request) -> Response:
    desk, asked = desk_of(request), await json_of(request, DeleteAsked)
    position = await desk.written(desk.service.unsubscribe_many, asked.ids, key=key_of(request))
    return tell(Deleted(position))


async def page(request: Request) -> Response:
    """A page as JSON; all of them as JSON lines or Arrow."""
    desk = desk_of(request)
    if accepts(request, LINES):
        return StreamingResponse(_lines(desk), media_type=LINES)
    if accepts(request, ARROW):
        return StreamingResponse(iterate_in_threadpool(exported(desk.service.export())), media_type=ARROW)
    limit = whole(request, "limit", 100, least=1, most=desk.settings.service.page_notifications)
    after, feed = request.query_params.get("after"), request.query_params.get("feed")
    found = await desk.read(desk.service.subscriptions, after, limit, feed)
    listed = [subscription_answer(one) for one in found]
    return tell(SubscriptionPage(listed, listed[-1].id if len(listed) == limit else None))


async def _lines(desk: Desk) -> AsyncIterator[bytes]:
    """As `bulk` takes them."""
    encode = msgspec.json.Encoder().encode_lines
    async for piece in iterate_in_threadpool(desk.service.export()):
        yield encode([SubscriptionLine(one.id, one.expression, one.feed, one.expires) for one in piece])


async def bulk(request: Request) -> Response:
    desk = desk_of(request)
    items = await many_of(request)
    done: Loaded = await desk.written_elsewhere(desk.service.subscribe_many, items, key=key_of(request))
    return tell(Accepted(done.accepted, done.position))


async def many_of(request: Request) -> list[NewSubscription]:
    """The subscriptions of a body, in JSON lines or Arrow."""
    desk, media = desk_of(request), media_of(request, (LINES, ARROW))
    body = await read_body(request)
    items = await desk.read(_parsed, media, body)
    most = desk.settings.service.most_subscriptions
    if len(items) > most:
        raise LimitError(f"expected at most {most:,} subscriptions a request, found {len(items):,}", most, len(items))
    return items


def _parsed(media: str, body: bytes) -> list[NewSubscription]:
    if media == ARROW:
        return new_from_arrow(body)
    return [
        NewSubscription(one.id, one.expression, one.feed, one.expires) for one in decode_lines(body, SubscriptionLine)
    ]


async def attempt(request: Request) -> Response:
    """What an expression would have matched, before anything is saved."""
    desk, asked = desk_of(request), await json_of(request, TryAsked)
    tried = await desk.read(desk.service.try_expression, asked.expression, asked.events)
    examples = [
        Example(one.position, msgspec.Raw(one.event), explained(explanation)) for one, explanation in tried.examples
    ]
    return tell(TriedAnswer(tried.looked_at, tried.matched, examples))


_IF_MATCH = Parameter("If-Match", "only if this etag, or * for any, is the present one", place="header")
_IF_NONE = Parameter("If-None-Match", "* to subscribe only an id that is not there", {"const": "*"}, place="header")
_ONE = "/v1/subscriptions/{id}"

ROUTES = (
    Route(
        "PUT",
        _ONE,
        put,
        "Subscribe an id, or replace what it had",
        (KEY, _IF_MATCH, _IF_NONE),
        takes={JSON: SubscriptionPut},
        gives={200: {JSON: SubscriptionAnswer}, 201: {JSON: SubscriptionAnswer}},
        refuses=(404, 409, 412),
    ),
    Route("GET", _ONE, get, "One subscription", gives={200: {JSON: SubscriptionAnswer}}, refuses=(404,)),
    Route(
        "DELETE",
        _ONE,
        delete,
        "Unsubscribe an id",
        (KEY, _IF_MATCH),
        gives={200: {JSON: Deleted}},
        refuses=(404, 409, 412),
    ),
    Route(
        "GET",
        "/v1/subscriptions",
        page,
        "Subscriptions in the order of their ids, a page at a time; as JSON lines or Arrow, all of them",
        (
            Parameter("after", "the id after which the page begins"),
            Parameter("limit", "how many", {"type": "integer", "minimum": 1, "maximum": 1000}),
            Parameter("feed", "those of one feed"),
        ),
        gives={200: {JSON: SubscriptionPage, LINES: {"type": "string"}, ARROW: ARROW_TABLE}},
        refuses=(404,),
    ),
    Route(
        "POST",
        "/v1/subscriptions",
        bulk,
        "Subscribe many, all or none",
        (KEY,),
        takes={LINES: {"type": "string"}, ARROW: ARROW_TABLE},
        gives={200: {JSON: Accepted}},
        refuses=(409,),
    ),
    Route(
        "POST",
        "/v1/subscriptions/delete",
        delete_many,
        "Unsubscribe many, all or none",
        (KEY,),
        takes={JSON: DeleteAsked},
        gives={200: {JSON: Deleted}},
        refuses=(404, 409),
    ),
    Route(
        "POST",
        "/v1/subscriptions/try",
        attempt,
        "The last stored events that an expression would have matched; nothing is saved",
        takes={JSON: TryAsked},
        gives={200: {JSON: TriedAnswer}},
    ),
)
