"""The schema: read, and extended by the four rules."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from tamis.model import Schema
from tamis.server.bodies import JSON, TOML, accepts, key_of, media_of, read_body
from tamis.server.desk import desk_of
from tamis.server.json_bodies import decode_as
from tamis.server.problems import BadBody
from tamis.server.routes.events import KEY
from tamis.server.routing import Route, tell
from tamis.server.shapes import Extended, SchemaAddition, SchemaTold
from tamis.service import Extended as Done

__all__ = ["ROUTES"]


async def get(request: Request) -> Response:
    service = desk_of(request).service
    version, schema = service.schema_version, service.schema
    if accepts(request, TOML):
        return Response(schema.dumps(), media_type=TOML)
    return tell(SchemaTold(version, schema.open, schema.dumps()))


async def extend(request: Request) -> Response:
    desk, media = desk_of(request), media_of(request, (TOML, JSON))
    body = await read_body(request)
    addition = await desk.read(_addition, media, body)
    done: Done = await desk.written_elsewhere(desk.service.extend, addition, key=key_of(request))
    return tell(Extended(done.version, done.position, list(done.warnings)))


def _addition(media: str, body: bytes) -> Schema:
    if media == JSON:
        return Schema.loads(decode_as(body, SchemaAddition).toml)
    try:
        return Schema.loads(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadBody("expected UTF-8") from None


ROUTES = (
    Route(
        "GET",
        "/v1/schema",
        get,
        "The schema, as TOML within JSON or by itself",
        gives={200: {JSON: SchemaTold, TOML: {"type": "string"}}},
    ),
    Route(
        "POST",
        "/v1/schema",
        extend,
        "Extend the schema by the four rules: nothing that exists changes its meaning",
        (KEY,),
        takes={TOML: {"type": "string"}, JSON: SchemaAddition},
        gives={200: {JSON: Extended}},
        refuses=(409,),
    ),
)
