"""Copying sets of ids out of packed arrays: what every search in memory ends with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import allocating, kernel

__all__ = ["chain", "copy", "copy_blocks", "gather", "skip", "subtree"]

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@kernel
def copy(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
    """Twice as fast as `target[:] = source` on the short runs we have.

    And soon compiled: with that one comes the sentence for shapes that differ, and half of Python's strings with it.
    """
    for at in range(source.shape[0]):
        target[at] = source[at]


@allocating
def gather(arena: Int32s, start: Int64s, count: Int32s, chosen: Int64s) -> Int32s:
    """The ids of the chosen buckets; bucket b is `arena[start[b] : start[b] + count[b]]`.

    Buckets that lie side by side, as all do in a freshly packed arena, are copied as one run.
    """
    total = 0
    for bucket in chosen:
        total += count[bucket]
    out = np.empty(total, dtype=np.int32)
    at, first, last = 0, 0, 0
    for bucket in chosen:
        if start[bucket] != last and count[bucket] > 0:
            copy(arena[first:last], out[at : at + last - first])
            at += last - first
            first = last = start[bucket]
        last += count[bucket]
    copy(arena[first:last], out[at:total])
    return out


@kernel
def copy_blocks(arena: Int32s, rows: Int64s, lengths: Int64s, span: Int64s, out: Int32s, at: int) -> int:
    """Copy from one place in a list of blocks up to another, and return where `out` is filled to.

    Block b is `arena[rows[b], : lengths[b]]`; `span` is (first block, offset in it, last block, offset in it).
    """
    for block in range(span[0], min(span[2] + 1, rows.shape[0])):
        low = span[1] if block == span[0] else 0
        high = span[3] if block == span[2] else lengths[block]
        if high > low:
            copy(arena[rows[block], low:high], out[at : at + high - low])
            at += high - low
    return at


@allocating
def subtree(left: Int32s, right: Int32s, roots: Int64s) -> Int64s:
    """All nodes of the subtrees under the given roots; -1 is no node."""
    out = np.empty(left.shape[0], dtype=np.int64)
    stack = np.empty(left.shape[0] + roots.shape[0], dtype=np.int64)
    found, top = 0, 0
    for root in roots:
        stack[top] = root
        top += 1
    while top > 0:
        top -= 1
        node = stack[top]
        if node >= 0:
            out[found] = node
            found += 1
            stack[top] = left[node]
            stack[top + 1] = right[node]
            top += 2
    return out[:found]


@allocating
def chain(following: Int32s, first: int, stop: int) -> Int64s:
    """The items of a linked list from `first` up to, not including, `stop`; -1 ends the list."""
    out = np.empty(following.shape[0], dtype=np.int64)
    found, item = 0, first
    while item != stop and item != -1:
        out[found] = item
        found += 1
        item = following[item]
    return out[:found]


@kernel
def skip(following: Int32s, numbers: npt.NDArray[np.float64], head: int, number: float) -> tuple[int, int]:
    """The last item of a linked list whose number is below this one, or the head; and how many were passed."""
    before, passed = head, 0
    item = following[head]
    while item != -1 and numbers[item] < number:
        before, item, passed = item, following[item], passed + 1
    return before, passed
