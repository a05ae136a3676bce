"""Requests' bodies: read within their limit, told apart by content type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeVar

from starlette.requests import Request

from tamis.errors import LimitError, OptionError
from tamis.server import cloudevents
from tamis.server.desk import Desk, desk_of
from tamis.server.json_bodies import decode_as
from tamis.server.problems import UnsupportedMedia
from tamis.service import Form, Publishing

__all__ = ["ARROW", "JSON", "LINES", "TOML", "accepts", "json_of", "key_of", "media_of", "publishing_of", "read_body"]

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
ARROW: Final = "application/vnd.apache.arrow.stream"
TOML: Final = "application/toml"
_FORMS: Final[dict[str, Form]] = {JSON: "json", LINES: "jsonl", ARROW: "arrow"}
_LONGEST_KEY = 255
_KEY = re.compile(rf"[!-~]{{1,{_LONGEST_KEY}}}")

_T = TypeVar("_T")


def media_of(request: Request, allowed: Sequence[str]) -> str:
    """The content type, which must be one of these: a page of a stranger can send others without being asked."""
    found = request.headers.get("content-type", "")
    media, _, parameters = found.partition(";")
    media = media.strip().lower()
    if media not in allowed:
        raise UnsupportedMedia(f"expected the content type {' or '.join(allowed)}, found {found or 'none'!r}")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    if parameters.strip().lower().startswith("charset=") and charset not in ("utf-8", "us-ascii"):
        raise UnsupportedMedia(f"expected UTF-8, found the charset {charset!r}")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnsupportedMedia(f"expected a body as it is, found one in {request.headers['content-encoding']!r}")
    return media


async def read_body(request: Request) -> bytes:
    """All of it, or `LimitError` as soon as it is too long."""
    most = desk_of(request).settings.most_body_bytes
    told = request.headers.get("content-length", "0")
    size = int(told) if told.isascii() and told.isdigit() else 0
    pieces: list[bytes] = []
    if size <= most:
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > most:
                break
            pieces.append(piece)
    if size > most:
        raise LimitError(f"expected a body of at most {most:,} bytes, found {size:,} or more", most, size)
    return b"".join(pieces)


async def json_of(request: Request, kind: type[_T]) -> _T:
    """A JSON body of one shape."""
    media_of(request, (JSON,))
    return decode_as(await read_body(request), kind)


def key_of(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not _KEY.fullmatch(key):
        raise OptionError(f"Idempotency-Key: expected 1 to {_LONGEST_KEY} visible characters of ASCII")
    return key


def accepts(request: Request, media: str) -> bool:
    """Whether the answer is wished in this form, which is not the usual one."""
    wished = request.headers.get("accept", "").lower().split(",")
    return any(one.partition(";")[0].strip() == media for one in wished)


async def publishing_of(request: Request) -> Publishing:
    """The events of a publishing, whatever they came as."""
    desk, key = desk_of(request), key_of(request)
    if cloudevents.is_binary(request.headers):
        media_of(request, (JSON,))
        event = cloudevents.of_binary(request.headers, await read_body(request), desk.service.schema)
        return Publishing(event, "json", key)
    media = media_of(request, (*_FORMS, cloudevents.STRUCTURED, cloudevents.BATCH))
    body = await read_body(request)
    return Publishing(*_unwrapped(desk, media, body), key)


def _unwrapped(desk: Desk, media: str, body: bytes) -> tuple[bytes, Form]:
    if media == cloudevents.STRUCTURED:
        return cloudevents.of_structured(body, desk.service.schema), "json"
    if media == cloudevents.BATCH:
        return cloudevents.of_batch(body, desk.service.schema), "json"
    return body, _FORMS[media]
