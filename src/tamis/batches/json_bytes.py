"""Events as JSON, in bytes: one object per line, or one array of objects → a batch of columns.

A kernel reads what is used and holds all of the text against the grammar. An event that it is not certain about is
read by Python's own JSON and put to `Schema.event`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from tamis.batches.asking import Raw, Refuse, ask, raise_by_row
from tamis.batches.batch import Batch, batch_of_events
from tamis.batches.columns import Accepted, Columns
from tamis.batches.json_lines import read_text
from tamis.batches.json_mistakes import Mistakes
from tamis.batches.json_slowly import read_slowly
from tamis.batches.plans import PlanOf, plan_for
from tamis.batches.token_columns import Stretch, add_stretches, found_room, gather, token_room
from tamis.batches.whole import ReadWhenAsked
from tamis.kernels.batches.json_events import CLOSED, MORE, MOST_BRACKETS, WRONG_END, Stack, read_events
from tamis.kernels.batches.tokens import SOUND
from tamis.kernels.batches.words import PADDING
from tamis.model import Schema
from tamis.model.caching import cached_property
from tamis.model.names import MAX_DEPTH, Used

__all__ = ["JsonText", "Reading", "first_of", "read_json"]

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_AT_ONCE = 1 << 20
"""Bytes of text that are read in one go, and copied first: what follows them must be zeros."""
_MARK = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"


class JsonText:
    """A text, and whether it is an array or lines."""

    def __init__(self, data: memoryview, first: int = 0, *, is_array: bool = False) -> None:
        self.data = data
        self.first = first
        self.is_array = is_array

    @classmethod
    def told(cls, data: memoryview) -> JsonText:
        """The text tells itself what it is."""
        first = len(_MARK) if bytes(data[: len(_MARK)]) == _MARK else 0
        at = _after_space(data, first)
        is_array = bytes(data[at : at + 1]) == b"["
        return cls(data, at + 1 if is_array else first, is_array=is_array)

    @cached_property
    def bytes(self) -> Bytes:
        return np.frombuffer(self.data, np.uint8)


def read_json(text: JsonText, schema: Schema, refuse: Refuse = raise_by_row, *, used: Used) -> Batch:
    """The accepted events as columns, in order; what is used of them, where the schema is open."""
    if used.whole:
        return batch_of_events([event for _, event in ask(read_slowly(text.data), schema, refuse, used=used)])
    found = Reading(text, plan_for(schema, used))
    (found.read_array if text.is_array else found.read_lines)()
    used_here = used if schema.open else None
    events = _Events(text, found.starts, found.stops, found.states, found.wrong)
    columns = Columns((events.states == SOUND) if found.plan.whole else np.zeros(len(events.states), bool))
    add_stretches(columns, found.stretches, found.plan.names, schema)
    columns.check(schema)

    def asked(good: Mask) -> Accepted:
        rows = np.flatnonzero(~good).tolist()
        return dict(ask(((row, events.raw(row)) for row in rows), schema, refuse, used=used_here))

    return columns.batch(asked, lambda known: ReadWhenAsked(events.raw, schema, used_here, known))


class Reading:
    """A text on its way through the kernel, stretch by stretch."""

    def __init__(self, text: JsonText, plan: PlanOf) -> None:
        self.text = text
        self.plan = plan
        self.stretches: list[Stretch] = []
        self._events: list[tuple[Longs, Longs, Bytes, Longs]] = []
        self._count = 0
        most = min(_AT_ONCE, len(text.data) - text.first)
        self._room(most)
        nodes = len(plan.plan.attribute)
        self._stack = Stack(
            np.empty(MOST_BRACKETS, np.uint8),
            np.empty(MOST_BRACKETS, np.int32),
            np.zeros(nodes, np.int64),
            MAX_DEPTH + 1,
        )

    def _room(self, size: int) -> None:
        """A value takes two bytes, an event and its end three."""
        self._size = size
        self._buffer = np.zeros(size + PADDING, np.uint8)
        self._tokens, self._found = token_room(size // 2 + 1), found_room(size // 2 + 2)

    def read_lines(self) -> None:
        at, end = self.text.first, len(self.text.data)
        while at < end:
            stop = _end_of_line(self.text.data, at, min(at + _AT_ONCE, end))
            buffer = self._copy(at, stop)
            rows, used, _, _ = self._events_in(buffer, True, False, stop - at, False)
            self._keep(buffer, rows, used, at)
            at = stop

    def read_array(self) -> None:
        at, end, fresh, size = self.text.first, len(self.text.data), True, _AT_ONCE
        while True:
            stop = min(at + size, end)
            buffer = self._copy(at, stop)
            rows, used, past, how = self._events_in(buffer, False, fresh, stop - at, stop < end)
            self._keep(buffer, rows, used, at)
            if how != MORE:
                break
            fresh, size = fresh and not rows, _AT_ONCE if past else 2 * size
            at += past
        after = _after_space(self.text.data, at + past)
        if how == CLOSED and after < end:
            place = np.array([after])
            self._events.append((place, place, np.array([WRONG_END], np.uint8), place))

    def _events_in(self, buffer: Bytes, lines: bool, fresh: bool, size: int, more: bool) -> tuple[int, int, int, int]:
        plan, number = self.plan.plan, self._count + 1
        return read_events(buffer, lines, fresh, size, more, plan, self._tokens, self._found, number, self._stack)

    def _copy(self, first: int, last: int) -> Bytes:
        size = last - first
        if size > self._size:
            self._room(size)
        self._buffer[:size] = self.text.bytes[first:last]
        self._buffer[size : size + PADDING] = 0
        return self._buffer

    def _keep(self, buffer: Bytes, rows: int, used: int, base: int) -> None:
        found = self._found
        places = (found.start[:rows] + base, found.stop[:rows] + base)
        self._events.append((*places, found.state[:rows].copy(), found.wrong[:rows] + base))
        names = max(len(self.plan.names), 1)
        self.stretches.append(gather(buffer, self._tokens, used if self.plan.whole else 0, names, rows))
        self._count += rows

    @property
    def starts(self) -> Longs:
        return self._all(0)

    @property
    def stops(self) -> Longs:
        return self._all(1)

    @property
    def states(self) -> Bytes:
        return self._all(2).astype(np.uint8)

    @property
    def wrong(self) -> Longs:
        return self._all(3)

    def _all(self, part: int) -> Longs:
        listed = [events[part] for events in self._events]
        return np.concatenate(listed) if listed else np.empty(0, np.int64)


class _Events:
    """The events of a text, as mappings."""

    def __init__(self, text: JsonText, starts: Longs, stops: Longs, states: Bytes, wrong: Longs) -> None:
        self._text = text
        self._starts = starts
        self._stops = stops
        self.states = states
        self._wrong = wrong
        self._mistakes = Mistakes(text.data, is_array=text.is_array)

    def raw(self, row: int) -> Raw:
        """The event as Python reads it, or what is wrong with its text."""
        state = int(self.states[row])
        if state >= _FIRST_MISTAKE:
            return self._mistakes.said(state, int(self._wrong[row]))
        return read_text(bytes(self._text.data[self._starts[row] : self._stops[row]]))


_FIRST_MISTAKE = 16


def first_of(text: JsonText, count: int) -> Iterator[object]:
    """The first events as Python reads them, as far as they can be read."""
    size = text.first + _STEP * (16 if count > 1 else 1)
    return (raw for _, raw in islice(read_slowly(text.data[:size]), count))


_STEP = 1 << 12


def _after_space(data: memoryview, at: int) -> int:
    while at < len(data) and data[at] in _SPACE:
        at += 1
    return at


def _end_of_line(data: memoryview, first: int, last: int) -> int:
    """Past the last end of a line up to `last`, or past the next one behind it."""
    if last == len(data):
        return last
    stop = last
    while stop > first:
        start = max(first, stop - _STEP)
        found = bytes(data[start:stop]).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        stop = start
    while last < len(data):
        found = bytes(data[last : last + _STEP]).find(b"\n")
        if found >= 0:
            return last + found + 1
        last = min(last + _STEP, len(data))
    return last
