"""Bulk loads of any size: pieces are kept without effect, and one commit makes all of them count, or none."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from tamis.errors import OptionError
from tamis.server.arrow_bodies import ARROW_TABLE
from tamis.server.asked import name_in_path
from tamis.server.bodies import ARROW, JSON, LINES, json_of
from tamis.server.desk import desk_of
from tamis.server.routes.subscriptions import many_of
from tamis.server.routing import Route, tell
from tamis.server.shapes import Accepted, CommitAsked, StagedPiece
from tamis.service import Loaded, Staged

__all__ = ["ROUTES"]

_MOST_PIECES = 1_000_000


async def stage(request: Request) -> Response:
    desk, upload, piece = desk_of(request), name_in_path(request, "upload"), request.path_params["piece"]
    if not (piece.isascii() and piece.isdigit() and len(piece) < 8 and int(piece) < _MOST_PIECES):
        raise OptionError(f"piece: expected a whole number from 0 to {_MOST_PIECES - 1:,}, found {piece!r}")
    items = await many_of(request)
    done: Staged = await desk.written_elsewhere(desk.service.stage, upload, int(piece), items)
    return tell(StagedPiece(done.upload, done.pieces, done.subscriptions))


async def commit(request: Request) -> Response:
    desk, upload = desk_of(request), name_in_path(request, "upload")
    asked = await json_of(request, CommitAsked)
    done: Loaded = await desk.written_elsewhere(desk.service.commit, upload, asked.pieces)
    return tell(Accepted(done.accepted, done.position))


ROUTES = (
    Route(
        "PUT",
        "/v1/uploads/{upload}/{piece}",
        stage,
        "Keep a piece of a bulk load, numbered from 0, without effect",
        takes={LINES: {"type": "string"}, ARROW: ARROW_TABLE},
        gives={200: {JSON: StagedPiece}},
        refuses=(409,),
    ),
    Route(
        "POST",
        "/v1/uploads/{upload}/commit",
        commit,
        "All pieces take effect at one position; again: the same answer",
        takes={JSON: CommitAsked},
        gives={200: {JSON: Accepted}},
        refuses=(404, 409),
    ),
)
