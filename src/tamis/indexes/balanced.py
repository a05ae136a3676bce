"""BalancedTree: a red-black tree over constants, as arrays of node numbers, for the structures that need one.

Node i has `keys[i]`, `left[i]`, `right[i]`; -1 is no node. Nodes are numbered as they come and never change their
number or key, so that a user hangs its own buckets on them. A key stays until its user builds the tree anew, which
it does when half of the keys are without use: deletion is then O(log n) amortised, and no rotation ever removes.

`rotated(upper, lower)` is called after each rotation, with the node that went down and the one that came up: the
IBS-tree moves its marks there.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tamis.indexes.base import Key
from tamis.kernels.gather import subtree

__all__ = ["NONE", "BalancedTree"]

NONE = -1


class BalancedTree:
    """Search and insertion are O(log n): the longest path is at most twice the shortest."""

    def __init__(self, keys: Sequence[Key] = (), rotated: Callable[[int, int], None] | None = None) -> None:
        """From different keys in ascending order; node i is the i-th of them."""
        self.keys = list(keys)
        nothing = array("i", [NONE]) * len(self.keys)
        self.left, self.right, self._up = nothing[:], nothing[:], nothing[:]
        self._red = bytearray(len(self.keys))
        self._rotated = rotated
        self.root = self._halve(0, len(self.keys), NONE, len(self.keys).bit_length())

    def _halve(self, low: int, high: int, up: int, height: int) -> int:
        # All levels but the lowest are full: red on the lowest alone makes all paths equally black.
        if low == high:
            return NONE
        middle = (low + high) // 2
        self._up[middle] = up
        self._red[middle] = height == 1 and up != NONE
        self.left[middle] = self._halve(low, middle, middle, height - 1)
        self.right[middle] = self._halve(middle + 1, high, middle, height - 1)
        return middle

    def __len__(self) -> int:
        return len(self.keys)

    def path(self, key: Key) -> list[int]:
        """The nodes met on the way down to the key; the last of them has it, if any has."""
        keys, left, right = self.keys, self.left, self.right
        found, node = [], self.root
        while node != NONE:
            found.append(node)
            if key < keys[node]:
                node = left[node]
            elif keys[node] < key:
                node = right[node]
            else:
                break
        return found

    def find(self, key: Key) -> int:
        return self.at(self.path(key), key)

    def sides(self, key: Key) -> tuple[npt.NDArray[np.int64], int, npt.NDArray[np.int64]]:
        """All nodes below the key, the node at it or -1, all nodes above it. O(log n + the nodes named)."""
        path = self.path(key)
        return self.side(path, key, below=True), self.at(path, key), self.side(path, key, below=False)

    def at(self, path: list[int], key: Key) -> int:
        """The node at the key, which the path leads to, or -1."""
        return path[-1] if path and self.keys[path[-1]] == key else NONE

    def side(self, path: list[int], key: Key, *, below: bool) -> npt.NDArray[np.int64]:
        """All nodes below (or above) the key: those on the path to it, and what hangs off the path on that side."""
        equal, keys = self.at(path, key), self.keys
        nodes = [node for node in path if node != equal and (keys[node] < key) == below]
        children = self.left if below else self.right
        roots = [children[node] for node in (*nodes, equal) if node != NONE]
        if not roots:
            return np.array(nodes, dtype=np.int64)
        left, right = (np.frombuffer(links, dtype=np.int32) for links in (self.left, self.right))
        return np.concatenate([np.array(nodes, np.int64), subtree(left, right, np.array(roots, np.int64))])

    def insert(self, key: Key) -> int:
        """The key's node, new if need be."""
        path = self.path(key)
        if path and self.keys[path[-1]] == key:
            return path[-1]
        node = len(self.keys)
        up = path[-1] if path else NONE
        self.keys.append(key)
        for links, link in ((self.left, NONE), (self.right, NONE), (self._up, up)):
            links.append(link)
        self._red.append(1)
        if up == NONE:
            self.root = node
        elif key < self.keys[up]:
            self.left[up] = node
        else:
            self.right[up] = node
        self._mend(node)
        return node

    def _mend(self, node: int) -> None:
        """No red node has a red parent: push the fault up, or rotate it away."""
        up, red = self._up, self._red
        while node != self.root and red[up[node]]:
            parent = up[node]
            grand = up[parent]
            other = self.right if self.left[grand] == parent else self.left
            uncle = other[grand]
            if uncle != NONE and red[uncle]:
                red[parent] = red[uncle] = 0
                red[grand] = 1
                node = grand
                continue
            if other[parent] == node:
                self._rotate(parent, node)
                node, parent = parent, node
            red[parent], red[grand] = 0, 1
            self._rotate(grand, parent)
        red[self.root] = 0

    def _rotate(self, upper: int, lower: int) -> None:
        """The lower node, a child of the upper one, takes its place."""
        mine, other = (self.left, self.right) if self.left[upper] == lower else (self.right, self.left)
        inner, above = other[lower], self._up[upper]
        mine[upper], other[lower] = inner, upper
        if inner != NONE:
            self._up[inner] = upper
        self._up[upper], self._up[lower] = lower, above
        if above == NONE:
            self.root = lower
        elif self.left[above] == upper:
            self.left[above] = lower
        else:
            self.right[above] = lower
        if self._rotated:
            self._rotated(upper, lower)

    def bytes_used(self) -> int:
        return 3 * 4 * len(self.keys) + len(self._red) + 8 * len(self.keys)

    def check(self) -> None:
        assert self.root == NONE or not self._red[self.root], "the root is black"
        blacks = {NONE: 1}
        inorder = self._inorder()
        assert sorted(inorder) == list(range(len(self.keys))), "each node hangs in the tree once"
        keys = [self.keys[node] for node in inorder]
        assert all(low < high for low, high in pairwise(keys)), "keys ascend"
        for node in self._upwards():
            children = (self.left[node], self.right[node])
            assert all(child == NONE or self._up[child] == node for child in children), "children know their parent"
            assert not self._red[node] or not any(child != NONE and self._red[child] for child in children), (
                "red on red"
            )
            assert blacks[children[0]] == blacks[children[1]], "all paths are equally black"
            blacks[node] = blacks[children[0]] + (not self._red[node])

    def _inorder(self) -> list[int]:
        out: list[int] = []
        stack: list[int] = []
        node = self.root
        while stack or node != NONE:
            if node != NONE:
                stack.append(node)
                node = self.left[node]
            else:
                node = stack.pop()
                out.append(node)
                node = self.right[node]
        return out

    def _upwards(self) -> list[int]:
        """Children before parents."""
        order = [self.root] if self.root != NONE else []
        for node in order:
            order += [child for child in (self.left[node], self.right[node]) if child != NONE]
        return order[::-1]
