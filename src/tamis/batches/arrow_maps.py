"""Maps of Arrow → a column for each of their keys, as if they were structs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tamis.errors import EventError

__all__ = ["fields_of_map"]

_MOST_KEYS = 256
"""Each key costs a column as long as the map's; with more, events are looked at one by one."""


def fields_of_map(column: pa.Array) -> Iterator[tuple[object, pa.Array]]:
    """The values of each key, null where a map lacks it. `EventError` if only rows can say what is wrong."""
    there = column.is_valid().to_numpy(zero_copy_only=False)
    starts = column.offsets.to_numpy().astype(np.int64)  # what lies between the ends of a null is nobody's
    lengths = np.where(there, np.diff(starts), 0)
    rows = np.repeat(np.arange(len(column)), lengths)
    at = np.repeat(starts[:-1] - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(rows))
    keys = column.keys.take(pa.array(at)).dictionary_encode()
    if len(keys.dictionary) > _MOST_KEYS:
        raise EventError("expected maps with few keys")
    codes = keys.indices.to_numpy()
    order = codes.argsort(kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(keys.dictionary) + 1))
    for key, first, last in zip(keys.dictionary.to_pylist(), ends, ends[1:], strict=False):
        chosen = order[first:last]
        if (rows[chosen][1:] == rows[chosen][:-1]).any():
            raise EventError(f"the key {key!r} stands twice in one map", attribute=str(key))
        place = np.full(len(column), -1, np.int64)
        place[rows[chosen]] = at[chosen]
        yield key, column.items.take(pa.array(place, mask=place < 0))
