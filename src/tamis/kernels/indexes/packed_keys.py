"""Byte strings that lie packed one after another in ascending order, and items with such keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.gather import copy
from tamis.kernels.jit import kernel

__all__ = ["Items", "merge", "place"]

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint32]
Longs = npt.NDArray[np.int64]


class Items(NamedTuple):
    """Item i has the key `keys[key_ends[i - 1] : key_ends[i]]`, likewise its ids, and the numbers `extra[:, i]`."""

    keys: Bytes
    key_ends: Numbers
    ids: npt.NDArray[np.int32]
    id_ends: Numbers
    extra: Numbers


@kernel
def place(packed: Bytes, ends: Numbers, key: Bytes) -> tuple[int, bool]:
    """The first string that is not below the key, and whether it equals it; string i ends at `ends[i]`."""
    low, high, found = 0, ends.shape[0], False
    while low < high:
        middle = (low + high) // 2
        first = np.int64(ends[middle - 1]) if middle > 0 else 0
        size = np.int64(ends[middle]) - first
        at = 0
        while at < size and at < key.shape[0] and packed[first + at] == key[at]:
            at += 1
        if at == key.shape[0]:
            below = False
        else:
            below = at == size or packed[first + at] < key[at]
        if below:
            low = middle + 1
        else:
            high, found = middle, at == size and at == key.shape[0]
    return low, found


@kernel
def _end(ends: Numbers, item: int) -> int:
    """Where an item ends; -1 ends at the start."""
    if item < 0:
        return 0
    return int(ends[item])


@kernel
def _copy(source: Items, first: int, last: int, target: Items, at: int) -> None:
    """Items first to last of the source become those of the target from `at` on; what stands before them is whole."""
    key, stop = _end(source.key_ends, first - 1), _end(source.key_ends, last - 1)
    key_at = _end(target.key_ends, at - 1)
    copy(source.keys[key:stop], target.keys[key_at : key_at + stop - key])
    id, stop = _end(source.id_ends, first - 1), _end(source.id_ends, last - 1)
    id_at = _end(target.id_ends, at - 1)
    copy(source.ids[id:stop], target.ids[id_at : id_at + stop - id])
    for i in range(last - first):
        target.key_ends[at + i] = np.int64(source.key_ends[first + i]) - key + key_at
        target.id_ends[at + i] = np.int64(source.id_ends[first + i]) - id + id_at
    for row in range(len(source.extra)):
        for i in range(last - first):
            target.extra[row, at + i] = source.extra[row, first + i]


@kernel
def _find_places(
    old: Items, new: Items, first: int, last: int, places: Longs, known: npt.NDArray[np.bool_]
) -> tuple[int, int]:
    """Where items first to last of the new belong among the old, and whether they are there; how many are not, and how
    long their keys are together."""
    fresh, key_bytes = 0, 0
    for item in range(first, last):
        key = new.keys[_end(new.key_ends, item - 1) : _end(new.key_ends, item)]
        places[item - first], known[item - first] = place(old.keys, old.key_ends, key)
        if not known[item - first]:
            fresh += 1
            key_bytes += len(key)
    return fresh, key_bytes


def merge(old: Items, new: Items, first: int, last: int) -> tuple[Items, Longs, int]:
    """The old items with items first to last of the new, where those are now, and how many numbers are open.

    An item that is there already gets the new one's ids after its own, and the first of its numbers added. The other
    numbers of a fresh item are those of its old neighbours; where these differ, or one is missing, a zero stays open.
    """
    places, known = np.empty(last - first, np.int64), np.empty(last - first, np.bool_)
    fresh, key_bytes = _find_places(old, new, first, last, places, known)
    items = len(old.key_ends) + fresh
    ids = len(old.ids) + _end(new.id_ends, last - 1) - _end(new.id_ends, first - 1)
    merged = Items(
        np.empty(len(old.keys) + key_bytes, np.uint8),
        np.empty(items, np.uint32),
        np.empty(ids, np.int32),
        np.empty(items, np.uint32),
        np.zeros((len(old.extra), items), np.uint32),
    )
    return merged, places, _merge_into(merged, old, new, first, last, places, known)


@kernel
def _merge_into(
    merged: Items, old: Items, new: Items, first: int, last: int, places: Longs, known: npt.NDArray[np.bool_]
) -> int:
    """Fill `merged`; `places` become those in it. The value is how many numbers are open."""
    done, at, opened = 0, 0, 0
    for item in range(first, last):
        here = places[item - first]
        _copy(old, done, here + known[item - first], merged, at)
        at += here - done
        done = here + known[item - first]
        if known[item - first]:
            start, stop = _end(new.id_ends, item - 1), _end(new.id_ends, item)
            end = np.int64(merged.id_ends[at])
            copy(new.ids[start:stop], merged.ids[end : end + stop - start])
            merged.id_ends[at] = end + stop - start
            if len(old.extra) > 0:
                merged.extra[0, at] += new.extra[0, item]
        else:
            _copy(new, item, item + 1, merged, at)
            for row in range(1, len(old.extra)):
                if 0 < here < len(old.key_ends) and old.extra[row, here - 1] == old.extra[row, here]:
                    merged.extra[row, at] = old.extra[row, here]
                else:
                    opened += 1
        places[item - first] = at
        at += 1
    _copy(old, done, len(old.key_ends), merged, at)
    return opened
