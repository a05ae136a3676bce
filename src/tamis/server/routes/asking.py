"""Questions that publish nothing: who would be told, and why."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tamis.errors import OptionError, TooBusy
from tamis.server.arrow_bodies import ARROW_TABLE, event_of, matches_stream
from tamis.server.asked import position_header
from tamis.server.bodies import ARROW, JSON, LINES, accepts, media_of, read_body
from tamis.server.desk import Desk, desk_of
from tamis.server.json_bodies import decode_as
from tamis.server.routing import Parameter, Route, tell
from tamis.server.shapes import (
    EventsToMatch,
    ExplainAsked,
    ExplainedAnswer,
    MatchedAnswer,
    explained,
    rejections,
)
from tamis.service import Form

__all__ = ["ROUTES"]


async def match(request: Request) -> Response:
    """Who would be told of these events, as of the log's end when the question came."""
    desk = desk_of(request)
    media = media_of(request, (JSON, LINES, ARROW))
    events, form = _events(media, await read_body(request))
    await _caught_up(desk, request)
    found = await desk.read(desk.service.match, events, form)
    rejected = rejections(found.rejected)
    if accepts(request, ARROW):
        table = matches_stream(found.matches, found.position, msgspec.json.encode(rejected))
        return Response(table, media_type=ARROW)
    return tell(MatchedAnswer([list(ids) for ids in found.matches], found.position, rejected))


def _events(media: str, body: bytes) -> tuple[bytes, Form]:
    if media == JSON:
        return bytes(decode_as(body, EventsToMatch).events), "json"
    return body, "jsonl" if media == LINES else "arrow"


async def _caught_up(desk: Desk, request: Request) -> None:
    """Until what was written before is matched: whoever subscribed is asked, too."""
    asked = position_header(request)
    position = desk.service.tail if asked is None else asked
    if not await desk.reached(position, desk.settings.most_wait_seconds):
        raise TooBusy(f"position {position} is not matched yet, only {desk.service.reached}", 1.0)


async def explain(request: Request) -> Response:
    """Why an event, or the stored one at a position, does or does not match."""
    desk = desk_of(request)
    id, what = _asked(request, media_of(request, (JSON, ARROW)), await read_body(request))
    await _caught_up(desk, request)
    found = await desk.read(desk.service.explain, id, what)
    return tell(ExplainedAnswer(found.explanation.matches, explained(found.explanation), list(found.notes)))


def _asked(request: Request, media: str, body: bytes) -> tuple[str, Mapping[str, object] | int]:
    """Whom, and about which event: in JSON, or in Arrow with the id in the query."""
    id = request.query_params.get("id")
    if media == ARROW:
        if not id:
            raise OptionError("id: expected the subscription's id beside a table, found none")
        return id, event_of(body)
    asked = decode_as(body, ExplainAsked)
    if asked.event is not None and asked.position is None:
        return asked.id, asked.event
    if asked.event is None and asked.position is not None:
        return asked.id, asked.position
    raise OptionError("expected either an event or a position")


_POSITION = Parameter(
    "Tamis-Position",
    "answer as of this position or a later one; without it, of the log's end when the question came",
    {"type": "integer", "minimum": 0},
    place="header",
)

ROUTES = (
    Route(
        "POST",
        "/v1/match",
        match,
        "The ids that events would meet; nothing is published",
        (_POSITION,),
        takes={JSON: EventsToMatch, LINES: {"description": "each line is judged alone"}, ARROW: ARROW_TABLE},
        gives={200: {JSON: MatchedAnswer, ARROW: ARROW_TABLE}},
    ),
    Route(
        "POST",
        "/v1/explain",
        explain,
        "Why an event does or does not match a subscription, predicate by predicate",
        (_POSITION, Parameter("id", "the subscription, where the event is a table of Arrow")),
        takes={JSON: ExplainAsked, ARROW: ARROW_TABLE},
        gives={200: {JSON: ExplainedAnswer}},
        refuses=(404,),
    ),
)
