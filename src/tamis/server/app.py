"""The application: the routes of the table, behind the door."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.routing import Route as Routed
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from tamis.server.desk import Desk
from tamis.server.door import Door
from tamis.server.logs import Log
from tamis.server.problems import MethodNotAllowed, UnknownRoute
from tamis.server.routes import ROUTES
from tamis.server.routing import Route, check_query

__all__ = ["application"]


def application(desk: Desk, log: Log) -> ASGIApp:
    by_path: dict[str, dict[str, Route]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, {})[route.method] = route
    plain_first = sorted(by_path.items(), key=lambda one: one[0].count("{"))
    places = [_Placed(path, _Place(methods), methods=list(methods)) for path, methods in plain_first]
    return Door(Router(places, redirect_slashes=False, default=_nowhere), desk, log)


class _Placed(Routed):
    """Of two paths that both fit, as `/v1/subscriptions/try` and one with the id `try`, the one with the method is
    taken; where there is none, our own words are."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


class _Place:
    """One path, with a route for each of its methods."""

    def __init__(self, methods: Mapping[str, Route]) -> None:
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._methods.get(scope["method"])
        if route is None:
            allowed = ", ".join(self._methods)
            raise MethodNotAllowed(f"expected the method {allowed}, found {scope['method']}", allowed)
        request = Request(scope, receive)
        check_query(route, request)
        response = await route.answer(request)
        await response(scope, receive, send)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        raise UnknownRoute(f"there is nothing at {scope['path'][:200]}; /openapi.json lists what there is")
