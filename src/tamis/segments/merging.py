"""Which segments are merged, into what, and how the result takes their place.

As in a log-structured store, a segment is merged into its elder neighbour if that one is of similar size, or if more of
either are dead than alive. Merging takes no lock: whoever died meanwhile is buried again in the new segment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.segments.ids import IdColumn, IdIndex
from tamis.segments.segment import Compiled, Segment

__all__ = ["LARGEST", "QUICK", "merge", "next_pair", "take_the_place"]

Longs = npt.NDArray[np.int64]
Compile = Callable[[IdColumn, pa.Array, Longs], Compiled]

QUICK = 20_000
"""Merges of up to so many subscriptions are done at once; larger ones in the background."""
LARGEST = 1 << 20
"""Segments of this size are not merged any further."""
_RATIO = 3
"""A segment is merged into its elder if that one is at most so many times as large."""


def next_pair(segments: Sequence[Segment], most: int, busy: Collection[IdIndex]) -> int | None:
    """The first of two neighbours worth merging, of at most so many subscriptions, that nobody is busy with."""
    for at in range(len(segments) - 2, -1, -1):
        elder, younger = segments[at : at + 2]
        similar = len(elder) <= _RATIO * len(younger) or elder.dead > len(elder) or younger.dead > len(younger)
        free = elder.index not in busy and younger.index not in busy
        if similar and free and len(elder) + len(younger) <= most:
            return at
    return None


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
            merged = merged.bury(merged.index.find_many(old.ids.take(died)))
    return (*segments[: places[0]], merged, *segments[places[-1] + 1 :])


def _died(before: Segment, now: Segment) -> Longs:
    """The rows that lived before and do not now."""
    changed = before.layout.places.alive & ~now.layout.places.alive
    words = np.nonzero(changed)[0]
    bits = np.unpackbits(changed[words].view(np.uint8), bitorder="little").reshape(len(words), 64)
    word, bit = np.nonzero(bits)
    return words[word] * 64 + bit
