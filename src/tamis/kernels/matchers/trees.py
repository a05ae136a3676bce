"""Search trees over sequences of tests: built once from arrays, walked with a stack.

Row r asks `asks.ops[k]` to come out as `asks.results[k]`, for k from `starts[r]` to `starts[r + 1]`, ops ascending. A
node tests the least op that any of its rows still asks; rows that ask it go to the child of their result, the others
down the *-edge. So levels at which nobody asks anything take no node. Where few rows are left the node keeps them
as a bucket, and the rest of their asks is checked row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.gather import copy
from tamis.kernels.jit import allocating, kernel
from tamis.kernels.matchers.verifying import Bound, Tests, holds

__all__ = ["Asks", "EdgePoints", "Tree", "build_tree", "walk_bits", "walk_tests"]

BUCKET = 4
"""Rows that are not worth a node."""


class Asks(NamedTuple):
    starts: npt.NDArray[np.int64]
    ops: npt.NDArray[np.int32]
    results: npt.NDArray[np.int32]


class Tree(NamedTuple):
    """Node n tests `ops[n]` (-1: nothing). Its children are `edges[edge_starts[n] : edge_stops[n]]`, results ascending;
    `stars[n]` is the child of those who do not ask (-1: none). Rows `rows[leaf_starts[n] : leaf_stops[n]]` ask nothing
    more; rows from there to `bucket_stops[n]` do, from place `places[row]` on."""

    ops: npt.NDArray[np.int32]
    stars: npt.NDArray[np.int32]
    edge_starts: npt.NDArray[np.int32]
    edge_stops: npt.NDArray[np.int32]
    leaf_starts: npt.NDArray[np.int32]
    leaf_stops: npt.NDArray[np.int32]
    bucket_stops: npt.NDArray[np.int32]
    edge_results: npt.NDArray[np.int32]
    edges: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int32]
    places: npt.NDArray[np.int64]


@kernel
def _done_first(rows: npt.NDArray[np.int32], low: int, high: int, asks: Asks, places: npt.NDArray[np.int64]) -> int:
    """Bring the rows that ask nothing more to the front; where they end."""
    at = low
    for k in range(low, high):
        row = rows[k]
        if places[row] == asks.starts[row + 1]:
            rows[k], rows[at] = rows[at], row
            at += 1
    return at


@allocating
def _askers_first(
    rows: npt.NDArray[np.int32], low: int, high: int, asks: Asks, places: npt.NDArray[np.int64]
) -> tuple[int, int]:
    """Bring the rows that ask the least op to the front, by ascending result; the op and where they end."""
    least = asks.ops[places[rows[low]]]
    for k in range(low + 1, high):
        least = min(least, asks.ops[places[rows[k]]])
    at = low
    for k in range(low, high):
        row = rows[k]
        if asks.ops[places[row]] == least:
            rows[k], rows[at] = rows[at], row
            at += 1
    askers = rows[low:at].copy()
    order = np.argsort(asks.results[places[askers]])
    copy(askers[order], rows[low:at])
    return least, at


def build_tree(asks: Asks, rows: npt.NDArray[np.int32]) -> Tree:
    """The tree of these rows; node 0 is the root. `rows` is taken over and reordered."""
    places = asks.starts[:-1].copy()
    most = len(asks.ops)  # an edge uses up an ask of each of its rows, and a *-edge has such a one beside it
    nodes = np.empty((7, 2 * most + 1), np.int32)
    edge_results, edges = np.empty(most, np.int32), np.empty(most, np.int32)
    count, edge_count = _grow_tree(asks, rows, places, nodes, edge_results, edges)
    cut = nodes[:, :count].copy()
    return Tree._make([*cut, edge_results[:edge_count].copy(), edges[:edge_count].copy(), rows, places])


@allocating
def _grow_tree(
    asks: Asks, rows: npt.NDArray[np.int32], places: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int32], edge_results: npt.NDArray[np.int32], edges: npt.NDArray[np.int32],
) -> tuple[int, int]:  # fmt: skip
    """Fill `nodes`, a line per field of `Tree` up to `bucket_stops`, and the edges; how many there are of both."""
    count, edge_count = 1, 0
    stack = [(0, 0, len(rows))]
    while stack:
        node, low, high = stack.pop()
        ended = _done_first(rows, low, high, asks, places)
        nodes[0, node], nodes[1, node] = -1, -1
        nodes[2, node], nodes[3, node] = edge_count, edge_count
        nodes[4, node], nodes[5, node], nodes[6, node] = low, ended, ended
        if high - ended <= BUCKET:
            nodes[6, node] = high
            continue
        nodes[0, node], asked = _askers_first(rows, ended, high, asks, places)
        first = ended
        while first < asked:
            result = asks.results[places[rows[first]]]
            last = first
            while last < asked and asks.results[places[rows[last]]] == result:
                places[rows[last]] += 1
                last += 1
            edge_results[edge_count], edges[edge_count] = result, count
            edge_count += 1
            stack.append((count, first, last))
            count += 1
            first = last
        nodes[3, node] = edge_count
        if asked < high:
            nodes[1, node] = count
            stack.append((count, asked, high))
            count += 1
    return count, edge_count


@kernel
def _child(results: npt.NDArray[np.int32], edges: npt.NDArray[np.int32], low: int, high: int, result: int) -> int:
    """The child by bisection among the edges low..high, -1 if no row asks for this result."""
    stop = high
    while low < high:
        middle = (low + high) // 2
        if results[middle] < result:
            low = middle + 1
        else:
            high = middle
    if low < stop and results[low] == result:
        return int(edges[low])
    return -1


@allocating
def walk_bits(
    tree: Tree, asks: Asks, bits: npt.NDArray[np.uint8], out: npt.NDArray[np.int32], found: int
) -> tuple[int, int, int]:
    """Rows whose every ask `op` comes out as `bits[op]`, appended to `out`; their new number, nodes visited, rows of
    their buckets."""
    starts, asked_ops, asked = asks.starts, asks.ops, asks.results
    ops, stars, edge_starts, edge_stops = tree.ops, tree.stars, tree.edge_starts, tree.edge_stops
    leaf_starts, leaf_stops, bucket_stops = tree.leaf_starts, tree.leaf_stops, tree.bucket_stops
    edge_results, edges, rows, places = tree.edge_results, tree.edges, tree.rows, tree.places
    visited, in_buckets = 0, 0
    stack = [0]
    while stack:
        node = stack.pop()
        visited += 1
        for k in range(leaf_starts[node], leaf_stops[node]):
            out[found] = rows[k]
            found += 1
        in_buckets += bucket_stops[node] - leaf_stops[node]
        for k in range(leaf_stops[node], bucket_stops[node]):
            row = rows[k]
            passed = True
            for place in range(places[row], starts[row + 1]):
                if asked[place] != bits[asked_ops[place]]:
                    passed = False
                    break
            out[found] = row
            found += passed
        if ops[node] >= 0:
            child = _child(edge_results, edges, edge_starts[node], edge_stops[node], bits[ops[node]])
            if child >= 0:
                stack.append(child)
            if stars[node] >= 0:
                stack.append(stars[node])
    return found, visited, in_buckets


class EdgePoints(NamedTuple):
    """What ops ask, and an event's answers to those that ask for a value.

    Op o tests predicate `pids[o]`, or if that is -1 gets a value: the event's are `values[firsts[o] : lasts[o]]`, ids
    of equality predicates. `firsts` and `lasts` are scratch, zero between events.
    """

    pids: npt.NDArray[np.int32]
    firsts: npt.NDArray[np.int32]
    lasts: npt.NDArray[np.int32]
    values: npt.NDArray[np.int32]


@kernel
def _is_among(values: npt.NDArray[np.int32], first: int, last: int, result: int) -> bool:
    found = False
    for at in range(first, last):
        found |= values[at] == result
    return found


@allocating
def walk_tests(
    tree: Tree,
    asks: Asks,
    points: EdgePoints,
    tests: Tests,
    codes: npt.NDArray[np.int64],
    bound: Bound,
    out: npt.NDArray[np.int32],
) -> tuple[int, int, int]:
    """Rows all of whose tests come out; their number, nodes visited, predicates evaluated. The event is bound."""
    starts, asked_ops, asked = asks.starts, asks.ops, asks.results
    ops, stars, edge_starts, edge_stops = tree.ops, tree.stars, tree.edge_starts, tree.edge_stops
    leaf_starts, leaf_stops, bucket_stops = tree.leaf_starts, tree.leaf_stops, tree.bucket_stops
    edge_results, edges, rows, places = tree.edge_results, tree.edges, tree.rows, tree.places
    pids, firsts, lasts, values = points.pids, points.firsts, points.lasts, points.values
    modes, spans, column_firsts, column_lasts, told = tests.modes, tests.spans, bound.firsts, bound.lasts, bound.told
    found, visited, evaluated = 0, 0, 0
    stack = [0]
    while stack:
        node = stack.pop()
        visited += 1
        for k in range(leaf_starts[node], leaf_stops[node]):
            out[found] = rows[k]
            found += 1
        for k in range(leaf_stops[node], bucket_stops[node]):
            row = rows[k]
            passed = True
            for place in range(places[row], starts[row + 1]):
                evaluated += 1
                op = asked_ops[place]
                if pids[op] >= 0:
                    passed = holds(pids[op], modes, spans, codes, column_firsts, column_lasts, told)
                else:
                    passed = _is_among(values, firsts[op], lasts[op], asked[place])
                if not passed:
                    break
            out[found] = row
            found += passed
        op = ops[node]
        if op < 0:
            continue
        if stars[node] >= 0:
            stack.append(stars[node])
        evaluated += 1
        if pids[op] >= 0:
            if holds(pids[op], modes, spans, codes, column_firsts, column_lasts, told):
                stack.append(edges[edge_starts[node]])
            continue
        for at in range(firsts[op], lasts[op]):
            child = _child(edge_results, edges, edge_starts[node], edge_stops[node], values[at])
            if child >= 0:
                stack.append(child)
    return found, visited, evaluated
