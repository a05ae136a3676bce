"""All routes of the server, in one table."""

from __future__ import annotations

from tamis.server.routes import asking, events, feeds, operations, schemas, streams, subscriptions, uploads
from tamis.server.routing import Route

__all__ = ["ROUTES"]

ROUTES: tuple[Route, ...] = (
    *events.ROUTES,
    *subscriptions.ROUTES,
    *uploads.ROUTES,
    *feeds.ROUTES,
    *streams.ROUTES,
    *asking.ROUTES,
    *schemas.ROUTES,
    *operations.ROUTES,
)
