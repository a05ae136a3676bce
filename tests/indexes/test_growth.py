"""What a search looks at grows as Table 1 of seed 002 says, from 10^3 to 10^5 predicates. Counters, not seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tamis.indexes import INDEXES, PredicateIndex
from tamis.indexes.pb_store import PAGE_BYTES
from tamis.indexes.pb_tree import PbTree
from tamis.indexes.pb_writer import LIST_BYTES
from tamis.model import Integer, Kind, Operator, Value

SMALL, LARGE = 1_000, 100_000
DOMAIN = Integer(0, 2**20 - 1)
MIDDLE = Value(Kind.NUMBER, 2**19)

Predicates = list[tuple[int, Operator, Value]]


@cache
def quiet(size: int) -> Predicates:
    """Almost nothing is satisfied in the middle: what is visited is the search itself."""
    ways = (Operator.EQ, Operator.GT, Operator.LT)
    span = 2**19 - 1
    constants = [1 + (at * 48_271) % (span - 1) for at in range(size)]
    shifted = {Operator.EQ: 0, Operator.GT: 2**19, Operator.LT: 0}
    return [(at, ways[at % 3], Value(Kind.NUMBER, c + shifted[ways[at % 3]])) for at, c in enumerate(constants)]


def rays(size: int) -> Predicates:
    """Half of all is satisfied by any value."""
    ways = (Operator.GT, Operator.LT)
    return [(at, ways[at % 2], Value(Kind.NUMBER, (at * 48_271) % 2**20)) for at in range(size)]


def visited(name: str, predicates: Predicates) -> int:
    index: PredicateIndex = INDEXES[name](DOMAIN)
    index.insert_many(predicates)
    index.search(MIDDLE)
    found = index.visited
    index.close()
    return found


def growth(name: str, workload: Callable[[int], Predicates]) -> float:
    small, large = (visited(name, workload(size)) for size in (SMALL, LARGE))
    return large / small


@pytest.mark.parametrize("name", ["hash-and-sorted", "grouped-filter", "ibs-tree"])
def test_a_search_that_finds_little_is_logarithmic(name: str) -> None:
    assert growth(name, quiet) < 3


@pytest.mark.parametrize("name", ["ordered-list", "red-black"])
def test_a_search_that_finds_little_is_linear_where_everything_is_looked_at(name: str) -> None:
    assert growth(name, quiet) > 50


def test_rays_prune_nothing_in_an_interval_b_tree() -> None:
    assert growth("interval-b-tree", quiet) < 3
    assert growth("interval-b-tree", rays) > 50


def test_a_table_looks_at_its_domain_whatever_it_holds() -> None:
    assert growth("table", quiet) == 1


def test_a_time_index_looks_at_one_leaf() -> None:
    assert visited("time-index", quiet(20_000)) < 20 + 512


def test_a_pb_tree_reads_one_path_three_nodes_and_the_pages_that_the_answer_fills() -> None:
    index = PbTree(DOMAIN)
    index.insert_many(rays(LARGE // 4))
    found = index.search(MIDDLE)
    full_walk = 4 * len(found) / PAGE_BYTES
    nodes = 2 * full_walk * PAGE_BYTES * 5 / LIST_BYTES + 8  # 20 bytes per item, at least half full

    path = index._store.leaf_depth + 4
    starts = 3 * (LIST_BYTES // PAGE_BYTES + 1)
    assert index.visited <= path + starts + full_walk + nodes * (index._store.node_depth + 1)
    index.close()


def test_a_pb_tree_s_quiet_search_reads_a_path_and_three_nodes() -> None:
    index = PbTree(DOMAIN)
    index.insert_many(quiet(LARGE // 4))
    index.search(MIDDLE)
    edge = index._store.node_depth + LIST_BYTES // PAGE_BYTES + 1

    assert index.visited <= index._store.leaf_depth + 4 + 3 * edge
    index.close()


def test_bytes_grow_with_predicates() -> None:
    for name in INDEXES:
        index = INDEXES[name](DOMAIN)
        index.insert_many(quiet(SMALL))
        before = index.bytes_used()
        index.insert_many([(id + SMALL, operator, constant) for id, operator, constant in quiet(4 * SMALL)])

        assert index.bytes_used() > before > 0, name
        index.close()
