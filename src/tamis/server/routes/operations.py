"""For operators: is it alive, is it ready, what are its numbers, what does it offer."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from tamis.server.bodies import JSON
from tamis.server.desk import Desk, desk_of
from tamis.server.metering import MEDIA
from tamis.server.openapi import described
from tamis.server.routing import Route, tell
from tamis.server.shapes import Health

__all__ = ["ROUTES"]


async def alive(request: Request) -> Response:
    """The process answers; that is all it says."""
    return tell({"status": "ok"})


async def ready(request: Request) -> Response:
    found = await _health(desk_of(request))
    return tell(found, 200 if found.ready else 503)


async def _health(desk: Desk) -> Health:
    if desk.stopping:
        return Health(False, desk.service.lag(), "the server is stopping")
    told = await desk.read(desk.service.health)
    lag = desk.service.lag()
    if not told.get("ready"):
        return Health(False, lag, str(told.get("why") or "the service is starting"))
    if lag > desk.settings.ready_lag:
        return Health(False, lag, f"the matcher is {lag:,} positions behind, more than {desk.settings.ready_lag:,}")
    return Health(True, lag)


async def metrics(request: Request) -> Response:
    desk = desk_of(request)
    numbers = {**await desk.read(desk.service.metrics), "streams": desk.streams, "requests": desk.requests}
    return Response(desk.meter.text(numbers), media_type=MEDIA)


async def openapi(request: Request) -> Response:
    from tamis.server.routes import ROUTES as ALL

    return tell(described(ALL))


ROUTES = (
    Route(
        "GET",
        "/healthz",
        alive,
        "Whether the process answers",
        gives={200: {JSON: {"type": "object", "properties": {"status": {"const": "ok"}}}}},
    ),
    Route(
        "GET",
        "/readyz",
        ready,
        "Whether it may be sent work: recovered, warm, and the matcher not far behind",
        gives={200: {JSON: Health}, 503: {JSON: Health}},
    ),
    Route("GET", "/metrics", metrics, "All numbers, for Prometheus", gives={200: {"text/plain": {"type": "string"}}}),
    Route("GET", "/openapi.json", openapi, "This description", gives={200: {JSON: {"type": "object"}}}),
)
