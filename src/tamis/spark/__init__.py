"""The data pipeline: integrate, validate, index, match, notify; each step DataFrame -> DataFrame.

    from tamis import spark as ts

    spark = ts.session()
    events = ts.integrate(feed, ts.Mapping.load("brocante.toml"))
    valid, rejected = ts.validate(events, schema)
    ts.index(subscriptions, schema, path)
    matches = ts.match(valid, path, validated=True)
    notifications = ts.notify(matches, subscriptions)

Importing this package starts nothing; pyspark is imported when a step is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tamis.spark.running.sessions import session
    from tamis.spark.steps.analysis import analyze
    from tamis.spark.steps.compaction import compact
    from tamis.spark.steps.generation import generate_events, generate_subscriptions
    from tamis.spark.steps.indexing import Commit, index, rejected_subscriptions
    from tamis.spark.steps.integration import integrate
    from tamis.spark.steps.mapping import Mapping
    from tamis.spark.steps.matching import count_matches, match, routes
    from tamis.spark.steps.notification import notify
    from tamis.spark.steps.updating import update, vacuum
    from tamis.spark.steps.validation import validate
    from tamis.spark.workers.tally import Tally

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
    "Commit": "steps.indexing",
    "Mapping": "steps.mapping",
    "Tally": "workers.tally",
    "analyze": "steps.analysis",
    "compact": "steps.compaction",
    "count_matches": "steps.matching",
    "generate_events": "steps.generation",
    "generate_subscriptions": "steps.generation",
    "index": "steps.indexing",
    "integrate": "steps.integration",
    "match": "steps.matching",
    "notify": "steps.notification",
    "rejected_subscriptions": "steps.indexing",
    "routes": "steps.matching",
    "session": "running.sessions",
    "update": "steps.updating",
    "vacuum": "steps.updating",
    "validate": "steps.validation",
}
"""Name → the module that has it. No module has the name of a function: importing it would take the function's place."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
