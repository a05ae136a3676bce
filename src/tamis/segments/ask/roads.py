"""The roads that one event takes to the segments of a snapshot. The road is chosen, and the event read for all of them,
before the first is asked; so each is asked once.

- *plain*: the values of a mapping, as far as they are easily judged, go straight to codes;
- *careful*: what the schema made of the mapping, as codes or, where an attribute that a segment looks at has several
  values, as a batch of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from weakref import WeakKeyDictionary

from tamis.batches.batch import Batch, batch_of_events
from tamis.matches import Codes
from tamis.model import Event, Schema
from tamis.segments.ask.answering import Answering
from tamis.segments.ask.listing import Work
from tamis.segments.ask.mapping_codes import NotPlain
from tamis.segments.ask.one_event import SingleMatcher
from tamis.segments.ids import IdIndex
from tamis.segments.segment import Segment

__all__ = ["Ask", "Roads"]

Ask = Callable[[], Codes]
"""Asks one segment: the first rows of the living that the event satisfies, in the order of subscribing."""


class Roads:
    """Under one schema; work is added to `work`."""

    def __init__(self, schema: Schema, answering: Answering, work: Work) -> None:
        self._schema = schema
        self._answering = answering
        self._work = work
        self._singles: WeakKeyDictionary[IdIndex, SingleMatcher] = WeakKeyDictionary()

    def plain(self, segments: tuple[Segment, ...], raw: Mapping[str, object]) -> list[Ask]:
        """None, if it must be read as an event: a segment has no reading for it, or there is no segment."""
        asks: list[Ask] = []
        if type(raw) is not dict:
            return asks
        try:
            for segment in segments:
                single = self.single(segment)
                asks.append(partial(single.ask, segment, single.read(segment, raw)))
        except NotPlain:
            return []
        return asks

    def careful(self, segments: tuple[Segment, ...], event: Event) -> list[Ask]:
        batch: Batch | None = None
        asks: list[Ask] = []
        for segment in segments:
            single = self.single(segment)
            if single.takes(event):
                asks.append(partial(single.ask, segment, single.read_event(segment, event)))
            else:
                batch = batch or batch_of_events([event])
                asks.append(partial(self._ask_batch, segment, batch))
        return asks

    def single(self, segment: Segment) -> SingleMatcher:
        """Kept as long as the segment, whoever of it dies."""
        single = self._singles.get(segment.index)
        if single is None:
            single = self._singles[segment.index] = SingleMatcher(segment, self._schema, self._work)
        return single

    def _ask_batch(self, segment: Segment, batch: Batch) -> Codes:
        rows = self._answering.answer((segment,), batch, 1, self._work).codes
        return rows[segment.sequence[rows].argsort()]
