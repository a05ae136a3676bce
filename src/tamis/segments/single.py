"""One event against one segment, without the columns a batch is made of.

The same kernels, called once; codes are looked up value by value. Buffers are kept from call to call, one set per
thread.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tamis.kernels.blocks import Events, Scratch, scratch_for
from tamis.kernels.segment import Finds, match_one
from tamis.model import Event
from tamis.segments.segment import Segment

__all__ = ["SingleMatcher"]

Ints = npt.NDArray[np.int32]


@dataclass
class _Buffers:
    codes: Ints
    scratch: Scratch
    touched: npt.NDArray[np.uint8]
    members: Ints = field(default_factory=lambda: np.empty(4096, np.int32))
    member_start: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    kept: Ints = field(default_factory=lambda: np.empty(4096, np.int32))
    out: Ints = field(default_factory=lambda: np.empty(4096, np.int32))
    at: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    work: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))


_NO_LISTS = np.zeros(1, np.int32)


class SingleMatcher:
    """Made once per segment and kept with it."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        columns = segment.layout.columns
        self._columns = {name: (at, codes) for at, (name, codes) in enumerate(columns.attributes.items())}
        self._width = max(columns.count, 1)
        self.plain = not columns.links
        self._local = threading.local()

    def _buffers(self) -> _Buffers:
        found: _Buffers | None = getattr(self._local, "buffers", None)
        if found is None:
            blocks = self._segment.layout.blocks
            touched = np.empty(len(blocks.start) - 1, np.uint8)
            found = _Buffers(np.zeros((1, self._width), np.int32), scratch_for(blocks, 1), touched)
            self._local.buffers = found
        return found

    def rows(self, segment: Segment, event: Event) -> Ints | None:
        """The live rows that the event satisfies, a subscription's perhaps several times; None if a batch must do it.

        `segment` is this one, perhaps with more dead.
        """
        buffers = self._buffers()
        codes = buffers.codes
        codes[:] = 0
        for name, values in event.values.items():
            column = self._columns.get(name)
            if column is not None:
                if len(values) > 1:
                    return None
                codes[0, column[0]] = column[1].code(values[0])
        parts, events = segment.layout.parts, Events(codes, _NO_LISTS, _NO_LISTS)
        while True:
            finds = Finds(buffers.touched, buffers.kept, buffers.members, buffers.member_start)
            count = match_one(
                parts, events, buffers.scratch, finds, buffers.out, buffers.at, buffers.counts, buffers.work
            )
            if count >= 0:
                return buffers.out[:count]
            if count == -1:
                buffers.members = np.empty(2 * len(buffers.members), np.int32)
            else:
                buffers.out = np.empty(64 - count, np.int32)
