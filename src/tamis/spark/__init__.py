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
    from tamis.spark.analysis import analyze
    from tamis.spark.compaction import compact
    from tamis.spark.generation import generate_events, generate_subscriptions
    from tamis.spark.indexing import Commit, index, rejected_subscriptions
    from tamis.spark.integration import integrate
    from tamis.spark.mapping import Mapping
    from tamis.spark.matching import count_matches, match, routes
    from tamis.spark.notification import notify
    from tamis.spark.sessions import session
    from tamis.spark.tally import Tally
    from tamis.spark.updating import update, vacuum
    from tamis.spark.validation import validate

__all__ = [
    "Commit",
    "Mapping",
    "Tally",
    "analyze",
    "compact",
    "count_matches",
    "generate_events",
    "generate_subscriptions",
    "index",
    "integrate",
    "match",
    "notify",
    "rejected_subscriptions",
    "routes",
    "session",
    "update",
    "vacuum",
    "validate",
]

_HOMES = {
    "Commit": "indexing",
    "Mapping": "mapping",
    "Tally": "tally",
    "analyze": "analysis",
    "compact": "compaction",
    "count_matches": "matching",
    "generate_events": "generation",
    "generate_subscriptions": "generation",
    "index": "indexing",
    "integrate": "integration",
    "match": "matching",
    "notify": "notification",
    "rejected_subscriptions": "indexing",
    "routes": "matching",
    "session": "sessions",
    "update": "updating",
    "vacuum": "updating",
    "validate": "validation",
}
"""Name → the module that has it. No module has the name of a function: importing it would take the function's place."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
