"""The data pipeline: integrate, validate, index, match, notify; each step DataFrame -> DataFrame.

    from tamis import spark as ts

    spark = ts.session()
    events = ts.integrate(feed, ts.Mapping.load("brocante.toml"))
    valid, rejected = ts.validate(events, schema)
    ts.index(subscriptions, schema, path)
    matches = ts.match(valid, path)
    notifications = ts.notify(matches, subscriptions)

Importing this package starts nothing; pyspark is imported when a step is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tamis.spark.analyze import analyze
    from tamis.spark.generate import generate_events, generate_subscriptions
    from tamis.spark.integrate import integrate
    from tamis.spark.mapping import Mapping
    from tamis.spark.notify import notify
    from tamis.spark.session import session
    from tamis.spark.validate import validate

__all__ = [
    "Mapping",
    "analyze",
    "generate_events",
    "generate_subscriptions",
    "integrate",
    "notify",
    "session",
    "validate",
]

_HOMES = {
    "Mapping": "mapping",
    "analyze": "analyze",
    "generate_events": "generate",
    "generate_subscriptions": "generate",
    "integrate": "integrate",
    "notify": "notify",
    "session": "session",
    "validate": "validate",
}
"""Name → the module that has it."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # A module and its function share a name, and importing the module would put it in the function's place.
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
