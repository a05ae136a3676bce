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
    from tamis.spark.steps.event_time import deduplicate, throttle
    from tamis.spark.steps.generation import generate_events, generate_subscriptions
    from tamis.spark.steps.indexing import Commit, index, rejected_subscriptions
    from tamis.spark.steps.integration import integrate
    from tamis.spark.steps.mapping import Mapping
    from tamis.spark.steps.matching import count_matches, match, routes
    from tamis.spark.steps.notification import notify
    from tamis.spark.steps.updating import update, vacuum
    from tamis.spark.steps.validation import validate
    from tamis.spark.streaming.arriving import event_files, feed_files, kafka_events
    from tamis.spark.streaming.batches import Outputs
    from tamis.spark.streaming.changing import ChangeReport, stream_changes
    from tamis.spark.streaming.data_source import register_source
    from tamis.spark.streaming.outputs import Files, Sql
    from tamis.spark.streaming.reports import BatchReport, batch_reports
    from tamis.spark.streaming.running import Stream, stream
    from tamis.spark.workers.tally import Tally

__all__ = [
    "BatchReport",
    "ChangeReport",
    "Commit",
    "Files",
    "Mapping",
    "Outputs",
    "Sql",
    "Stream",
    "Tally",
    "analyze",
    "batch_reports",
    "compact",
    "count_matches",
    "deduplicate",
    "event_files",
    "feed_files",
    "generate_events",
    "generate_subscriptions",
    "index",
    "integrate",
    "kafka_events",
    "match",
    "notify",
    "register_source",
    "rejected_subscriptions",
    "routes",
    "session",
    "stream",
    "stream_changes",
    "throttle",
    "update",
    "vacuum",
    "validate",
]

_HOMES = {
    "BatchReport": "streaming.reports",
    "ChangeReport": "streaming.changing",
    "Commit": "steps.indexing",
    "Files": "streaming.outputs",
    "Mapping": "steps.mapping",
    "Outputs": "streaming.batches",
    "Sql": "streaming.outputs",
    "Stream": "streaming.running",
    "Tally": "workers.tally",
    "analyze": "steps.analysis",
    "batch_reports": "streaming.reports",
    "compact": "steps.compaction",
    "count_matches": "steps.matching",
    "deduplicate": "steps.event_time",
    "event_files": "streaming.arriving",
    "feed_files": "streaming.arriving",
    "generate_events": "steps.generation",
    "generate_subscriptions": "steps.generation",
    "index": "steps.indexing",
    "integrate": "steps.integration",
    "kafka_events": "streaming.arriving",
    "match": "steps.matching",
    "notify": "steps.notification",
    "register_source": "streaming.data_source",
    "rejected_subscriptions": "steps.indexing",
    "routes": "steps.matching",
    "session": "running.sessions",
    "stream": "streaming.running",
    "stream_changes": "streaming.changing",
    "throttle": "steps.event_time",
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
