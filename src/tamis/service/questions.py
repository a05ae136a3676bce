"""Questions that change nothing: who would be told, why, and what would an expression have met?"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nlargest

import numpy as np

from tamis.errors import LanguageError, LimitError, UnknownSubscription
from tamis.language import parse
from tamis.model import Schema
from tamis.model.names import Used
from tamis.registry.attributes import Attributes, attributes_of
from tamis.registry.explaining import Explanation, explain
from tamis.segments.segment_registry import SegmentRegistry
from tamis.service.answers import Explained, Matched, Notification, Rejected, Tried
from tamis.service.asking import Found, ask_run, runs_of
from tamis.service.door import body_bytes, read_publishing
from tamis.service.matcher import Matcher
from tamis.service.reading import Reader
from tamis.service.requests import Publishing
from tamis.service.settings import Settings
from tamis.service.subscribing import moment
from tamis.store.log import Log, Record

__all__ = ["Questions"]

_EXAMPLES = 5


class Questions:
    """Asked from any thread."""

    def __init__(
        self, log: Log, reader: Reader, matcher: Matcher, schemas: Mapping[int, Schema], settings: Settings
    ) -> None:
        self._log = log
        self._reader = reader
        self._matcher = matcher
        self._schemas = schemas
        self._settings = settings

    def match(self, asked: Publishing) -> Matched:
        registry, handles = self._matcher.registry, self._matcher.handles
        body = read_publishing(asked, registry.schema, 0, self._settings)
        record = Record(0, len(body) - 1, 0, "events", body.codec, 0, body_bytes(body.content))
        found = Found()
        with self._matcher.engine_lock:  # the engine is as of `reached`, but for those to come
            reached = self._matcher.reached
            for positions, run in runs_of([record] if len(body) else []):
                ask_run(registry, run, positions, self._settings.block_matches, found)
            rows, met = found.matches()
            kept = handles.living(met, np.full(len(met), reached))
        pairs = sorted(zip(rows[kept].tolist(), met[kept].tolist(), strict=True))
        names = self._log.ids(sorted({handle for _, handle in pairs}))
        size = len(body) + len(body.rejected)
        matches: list[list[str]] = [[] for _ in range(size)]
        for row, handle in pairs:
            matches[body.indexes[row]].append(names[handle])
        failed = [Rejected(body.indexes[row], None, None, why) for row, why in found.failed.items()]
        rejected = sorted([*body.rejected, *failed], key=lambda one: one.index)
        return Matched(matches, reached, tuple(rejected))

    # -- why --------------------------------------------------------------------------------------------------

    def explain(self, id: str, event: Mapping[str, object] | int) -> Explained:
        newest = self._schemas[max(self._schemas)]
        if not isinstance(event, int):
            row = self._log.subscription(id)
            if row is None:
                raise UnknownSubscription(id)
            return Explained(_explained(row.expression, newest, newest, event))
        stored = self._reader.event(event)
        notes: list[str] = []
        row = self._log.subscription(id, event)
        if row is None:
            row = self._log.subscription(id)
            if row is None:
                raise UnknownSubscription(id)
            notes.append(f"the subscription did not live at position {event}: it was made at {row.born}")
        if event > self._matcher.reached:
            notes.append("the event is not matched yet")
        for reason in self._matcher.failure(event):
            notes.append(f"the event could not be matched: {reason}")
        return Explained(
            _explained(row.expression, newest, self._schemas[stored.version], self._reader.raw(event)), tuple(notes)
        )

    # -- what if ----------------------------------------------------------------------------------------------

    def try_expression(self, expression: str, events: int) -> Tried:
        most = max(1, min(events, self._settings.try_events))
        registries: dict[int, SegmentRegistry | None] = {}
        looked_at, met = 0, []
        for record in self._reader.latest(most):
            looked_at += record.last - record.first + 1
            if record.schema not in registries:
                registries[record.schema] = _alone(expression, self._schemas[record.schema])
            registry = registries[record.schema]
            if registry is not None:
                found = Found()
                for positions, run in runs_of([record]):
                    ask_run(registry, run, positions, self._settings.block_matches, found)
                met += found.matches()[0].tolist()
        newest = self._schemas[max(self._schemas)]
        return Tried(looked_at, len(met), [self._example(at, expression, newest) for at in nlargest(_EXAMPLES, met)])

    def _example(self, position: int, expression: str, newest: Schema) -> tuple[Notification, Explanation]:
        stored = self._reader.event(position)
        explanation = _explained(expression, newest, self._schemas[stored.version], self._reader.raw(position))
        return Notification(position, "", stored.text, (), moment(stored.at)), explanation


def _explained(expression: str, schema: Schema, read_by: Schema, event: Mapping[str, object]) -> Explanation:
    """The event is read by the schema that it was checked against."""
    conjunctions = parse(expression, schema)
    named: Attributes = {}
    attributes_of(conjunctions, named)
    return explain(schema, conjunctions, read_by.event(event, Used.of(named)))


def _alone(expression: str, schema: Schema) -> SegmentRegistry | None:
    """A registry of one; None where that schema cannot read it."""
    registry = SegmentRegistry(schema)
    try:
        registry.subscribe(0, expression)
    except (LanguageError, LimitError):
        return None
    return registry
