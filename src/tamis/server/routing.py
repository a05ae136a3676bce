"""What a route is: where, what it takes, what it gives, and who answers. The application and /openapi.json read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tamis.errors import OptionError
from tamis.model.domains import hint
from tamis.server.bodies import JSON

__all__ = ["Answering", "Parameter", "Route", "Shape", "check_query", "tell"]

Answering: TypeAlias = Callable[[Request], Awaitable[Response]]
Shape: TypeAlias = "type[msgspec.Struct] | Mapping[str, Any]"
"""A struct of `shapes`, or JSON Schema as it is."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter or a header. What stands in a path is told by the path."""

    name: str
    says: str
    shape: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    place: Literal["query", "header"] = "query"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """`takes` and `gives` are content types with their shapes; `refuses` the statuses that are problems."""

    method: str
    path: str
    answer: Answering
    says: str
    parameters: tuple[Parameter, ...] = ()
    takes: Mapping[str, Shape] = field(default_factory=dict)
    gives: Mapping[int, Mapping[str, Shape]] = field(default_factory=dict)
    refuses: tuple[int, ...] = ()

    @property
    def query(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.parameters if one.place == "query")


def check_query(route: Route, request: Request) -> None:
    """A parameter that the route does not know, or that comes twice, would be overlooked in silence."""
    found = request.query_params
    for name in found:
        if name not in route.query:
            raise OptionError(f"there is no query parameter {name!r} here{hint(name, route.query)}")
        if len(found.getlist(name)) > 1:
            raise OptionError(f"{name}: expected it once, found it {len(found.getlist(name))} times")


def tell(answer: object, status: int = 200, **headers: str) -> Response:
    """An answer as JSON."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response(msgspec.json.encode(answer), status, named, JSON)
