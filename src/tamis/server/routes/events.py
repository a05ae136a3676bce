"""Publishing."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from tamis.server import cloudevents
from tamis.server.asked import choice
from tamis.server.bodies import ARROW, JSON, LINES, publishing_of
from tamis.server.desk import Desk, desk_of
from tamis.server.problems import NothingAccepted
from tamis.server.routing import Parameter, Route, tell
from tamis.server.shapes import Receipt, rejections
from tamis.service import Published

__all__ = ["KEY", "ROUTES"]

KEY = Parameter(
    "Idempotency-Key",
    "the same key with the same body is taken once, and answered alike",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    place="header",
)
_LARGE = 1 << 16
"""Bytes of events past which they are read in a thread, so that others are answered meanwhile."""


async def publish(request: Request) -> Response:
    """One event or many onto the log."""
    desk = desk_of(request)
    counts = choice(request, "matches", ("counts",))
    publishing = await publishing_of(request)
    write = desk.written_elsewhere if len(publishing.events) > _LARGE else desk.written
    published: Published = await write(desk.service.publish, publishing)
    receipt = _receipt(published)
    if counts:
        receipt.matches = await _counted(desk, receipt)
    return tell(receipt, 202)


def _receipt(published: Published) -> Receipt:
    rejected = rejections(published.rejected)
    if published.first is not None and published.last is not None:
        return Receipt(published.first, published.last, published.accepted, rejected)
    if not rejected:
        raise NothingAccepted("expected at least one event, found none")
    error = NothingAccepted(rejected[0].detail, rejected[0].rule, rejected[0].attribute)
    error.index = rejected[0].index
    error.rejected = [*rejected]
    raise error


async def _counted(desk: Desk, receipt: Receipt) -> list[int] | None:
    if not await desk.reached(receipt.last, desk.settings.match_wait_seconds):
        return None
    return await desk.read(desk.service.counts, receipt.first, receipt.last)


_EVENT = {"type": "object"}
_CLOUD_EVENT = {
    "type": "object",
    "required": ["id", "source", "specversion", "type", "data"],
    "properties": {
        **{name: {"type": "string", "minLength": 1} for name in ("id", "source", "type")},
        "specversion": {"const": "1.0"},
        "data": _EVENT,
    },
}

ROUTES = (
    Route(
        "POST",
        "/v1/events",
        publish,
        "Publish one event or many; answered once they are on disk",
        (KEY, Parameter("matches", "wait for the matcher, and tell how many each met", {"enum": ["counts"]})),
        takes={
            JSON: {"anyOf": [_EVENT, {"type": "array", "description": "events; what is no object is rejected alone"}]},
            LINES: {"type": "string"},
            ARROW: {"type": "string", "format": "binary"},
            cloudevents.STRUCTURED: _CLOUD_EVENT,
            cloudevents.BATCH: {"type": "array", "items": _CLOUD_EVENT},
        },
        gives={202: {JSON: Receipt}},
    ),
)
