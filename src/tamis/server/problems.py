"""Errors as problem details (RFC 9457): the library's sentences, and the one table from exceptions to status codes.

`type` ends in the name of the exception, so that a client can raise the same one; the exception's facts are members.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

import msgspec

from tamis.errors import (
    Conflict,
    EtagMismatch,
    EventError,
    KeyReused,
    LanguageError,
    LimitError,
    OptionError,
    SchemaError,
    ServiceClosed,
    TamisError,
    TooBusy,
    UnknownFeed,
    UnknownPosition,
    UnknownSubscription,
    WorkError,
)

__all__ = [
    "MEDIA",
    "PREFIX",
    "STATUS",
    "BadBody",
    "ForeignHost",
    "MethodNotAllowed",
    "NothingAccepted",
    "UnknownRoute",
    "UnsupportedMedia",
    "headers_of",
    "kind_of",
    "problem_of",
    "rendered",
]

PREFIX: Final = "urn:tamis:error:"
MEDIA: Final = "application/problem+json"


class BadBody(TamisError):
    """A body that is not what its content type says."""


class UnsupportedMedia(TamisError):
    """A content type or an encoding that the route does not read."""


class UnknownRoute(TamisError):
    """A path that leads nowhere."""


class MethodNotAllowed(TamisError):
    """A path that exists, for other methods."""

    def __init__(self, message: str, allowed: str) -> None:
        super().__init__(message)
        self.allowed = allowed


class ForeignHost(TamisError):
    """A request for another host: a page of a stranger that calls this machine by a name of its own."""


class NothingAccepted(EventError):
    """All events of a publishing were refused: the first one's sentence, and all of them."""

    def __init__(self, message: str, rule: str | None = None, attribute: str | None = None) -> None:
        super().__init__(message, rule, attribute)
        self.index = 0
        self.rejected: list[object] = []


STATUS: Mapping[type[TamisError], int] = MappingProxyType(
    {
        BadBody: 400,
        OptionError: 400,
        UnknownFeed: 404,
        UnknownPosition: 404,
        UnknownRoute: 404,
        UnknownSubscription: 404,
        MethodNotAllowed: 405,
        Conflict: 409,
        EtagMismatch: 412,
        LimitError: 413,
        UnsupportedMedia: 415,
        ForeignHost: 421,
        EventError: 422,
        KeyReused: 422,
        LanguageError: 422,
        SchemaError: 422,
        WorkError: 422,
        TooBusy: 429,
        TamisError: 500,
        ServiceClosed: 503,
    }
)
"""Exception → status. A kind that is not listed has the status of the nearest listed one that it is a kind of."""

_FACTS = (
    *("column", "rule", "attribute", "index", "rejected", "limit", "found"),
    *("id", "ids", "name", "position", "key", "etag", "retry_after"),
)
"""Fields of exceptions that are members of a problem, where they are there."""
_EXPECTED = re.compile(r"expected (.+?)(?:, (?:found|after|but)\b|;|$)")
_UNNAMED = "something went wrong in the server; its log has the request's id"


def problem_of(error: BaseException) -> dict[str, object]:
    """The members of the problem. Of what is no mistake of the client's nothing is told."""
    kind = kind_of(error)
    if kind is TamisError:
        return _problem("InternalError", 500, _UNNAMED)
    found = _problem(kind.__name__, STATUS[kind], str(error))
    if (expected := _EXPECTED.search(str(error))) and kind is LanguageError:
        found["expected"] = expected[1]
    for name in _FACTS:
        if (fact := getattr(error, name, None)) is not None:
            found[name] = fact
    return found


def kind_of(error: BaseException) -> type[TamisError]:
    """The nearest kind that the table has."""
    return next((kind for kind in type(error).__mro__ if kind in STATUS), TamisError)


def headers_of(error: BaseException) -> dict[str, str]:
    """What a status asks for beside its body."""
    found: dict[str, str] = {}
    if (seconds := getattr(error, "retry_after", None)) is not None:
        found["retry-after"] = str(max(1, round(seconds)))
    if isinstance(error, MethodNotAllowed):
        found["allow"] = error.allowed
    return found


def rendered(problem: Mapping[str, object]) -> bytes:
    return msgspec.json.encode(problem)


def _problem(name: str, status: int, detail: str) -> dict[str, object]:
    return {"type": f"{PREFIX}{name}", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
