"""One event against one segment, without the columns a batch is made of.

The same kernels, called once; codes are looked up value by value. Buffers are kept from call to call, one set per
thread, and the kernel finds them and the segment in one table. Reading an event and asking are two steps, so that
nothing is asked before every segment is known to take what was read.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.segments.blocks import scratch_for
from tamis.kernels.segments.finding import Finds
from tamis.kernels.segments.one_table import (
    ALIVE,
    ANY_DEAD,
    FEW_ROWS,
    STALE,
    UNRANKED,
    Buffers,
    Ranks,
    match_one,
    single_table,
)
from tamis.kernels.segments.rows import Places
from tamis.model import Event, Schema, Value, compare
from tamis.model.names import Used
from tamis.segments.ask.mapping_codes import Lists, MappingCodes, NotPlain
from tamis.segments.compile.truths import FALSE, FIRST_TRUTH
from tamis.segments.segment import Segment
from tamis.segments.used import names_in

__all__ = ["SingleMatcher"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

_ROOM = 4096
_SOON_RANKED = 1 << 14
"""Segments of so many rows are ranked at once, larger ones when an event satisfies many."""
_NONE = np.empty(0, np.int32)


class _Room(NamedTuple):
    """How much a desk has room for, and the rows of its segment in the order of subscribing, once they are known."""

    members: int = _ROOM
    out: int = _ROOM
    ranked: Ints = _NONE


class _Desk:
    """What one thread matches with; all of it is in the table."""

    def __init__(self, segment: Segment, width: int, work: Longs, room: _Room) -> None:
        self._parts = segment.layout.parts
        self._scratch = scratch_for(self._parts.blocks, 1)
        touched, kept = np.empty(len(self._parts.block_sizes), np.uint8), np.empty(_ROOM, np.int32)
        self.finds = Finds(touched, kept, np.empty(room.members, np.int32), np.zeros(2, np.int64))
        one, other, keys = np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty(FEW_ROWS, np.int64)
        codes, rows = np.zeros((1, width), np.int32), np.empty(room.out, np.int32)
        self._list_start, self._list_codes = np.zeros(width + 1, np.int32), np.zeros(_ROOM, np.int32)
        lists = self._list_start, self._list_codes
        canon = _NONE if segment.layout.canon is None else segment.layout.canon
        self.room = room
        self.buffers = Buffers(
            codes, rows, one, other, work, *lists, canon, segment.sequence, keys, _ranks(segment, room.ranked)
        )
        self.codes = codes[0].data  # takes a code quicker than the array does
        self.places = self._parts.places
        self.table = single_table(self._parts, self._scratch, self.finds, self.buffers)

    def look_at(self, places: Places) -> None:
        """Take note of the dead; there are more than last time."""
        self.table[ALIVE] = places.alive.ctypes.data
        self.table[ANY_DEAD] = places.any_dead
        self.places = places  # last: after an interrupt before it, all of this is done again

    def put_lists(self, lists: Lists) -> None:
        """The codes of columns that have several: the column says where."""
        at = 0
        for number, (column, codes) in enumerate(lists.items()):
            if at + len(codes) > _ROOM:
                raise NotPlain
            self._list_start[number] = at
            self._list_codes[at : at + len(codes)] = codes
            at += len(codes)
            self._list_start[number + 1] = at
            self.codes[column] = -1 - number

    def take_over(self, other: _Desk) -> None:
        """What another one has read."""
        self.codes[:] = other.codes
        self._list_start[:], self._list_codes[:] = other._list_start, other._list_codes


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
        self._tellers = columns.tellers
        self._counts = columns.counted is not None
        self._lists = columns.listed.keys()
        nothing = np.zeros(self._width, np.int32)
        nothing[columns.keyed : columns.count] = FALSE
        self._nothing = nothing.data
        links = self._partners.items()
        linked = (name for mine, others in links for name in (mine, *others))
        self._looked_at = {*self._columns, *linked, *self._tellers}
        self._local = threading.local()
        self._in_order = _NONE
        self._mappings = MappingCodes(schema, columns, Used.of(names_in(columns)))

    def desk(self, segment: Segment) -> _Desk:
        """This thread's. `segment` is here and below the one this was made for, perhaps with more dead."""
        found: _Desk | None = getattr(self._local, "desk", None)
        if found is None:
            room = _Room(ranked=self._ranked(segment)) if segment.rows <= _SOON_RANKED else _Room()
            found = self._local.desk = _Desk(segment, self._width, self._work, room)
        if found.places is not segment.layout.places:
            found.look_at(segment.layout.places)
        return found

    # -- reading ----------------------------------------------------------------------------------------------

    def read(self, segment: Segment, raw: dict[str, Any]) -> _Desk:
        """A mapping of plain values goes to the desk as codes; `NotPlain` if it must be read as an event first."""
        if self._counts:
            raise NotPlain
        desk = self.desk(segment)
        desk.codes[:] = self._nothing
        lists = self._mappings.read(raw, desk.codes)
        if lists:
            desk.put_lists(lists)
        return desk

    def takes(self, event: Event) -> bool:
        """Whether no attribute that the segment looks at has several values, no column several truths that hold,
        nothing is to be counted, and no record to be looked at."""
        if self._counts or any(len(values) > 1 and name in self._looked_at for name, values in event.values.items()):
            return False
        if event.records and not self._lists.isdisjoint(event.records):
            return False
        told = self._told(event)
        return len({column for column, _ in told}) == len(told)

    def _told(self, event: Event) -> list[tuple[int, int]]:
        """The truths about its values, as columns and codes."""
        known = self._tellers.keys() & event.values.keys() if self._tellers else ()
        return [pair for name in known for pair in self._tellers[name].told(event.values[name][0])]

    def read_event(self, segment: Segment, event: Event) -> _Desk:
        """An event that it takes goes to the desk as codes."""
        desk = self.desk(segment)
        codes = desk.codes
        codes[:] = self._nothing
        for name, values in event.values.items():
            column = self._columns.get(name)
            if column is not None:
                codes[column[0]] = column[1].code(values[0])
        if self._partners:
            self._settle_links(codes, event.values)
        for at, code in self._told(event):
            codes[at] = code
        return desk

    def _settle_links(self, codes: memoryview, values: Mapping[str, tuple[Value, ...]]) -> None:
        for name in self._partners.keys() & values.keys():
            domain = self._schema.domain(name)
            assert domain is not None
            for other in self._partners[name].keys() & values.keys():
                for column, operator in self._partners[name][other]:
                    if compare(domain, operator, values[name][0], values[other][0]):
                        codes[column] = FIRST_TRUTH

    # -- asking -----------------------------------------------------------------------------------------------

    def ask(self, segment: Segment, desk: _Desk) -> Ints:
        """The first rows of the living that what was read satisfies, in the order of subscribing.

        They are good until the desk is used again.
        """
        count = match_one(desk.table)
        while count < 0:
            assert count != STALE, "compiled for other fields: delete __pycache__ under tamis/kernels"
            desk = self._with_room(segment, desk, count)
            count = match_one(desk.table)
        return desk.buffers.out[:count]

    def _with_room(self, segment: Segment, desk: _Desk, count: int) -> _Desk:
        """A larger desk with the codes of this one; `count` is what the kernel said of the one that was too small."""
        room = desk.room
        if count == UNRANKED:
            room = room._replace(ranked=self._ranked(segment))
        elif count == -1:
            room = room._replace(members=2 * room.members)
        else:
            room = room._replace(out=max(room.out, 64 - count))
        larger = self._local.desk = _Desk(segment, self._width, self._work, room)
        larger.take_over(desk)
        return larger

    def _ranked(self, segment: Segment) -> Ints:
        """The first rows of all subscriptions, in their order."""
        if not len(self._in_order):
            rows = segment.index.rows
            self._in_order = rows[segment.sequence[rows].argsort()]
        return self._in_order


def _ranks(segment: Segment, ranked: Ints) -> Ranks:
    """Rank by row, row by rank, and room for marks; nothing, if ranks are not known."""
    rank = np.zeros(segment.rows if len(ranked) else 0, np.int32)
    rank[ranked] = np.arange(len(ranked), dtype=np.int32)
    rank = rank if segment.layout.canon is None or not len(ranked) else rank[segment.layout.canon]
    words = -(-len(ranked) // 64)
    return Ranks(rank, ranked, np.zeros(words, np.uint64), np.zeros(-(-words // 64), np.uint64))
