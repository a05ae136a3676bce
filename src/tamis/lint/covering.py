"""Who covers whom, found without trying pairs.

Whoever covers a conjunction asks for nothing that it does not offer. So each conjunction is filed under the rarest
thing it asks for, an attribute or one value of it, and whoever is asked about looks under each thing it offers. What is
filed under one thing is a tree of halves (`kernels.covering`), in which the narrowest coverer is sought first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.covering import FAR, Asked, Claims, Scratch, Trees, find_coverers
from tamis.model.caching import cached_property

__all__ = ["Covering"]

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

_LEAF = 16
_DEEPEST = 120
_AXES = 24
"""Axes by which a tree is split: those of the dimensions that most of its members ask for."""
_LIMIT = 1 << 14
"""Members looked at for one conjunction, at most; past it nothing is decided."""
_AT_ONCE = 1000
"""Conjunctions asked about in one call of a kernel, which no interrupt ends."""
_LISTED = 64


class _Keys(NamedTuple):
    """What claims are filed under: the dimension, and the cell of a claim that has only one."""

    dim: Longs
    cell: Longs
    """As long as the claims; -1 where there are several cells."""


class Covering:
    """The index over all conjunctions."""

    def __init__(self, claims: Claims, members: npt.NDArray[np.bool_]) -> None:
        """Only `members` are found; any conjunction may be asked about."""
        self._claims = claims
        self._is_member = members
        self._count = len(claims.start) - 1
        self.work = np.zeros(3, np.int64)
        """Nodes visited, conjunctions looked at, conjunctions compared claim by claim."""
        self._of_claim = np.repeat(np.arange(self._count), np.diff(claims.start))
        self._keys = _keys_of(claims)

    def nearest(self) -> tuple[Ints, Ints]:
        """For each conjunction the narrowest member that covers it, -1 if none does; and those of which it is not
        known, as too many came into question."""
        found, count = self._find(np.arange(self._count, dtype=np.int32), 1)
        return np.where(count > 0, found[:, 0], np.int32(-1)), np.nonzero(count < 0)[0].astype(np.int32)

    def listed(self, conjunctions: Ints) -> list[list[int]]:
        """For each of these conjunctions the members that cover it, up to some number."""
        found, count = self._find(conjunctions, _LISTED)
        return [row[: max(size, 0)] for row, size in zip(found.tolist(), count.tolist(), strict=True)]

    def _find(self, conjunctions: Ints, room: int) -> tuple[npt.NDArray[np.int32], Ints]:
        found = np.full((len(conjunctions), room), -1, np.int32)
        count = np.zeros(len(conjunctions), np.int32)
        axes = 2 * (int(self._claims.dim.max()) + 1) if len(self._claims.dim) else 0
        point = np.tile(np.array([-1, -FAR], np.int32), axes // 2)
        stack = np.empty(_DEEPEST + 2, np.int32)
        for first in range(0, len(conjunctions), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            scratch = Scratch(point, stack, self.work, found[part], count[part])
            find_coverers(self._claims, self._trees, self._asked(conjunctions[part]), scratch, _LIMIT)
        return found, count

    def _asked(self, conjunctions: Ints) -> Asked:
        start, (roots, of) = self._claims.start, self._roots
        first, last = np.searchsorted(of, conjunctions), np.searchsorted(of, conjunctions, "right")
        size = last - first
        inside = np.arange(size.sum()) + np.repeat(first - (np.cumsum(size) - size), size)
        return Asked(conjunctions, np.r_[0, np.cumsum(size)].astype(start.dtype), roots[inside])

    # -- filed ------------------------------------------------------------------------------------------------

    @cached_property
    def _filed(self) -> tuple[Longs, Longs]:
        """The conjunctions in the order of the keys they are filed under, and those keys."""
        claims, asks = self._claims, self._claims.asks
        dims, cells = (np.bincount(one[one >= 0]) for one in self._keys)
        rare = np.where(self._keys.cell >= 0, cells[self._keys.cell] if len(cells) else 0, 1 << 60)
        usual = dims[self._keys.dim]
        count = np.minimum(rare, usual)
        key = np.where(rare <= usual, self._keys.cell + len(dims), self._keys.dim)
        order = np.lexsort((np.where(asks, count, 1 << 61), self._of_claim))
        home = key[order][claims.start[:-1]]  # each has a claim that asks, and the rarest comes first
        by_home = np.argsort(home, kind="stable")
        by_home = by_home[self._is_member[by_home]]
        return by_home, home[by_home]

    @cached_property
    def _roots(self) -> tuple[Ints, Longs]:
        """The trees of all keys that conjunctions offer, and the conjunctions, in order."""
        dims = int(self._keys.dim.max()) + 1 if len(self._keys.dim) else 0
        keys = np.r_[self._keys.dim, np.where(self._keys.cell >= 0, self._keys.cell + dims, -1)]
        of = np.r_[self._of_claim, self._of_claim]
        roots = self._root_of(keys)
        trees = max(int(roots.max(initial=-1)) + 1, 1)
        pairs = np.unique(of[roots >= 0] * trees + roots[roots >= 0])
        return (pairs % trees).astype(np.int32), pairs // trees

    def _root_of(self, keys: Longs) -> Longs:
        """The tree of each key, -1 where nothing is filed; trees are numbered as the keys in use are."""
        known = np.unique(self._filed[1])
        at = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
        return np.where(known[at] == keys, at, -1) if len(known) else np.full(len(keys), -1)

    @cached_property
    def _trees(self) -> Trees:
        members, keys = self._filed
        starts = np.nonzero(np.r_[True, keys[1:] != keys[:-1]])[0] if len(keys) else np.zeros(0, np.int64)
        return _Planting(self._claims, members.astype(np.int32), np.r_[starts, len(keys)]).trees()


def _keys_of(claims: Claims) -> _Keys:
    first, last = claims.first[:-1], claims.first[1:] - 1
    low, high = (claims.low[first], claims.high[last]) if len(first) else (claims.low, claims.high)
    alone = low == high
    cell = np.full(len(low), -1, np.int64)
    pairs = claims.dim[alone].astype(np.int64) << 32 | low[alone].astype(np.int64)
    cell[alone] = np.unique(pairs, return_inverse=True)[1]
    return _Keys(claims.dim.astype(np.int64), cell)


class _Planting:
    """Trees over members that lie together; the first nodes are the roots."""

    def __init__(self, claims: Claims, members: Ints, starts: Longs) -> None:
        self._claims = claims
        self._members = members
        self._begin, self._end = starts[:-1].tolist(), starts[1:].tolist()
        roots = len(starts) - 1
        self._axis, self._child, self._floor = [-1] * roots, [0] * roots, [-FAR] * roots

    def trees(self) -> Trees:
        """One for each stretch of members."""
        for root, (begin, end) in enumerate(list(zip(self._begin, self._end, strict=True))):
            if end - begin > _LEAF:
                self._grow(root, *self._points(begin, end))
        lists = (self._axis, self._floor, self._child, self._begin, self._end)
        axis, floor, child, begin, end = (np.array(one, np.int32) for one in lists)
        return Trees(axis, floor, child, begin, end, self._narrowest(begin, end), self._members)

    def _grow(self, root: int, points: npt.NDArray[np.int32], axes: Longs) -> None:
        first, waiting = self._begin[root], [(root, 0)]
        while waiting:
            node, depth = waiting.pop()
            place = slice(self._begin[node], self._end[node])
            mine = slice(place.start - first, place.stop - first)
            split = _split(points[mine], depth)
            if split is None:
                continue
            at, order, left = split
            points[mine], self._members[place] = points[mine][order], self._members[place][order]
            self._axis[node], self._child[node] = int(axes[at]), len(self._axis)
            for begin, end in ((place.start, place.start + left), (place.start + left, place.stop)):
                waiting.append((len(self._axis), depth + 1))
                self._axis.append(-1)
                self._child.append(0)
                self._floor.append(int(points[begin - first : end - first, at].min()))
                self._begin.append(begin)
                self._end.append(end)

    def _narrowest(self, begin: Ints, end: Ints) -> Longs:
        """Of each node's members the most that one is narrow."""
        narrow = np.r_[self._claims.narrow[self._members], -1]
        pairs = np.stack([begin, end], axis=1).ravel()
        return np.maximum.reduceat(narrow, pairs)[::2] if len(pairs) else np.zeros(0, np.int64)

    def _points(self, begin: int, end: int) -> tuple[npt.NDArray[np.int32], Longs]:
        """Members as points, and the axes they have: of the dimensions that most of them ask for."""
        claims, members = self._claims, self._members[begin:end]
        size = np.diff(claims.start)[members]
        row = np.repeat(np.arange(len(members)), size)
        at = np.arange(size.sum()) + np.repeat(claims.start[members] - (np.cumsum(size) - size), size)
        row, at = row[claims.asks[at]], at[claims.asks[at]]
        dims, column, times = np.unique(claims.dim[at], return_inverse=True, return_counts=True)
        kept = np.sort(np.argsort(-times, kind="stable")[: _AXES // 2])
        place = np.full(len(dims), -1)
        place[kept] = np.arange(len(kept))
        row, at, column = row[place[column] >= 0], at[place[column] >= 0], place[column][place[column] >= 0]
        points = np.tile(np.array([-1, -FAR], np.int32), (len(members), len(kept)))
        np.maximum.at(points, (row, 2 * column), claims.low[claims.first[at]])
        np.maximum.at(points, (row, 2 * column + 1), -claims.high[claims.first[at + 1] - 1])
        return points, np.stack([2 * dims[kept], 2 * dims[kept] + 1], axis=1).ravel()


def _split(points: npt.NDArray[np.int32], depth: int) -> tuple[int, Longs, int] | None:
    """An axis, the order of members along it, and how many come before the middle; None if they are few, or alike."""
    if len(points) <= _LEAF or depth >= _DEEPEST:
        return None
    middle = np.median(points, axis=0)
    past = points > middle
    if not past.any():  # the middle is the most there is, so what is less comes before it
        past = points >= middle
    before = len(points) - past.sum(axis=0)
    fair = np.minimum(before, len(points) - before)
    if fair.max() == 0:
        return None
    good = np.nonzero(fair * 2 >= fair.max())[0]
    at = int(good[depth % len(good)])
    return at, np.argsort(past[:, at], kind="stable"), int(before[at])
