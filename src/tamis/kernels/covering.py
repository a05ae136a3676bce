"""Which conjunction covers which: claims of the one compared with claims of the other, found through trees.

A *claim* is what a conjunction says along one dimension: a union of intervals of cells in which it wants a value. One
conjunction covers another when each of its claims holds a claim of the other along the same dimension.

    a: price in [0, 9]                           covers        b: price in [2, 5] and size in [1, 1]

With the ends of its claims a conjunction is a point (low, -high, low, -high, …), and whoever covers another is nowhere
to the right of it: a search in a tree that splits these points by halves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel

__all__ = ["FAR", "Asked", "Claims", "Scratch", "Trees", "covers", "drop_covered", "find_coverers"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

FAR = 1 << 30
"""Past every cell."""


class Claims(NamedTuple):
    """Conjunction c makes the claims `start[c]` to `start[c + 1]`, in the order of their dimensions; claim k admits the
    cells `low` to `high` of the intervals `first[k]` to `first[k + 1]`."""

    start: Longs
    dim: Ints
    asks: npt.NDArray[np.bool_]
    """What does not ask is what a conjunction can offer beside: it says the same in other words."""
    first: Longs
    low: Ints
    high: Ints
    narrow: Longs
    """Per conjunction: more than that of whatever covers it."""


class Trees(NamedTuple):
    """Node n is a leaf with `members[begin[n]:end[n]]`, or its children are `child[n]` and the next, split by an axis:
    2d is where claims of dimension d begin, 2d + 1 where they end, turned round."""

    axis: Ints
    floor: Ints
    """The least that the node's members have on the axis of the node above."""
    child: Ints
    begin: Ints
    end: Ints
    narrowest: Longs
    members: Ints


class Asked(NamedTuple):
    """Conjunctions, each with the trees that whoever covers it lies in: `roots[start[i]:start[i + 1]]`."""

    conjunctions: Ints
    start: Longs
    roots: Ints


class Scratch(NamedTuple):
    """Room to work in, and for what is found."""

    point: Ints
    """Where the conjunction stands that is asked about, by axis; between two of them nowhere."""
    stack: Ints
    work: Longs
    """Nodes visited, members looked at, members compared claim by claim."""
    found: npt.NDArray[np.int32]
    counts: Ints


@kernel
def _within(claims: Claims, inner: int, outer: int) -> bool:
    """Whether each interval of a claim lies in one of another."""
    first, low, high = claims.first, claims.low, claims.high
    at, end = first[outer], first[outer + 1]
    for k in range(first[inner], first[inner + 1]):
        while at < end and high[at] < high[k]:
            at += 1
        if at == end or low[at] > low[k]:
            return False
    return True


@kernel
def covers(claims: Claims, a: int, b: int) -> bool:
    """Whether each claim of a holds one of b."""
    dim, asks = claims.dim, claims.asks
    j, end = claims.start[b], claims.start[b + 1]
    for i in range(claims.start[a], claims.start[a + 1]):
        if not asks[i]:
            continue
        while j < end and dim[j] < dim[i]:
            j += 1
        k, held = j, False
        while k < end and dim[k] == dim[i] and not held:
            held = _within(claims, k, i)
            k += 1
        if not held:
            return False
    return True


@kernel
def drop_covered(claims: Claims, start: Longs, conjunctions: Ints, most: int, dropped: npt.NDArray[np.bool_]) -> None:
    """Of the conjunctions of each text, `start[t]` to `start[t + 1]`, mark those that another one covers."""
    for t in range(len(start) - 1):
        if start[t + 1] - start[t] > most:
            continue
        for i in range(start[t], start[t + 1]):
            for j in range(start[t], start[t + 1]):
                if i != j and not dropped[j] and covers(claims, conjunctions[j], conjunctions[i]):
                    dropped[i] = True
                    break


@kernel
def _put(claims: Claims, b: int, point: Ints, back: bool) -> None:
    """The point of a conjunction: of several claims along a dimension, whoever holds one of them holds this."""
    for k in range(claims.start[b], claims.start[b + 1]):
        axis = 2 * claims.dim[k]
        if back:
            point[axis], point[axis + 1] = -1, -FAR
        else:
            point[axis] = max(point[axis], claims.low[claims.first[k]])
            point[axis + 1] = max(point[axis + 1], -claims.high[claims.first[k + 1] - 1])


@kernel
def _may_cover(claims: Claims, a: int, point: Ints) -> bool:
    """Whether a conjunction covers another as far as its ends tell."""
    for k in range(claims.start[a], claims.start[a + 1]):
        if claims.asks[k]:
            axis = 2 * claims.dim[k]
            if claims.low[claims.first[k]] > point[axis]:
                return False
            if -claims.high[claims.first[k + 1] - 1] > point[axis + 1]:
                return False
    return True


@kernel
def find_coverers(claims: Claims, trees: Trees, asked: Asked, scratch: Scratch, limit: int) -> None:
    """For each conjunction that is asked about: who covers it, the narrowest if there is room for one in
    `scratch.found`, else as many as there is room for, and in `scratch.counts` how many, all counted; -1 if more than
    `limit` members would have to be looked at."""
    for row in range(len(asked.conjunctions)):
        b = asked.conjunctions[row]
        _put(claims, b, scratch.point, False)
        scratch.counts[row] = _search(claims, trees, asked, row, scratch, limit)
        _put(claims, b, scratch.point, True)


@kernel
def _search(claims: Claims, trees: Trees, asked: Asked, row: int, scratch: Scratch, limit: int) -> int:
    point, stack, work, found, _ = scratch
    b, room = asked.conjunctions[row], found.shape[1]
    best, count, looked = np.int64(-1), 0, work[1]
    for at in range(asked.start[row], asked.start[row + 1]):
        depth = 1
        stack[0] = asked.roots[at]
        while depth > 0:
            depth -= 1
            node = stack[depth]
            work[0] += 1
            if trees.narrowest[node] <= best:
                continue
            if work[1] - looked > limit:
                return -1
            if trees.axis[node] >= 0:
                child = trees.child[node]
                for one in range(child, child + 2):  # the narrower half comes last, and is looked at first
                    if trees.floor[one] <= point[trees.axis[node]]:
                        stack[depth] = one
                        depth += 1
                continue
            work[1] += trees.end[node] - trees.begin[node]
            for member in range(trees.begin[node], trees.end[node]):
                a = trees.members[member]
                if a == b or claims.narrow[a] <= best or not _may_cover(claims, a, point):
                    continue
                work[2] += 1
                if covers(claims, a, b):
                    if room == 1:
                        best, count = claims.narrow[a], 0
                    if count < room:
                        found[row, count] = a
                    count += 1
    return count
