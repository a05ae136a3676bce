"""Live tails: expressions that last as long as somebody looks. In no block, no count, no log.

They are a small engine of their own, asked about each batch after it was matched. A tail holds a bounded number of
notifications for its reader; of one who is slower the oldest are dropped, and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from tamis.errors import Conflict, LimitError
from tamis.language.door import check_new
from tamis.model import Schema
from tamis.segments.segment_registry import SegmentRegistry
from tamis.service.answers import Notification
from tamis.service.asking import Found, ask_run, runs_of
from tamis.service.reading import Stored
from tamis.service.settings import Settings
from tamis.service.subscribing import moment
from tamis.store.log import Record

__all__ = ["LiveTails"]


class _Tail:
    """One reader's."""

    def __init__(self, number: int, room: int, wake: Callable[[], None], close: Callable[[int], None]) -> None:
        self.dropped = 0
        self.ended = False
        """Whether the schema was extended in a way that its expression does not go with."""
        self._number = number
        self._held: deque[Notification] = deque(maxlen=room)
        self._lock = threading.Lock()
        self.wake = wake
        self._close = close

    def add(self, notification: Notification) -> None:
        with self._lock:
            self.dropped += len(self._held) == self._held.maxlen
            self._held.append(notification)

    def take(self) -> list[Notification]:
        with self._lock:
            found = list(self._held)
            self._held.clear()
        return found

    def close(self) -> None:
        self._close(self._number)


class LiveTails:
    """All tails of a service."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        self._settings = settings
        self._registry = SegmentRegistry(schema)
        self._tails: dict[int, _Tail] = {}
        self._number = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._tails)

    def add(self, expression: str, wake: Callable[[], None]) -> _Tail:
        with self._lock:
            if len(self._tails) >= self._settings.most_tails:
                most = self._settings.most_tails
                raise LimitError(f"expected at most {most:,} live tails at a time", most, most + 1)
            check_new(expression, self._registry.schema)
            self._registry.subscribe(self._number, expression)
            tail = _Tail(self._number, self._settings.tail_notifications, wake, self._remove)
            self._tails[self._number] = tail
            self._number += 1
        return tail

    def _remove(self, number: int) -> None:
        with self._lock:
            if self._tails.pop(number, None) is not None:
                self._registry.unsubscribe(number)

    def told(self, records: list[Record]) -> None:
        """What was just matched."""
        woken: list[_Tail] = []
        with self._lock:
            for record in records:
                if record.kind == "schema":
                    woken += self._extend(Schema.loads(record.body.decode()))
            if self._tails:
                woken += self._hand_out([record for record in records if record.kind == "events"])
        for tail in dict.fromkeys(woken):
            tail.wake()

    def _extend(self, schema: Schema) -> list[_Tail]:
        ended: list[_Tail] = []
        while True:
            try:
                self._registry.grow(schema)
                return ended
            except Conflict as conflict:
                for number in conflict.ids:
                    tail = self._tails.pop(int(number))
                    tail.ended = True
                    ended.append(tail)
                    self._registry.unsubscribe(number)

    def _hand_out(self, records: list[Record]) -> list[_Tail]:
        woken: list[_Tail] = []
        for positions, run in runs_of(records):
            found = Found()
            ask_run(self._registry, run, positions, self._settings.block_matches, found)
            events = {record.first: Stored(record) for record in run}
            begins = sorted(events)
            where, numbers = found.matches()
            for position, number in sorted(zip(where.tolist(), numbers.tolist(), strict=True)):
                first = max(begin for begin in begins if begin <= position)
                event = events[first].event(position)
                self._tails[number].add(Notification(position, "", event.text, (), moment(event.at)))
                woken.append(self._tails[number])
        return woken
