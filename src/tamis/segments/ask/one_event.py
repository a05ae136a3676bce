"""One event against one segment, without the columns a batch is made of.

The same kernels, called once; codes are looked up value by value. Buffers are kept from call to call, one set per
thread, and the kernel finds them and the segment in one table.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.segments.blocks import scratch_for
from tamis.kernels.segments.finding import Finds
from tamis.kernels.segments.one_event import ALIVE, ANY_DEAD, IN_ORDER, STALE, Buffers, match_one, single_table
from tamis.model import EVENT_TYPE, Event, Schema, Value, compare
from tamis.segments.ask.linking import FALSE, TRUE
from tamis.segments.ask.plain import PlainLink, Reader, plain_links, plain_readers
from tamis.segments.segment import Segment

__all__ = ["SingleMatcher"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

_ROOM = 4096
_NO_LISTS = np.zeros(1, np.int32)
_MOST_SHAPES = 1000


class _Desk:
    """What one thread matches with; all of it is in the table."""

    def __init__(self, segment: Segment, width: int, work: Longs, members: int = _ROOM, out: int = _ROOM) -> None:
        self._parts = segment.layout.parts
        self._scratch = scratch_for(self._parts.blocks, 1)
        touched, kept = np.empty(len(self._parts.block_sizes), np.uint8), np.empty(_ROOM, np.int32)
        self.finds = Finds(touched, kept, np.empty(members, np.int32), np.zeros(2, np.int64))
        one, other, keys = np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty(IN_ORDER, np.int64)
        codes, rows = np.zeros((1, width), np.int32), np.empty(out, np.int32)
        self.buffers = Buffers(codes, rows, one, other, work, _NO_LISTS, segment.sequence, keys)
        self.codes = codes[0].data  # takes a code quicker than the array does
        self._places = self._parts.places
        self.table = single_table(self._parts, self._scratch, self.finds, self.buffers)

    def look_at(self, segment: Segment) -> None:
        """Take note of the dead of this segment; there may be more than last time."""
        places = segment.layout.places
        if places is not self._places:
            self.table[ALIVE] = places.alive.ctypes.data
            self.table[ANY_DEAD] = places.any_dead
            self._places = places  # last: after an interrupt before it, all of this is done again


class _Shape(NamedTuple):
    """How to read mappings of the same names and types: the codes to start from, a reader for each value, the links."""

    codes: memoryview
    readers: list[tuple[int, Reader]]
    links: list[PlainLink]


class SingleMatcher:
    """Made once per segment and kept as long as it, for which it must not hold the segment itself.

    Probes and candidates are added to `work`.
    """

    def __init__(self, segment: Segment, schema: Schema, work: Longs) -> None:
        self._schema = schema
        self._work = work
        columns = segment.layout.columns
        self._columns = {name: (at, codes) for at, (name, codes) in enumerate(columns.attributes.items())}
        self._width = max(columns.count, 1)
        self._partners = columns.partners
        nothing = np.zeros(self._width, np.int32)
        nothing[len(columns.attributes) : columns.count] = FALSE
        self._nothing = nothing.data
        self._plain = segment.layout.canon is None
        self._local = threading.local()
        self._shapes: dict[object, _Shape | None] = {}

    def _desk(self, segment: Segment) -> _Desk:
        found: _Desk | None = getattr(self._local, "desk", None)
        if found is None:
            found = self._local.desk = _Desk(segment, self._width, self._work)
        found.look_at(segment)
        return found

    def rows(self, segment: Segment, event: Event) -> Ints | None:
        """The live rows that the event satisfies in the order of subscribing, a subscription's perhaps several times;
        None if a batch must do it.

        `segment` is this one, perhaps with more dead.
        """
        desk = self._desk(segment)
        codes = desk.codes
        codes[:] = self._nothing
        for name, values in event.values.items():
            column = self._columns.get(name)
            if column is not None:
                if len(values) > 1:
                    return None
                codes[column[0]] = column[1].code(values[0])
        if self._partners and not self._settle_links(codes, event.values):
            return None
        return self._match(segment, desk)

    def _settle_links(self, codes: memoryview, values: Mapping[str, tuple[Value, ...]]) -> bool:
        """Whether it could be done, no link having several values to choose from."""
        for name in self._partners.keys() & values.keys():
            domain = self._schema.domain(name)
            assert domain is not None
            for other in self._partners[name].keys() & values.keys():
                mine, theirs = values[name], values[other]
                if len(mine) > 1 or len(theirs) > 1:
                    return False
                for column, operator in self._partners[name][other]:
                    if compare(domain, operator, mine[0], theirs[0]):
                        codes[column] = TRUE
        return True

    def rows_of_mapping(self, segment: Segment, raw: Mapping[str, object]) -> Ints | None:
        """The live rows that plain values satisfy, one per subscription; None if they must be read as an event first.

        Names and types decide which checks an event needs: they are made once for every shape, those of values always.
        """
        if not self._plain or type(raw) is not dict:
            return None
        shape = (*raw, *map(type, raw.values()), raw.get(EVENT_TYPE))  # rules differ from type to type
        try:
            known = self._shapes[shape]
        except KeyError:
            known = self._learn_shape(shape, raw)
        except TypeError:  # a list of event types is no key
            return None
        if known is None:
            return None
        desk = self._desk(segment)
        codes = desk.codes
        codes[:] = known.codes
        for (column, read), found in zip(known.readers, raw.values(), strict=True):
            code = read(found)
            if code < 0:
                return None
            if column >= 0:
                codes[column] = code
        for column, holds, name, other in known.links:
            if holds(raw[name], raw[other]):
                codes[column] = TRUE
        return self._match(segment, desk)

    def _learn_shape(self, shape: object, raw: Mapping[str, object]) -> _Shape | None:
        event = self._schema.event(raw)  # whatever is wrong with it is said here
        readers = plain_readers(self._schema, raw, self._columns)
        links = plain_links(self._schema, raw, event, self._partners)
        known = None
        if readers is not None and links is not None:
            codes = np.array(self._nothing)
            for name, (column, of) in self._columns.items():
                if name in event.values and raw.get(name) is None:  # the only event type need not be named
                    codes[column] = of.code(event.values[name][0])
            known = _Shape(codes.data, readers, links)
        if len(self._shapes) < _MOST_SHAPES:
            self._shapes[shape] = known
        return known

    def _match(self, segment: Segment, desk: _Desk) -> Ints:
        while True:
            count = match_one(desk.table)
            if count >= 0:
                rows = desk.buffers.out[:count]
                return rows if count <= IN_ORDER else rows[segment.sequence[rows].argsort()]
            assert count != STALE, "compiled for other fields: delete __pycache__ under tamis/kernels"
            codes, members, out = desk.codes, len(desk.finds.members), len(desk.buffers.out)
            room = 2 * members if count == -1 else members, max(out, 64 - count)
            desk = self._local.desk = _Desk(segment, self._width, self._work, *room)
            desk.codes[:] = codes
