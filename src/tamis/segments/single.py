"""One event against one segment, without the columns a batch is made of.

The same kernels, called once; codes are looked up value by value. Buffers are kept from call to call, one set per
thread.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tamis.kernels.blocks import WORDS, Events
from tamis.kernels.segment import match_one
from tamis.model import Event
from tamis.segments.segment import Segment

__all__ = ["SingleMatcher"]

Ints = npt.NDArray[np.int32]


@dataclass
class _Buffers:
    codes: Ints
    hits: npt.NDArray[np.uint64]
    touched: npt.NDArray[np.uint8]
    found: Ints = field(default_factory=lambda: np.empty(4096, np.int32))
    found_start: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    out: Ints = field(default_factory=lambda: np.empty(4096, np.int32))
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
            blocks = len(self._segment.layout.block_sizes)
            found = _Buffers(
                np.zeros((1, self._width), np.int32), np.empty(blocks * WORDS, np.uint64), np.empty(blocks, np.uint8)
            )
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
        layout = segment.layout
        events = Events(codes, _NO_LISTS, _NO_LISTS)
        while True:
            count = match_one(
                layout.blocks, layout.block_sizes, layout.clusters, layout.places, events,
                buffers.hits, buffers.touched, buffers.found, buffers.found_start, buffers.out, buffers.work,
            )  # fmt: skip
            if count >= 0:
                return buffers.out[:count]
            if count == -1:
                buffers.found = np.empty(2 * len(buffers.found), np.int32)
            else:
                buffers.out = np.empty(64 - count, np.int32)
