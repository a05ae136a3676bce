"""Which segments are merged, into what, and how the result takes their place.

As in a log-structured store: a segment is merged with all younger ones once these together are as large, so that it at
least doubles, and those left are each larger than all younger ones together, few in number. A segment of which more are
dead than alive is compiled anew. Merging takes no lock: whoever died meanwhile is buried again in the new segment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.segments.ids import IdColumn, IdIndex
from tamis.segments.segment import Compiled, Segment

__all__ = ["LARGEST", "QUICK", "merge", "next_run", "take_the_place", "worn"]

Longs = npt.NDArray[np.int64]
Compile = Callable[[IdColumn, pa.Array, Longs], Compiled]

QUICK = 20_000
"""Merges of up to so many subscriptions are done at once; larger ones in the background."""
LARGEST = 1 << 20
"""Segments of this size are not merged any further."""
_FEW_DEAD = 1024
"""Fewer cost hardly anything, neither time nor memory."""


def next_run(segments: Sequence[Segment], most: int, busy: Collection[IdIndex]) -> slice | None:
    """Neighbours worth merging, or one worth renewing, of at most so many subscriptions, that nobody is busy with."""
    runs = [slice(at, len(segments)) for at in range(len(segments) - 1) if _outgrown(segments[at:])]
    runs += [slice(at, at + 1) for at, segment in enumerate(segments) if worn(segment)]
    for run in runs:
        found = segments[run]
        if sum(map(len, found)) <= most and not any(one.index in busy for one in found):
            return run
    return None


def _outgrown(segments: Sequence[Segment]) -> bool:
    return len(segments[0]) <= sum(map(len, segments[1:]))


def worn(segment: Segment) -> bool:
    """Whether it carries so many dead that the living are worth compiling anew."""
    return segment.dead > max(len(segment), _FEW_DEAD)


def merge(segments: Sequence[Segment], compile: Compile) -> Segment:
    """The living of several segments, or of one, compiled anew."""
    ids = IdColumn.concat([one.ids.take(one.living) for one in segments])
    texts = pa.concat_arrays([one.texts.take(pa.array(one.living)) for one in segments])
    numbers = np.concatenate([one.sequence[one.living] for one in segments])
    return compile(ids, texts, numbers).segment


def take_the_place(
    merged: Segment, olds: Sequence[Segment], segments: tuple[Segment, ...]
) -> tuple[Segment, ...] | None:
    """The segments with the merged one in place of those it was made from; None if those are no longer there."""
    indexes = [old.index for old in olds]
    places = [at for at, one in enumerate(segments) if one.index in indexes]
    if len(places) != len(olds) or places[-1] - places[0] != len(places) - 1:
        return None
    for old, at in zip(olds, places, strict=True):
        died = _died(old, segments[at])
        if len(died):
            rows = merged.index.find_many(old.ids.take(died))  # -1: a text from elsewhere that does not compile
            merged = merged.bury(rows[rows >= 0])
    return (*segments[: places[0]], merged, *segments[places[-1] + 1 :])


def _died(before: Segment, now: Segment) -> Longs:
    """The rows that lived before and do not now."""
    changed = before.layout.places.alive & ~now.layout.places.alive
    words = np.nonzero(changed)[0]
    bits = np.unpackbits(changed[words].view(np.uint8), bitorder="little").reshape(len(words), 64)
    word, bit = np.nonzero(bits)
    return words[word] * 64 + bit
