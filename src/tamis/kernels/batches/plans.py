"""Which names lead to which attributes: a tree of names within names, its branches in one hash table.

The attribute `seller.name` can be written `{"seller": {"name": …}}` and `{"seller.name": …}`: from the root, node 0,
`seller` leads to a node and `seller.name` to another, to which `name` leads from the first one, too. A branch is found
by its node and the bytes of its name; a hash alone is never trusted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.batches.words import word_at
from tamis.kernels.jit import inlined, kernel

__all__ = ["Plan", "child_of", "fill_slots"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

_EIGHT = np.uint64(8)
_ONE = np.uint64(1)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class Plan(NamedTuple):
    """Branch b leads from `parent[b]` by the name `letters[start[b] : start[b + 1]]` to `child[b]`."""

    slots: Ints  # a power of two of them: a branch and one, or 0
    parent: Ints
    child: Ints
    start: Longs
    letters: Bytes  # zeros follow the last name
    attribute: Ints  # per node: the number of its attribute, or -1
    inside: Bytes  # per node: whether names lead on from it
    strict: int  # whether a name that leads nowhere is a matter for somebody more careful
    seed: int


@inlined
def _hash(text: Bytes, start: Any, size: Any, node: Any, seed: int) -> Any:
    state = (np.uint64(seed) ^ np.uint64(node)) * _FACTOR
    at, left = start, size
    while left >= 8:
        state = (state ^ word_at(text, at)) * _FACTOR
        state ^= state >> _HALF
        at += 8
        left -= 8
    bits = np.uint64(left) * _EIGHT
    state = (state ^ (word_at(text, at) & ((_ONE << bits) - _ONE)) ^ np.uint64(size)) * _FACTOR
    return state ^ (state >> _HALF)


@inlined
def _same(text: Bytes, at: Any, letters: Bytes, start: Any, size: Any) -> bool:
    same, left = True, size
    while same and left >= 8:
        same = word_at(text, at) == word_at(letters, start)
        at += 8
        start += 8
        left -= 8
    bits = np.uint64(left) * _EIGHT if left < 8 else np.uint64(0)
    return same and ((word_at(text, at) ^ word_at(letters, start)) & ((_ONE << bits) - _ONE)) == np.uint64(0)


@kernel
def fill_slots(plan: Plan) -> None:
    """Put each branch where its hash leads, or in the next free place; there are more places than branches."""
    mask = np.uint64(len(plan.slots) - 1)
    for branch in range(len(plan.parent)):
        start = plan.start[branch]
        place = _hash(plan.letters, start, plan.start[branch + 1] - start, plan.parent[branch], plan.seed) & mask
        while plan.slots[place] > 0:
            place = (place + _ONE) & mask
        plan.slots[place] = branch + 1


@inlined
def child_of(plan: Plan, node: Any, text: Bytes, start: Any, size: Any) -> Any:
    """Where a name leads from a node, or -1."""
    mask = np.uint64(len(plan.slots) - 1)
    place = _hash(text, start, size, node, plan.seed) & mask
    found = np.int64(-1)
    while found < 0 and plan.slots[place] > 0:
        branch = np.int64(plan.slots[place] - 1)
        known = plan.start[branch]
        same = plan.parent[branch] == node and plan.start[branch + 1] - known == size
        if same and _same(text, start, plan.letters, known, size):
            found = np.int64(plan.child[branch])
        place = (place + _ONE) & mask
    return found
