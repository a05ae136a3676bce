"""/openapi.json, made of the table of routes and the shapes that they use: what is not in there is not offered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tamis import __version__
from tamis.server import problems
from tamis.server.routing import Parameter, Route, Shape
from tamis.server.shapes import Problem

__all__ = ["described"]

_ANY = (400, 413, 421, 429, 500, 503)
"""Statuses that every route may answer: a mistake in the request, too much of something, no state to answer in."""
_WITH_BODY = (415, 422)
_REF = "#/components/schemas/{name}"


def described(routes: Iterable[Route]) -> dict[str, Any]:
    """The description of all routes, OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    shapes: set[type[msgspec.Struct]] = {Problem}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, shapes)
    ordered = sorted(shapes, key=lambda one: one.__name__)
    _, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tamis",
            "version": __version__,
            "description": "Content-based publish/subscribe: publish events, subscribe by expressions, be told.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }


def _operation(route: Route, shapes: set[type[msgspec.Struct]]) -> dict[str, Any]:
    words = re.sub(r"\W+", " ", f"{route.method.lower()} {route.path.removeprefix('/v1')}").split()
    found: dict[str, Any] = {
        "operationId": "-".join(words),
        "summary": route.says,
        "parameters": [*_in_path(route.path), *map(_parameter, route.parameters)],
        "responses": _responses(route, shapes),
    }
    if route.takes:
        found["requestBody"] = {"required": True, "content": _content(route.takes, shapes)}
    return found


def _responses(route: Route, shapes: set[type[msgspec.Struct]]) -> dict[str, Any]:
    problem = {problems.MEDIA: {"schema": {"$ref": _REF.format(name="Problem")}}}
    refused = {*_ANY, *route.refuses, *(_WITH_BODY if route.takes or route.refuses else ()), 422}
    found: dict[int, Any] = {
        status: {"description": "a problem (RFC 9457)", "content": problem} for status in sorted(refused)
    }
    for status, content in route.gives.items():
        both = problem if status in refused else {}
        found[status] = {"description": route.says, "content": _content(content, shapes) | both}
    return {str(status): found[status] for status in sorted(found)}


def _content(content: Mapping[str, Shape], shapes: set[type[msgspec.Struct]]) -> dict[str, Any]:
    return {media: {"schema": _schema(shape, shapes)} for media, shape in content.items()}


def _schema(shape: Shape, shapes: set[type[msgspec.Struct]]) -> Mapping[str, Any]:
    if isinstance(shape, type):
        shapes.add(shape)
        return {"$ref": _REF.format(name=shape.__name__)}
    return shape


def _in_path(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "^[^\\x00-\\x1f\\x7f]+$"},
        }
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _parameter(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name,
        "in": one.place,
        "required": one.required,
        "description": one.says,
        "schema": one.shape,
    }
