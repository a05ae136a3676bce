"""Table 1 of the PB+tree by what is looked at, bytes and pages."""

from __future__ import annotations

import pytest

from tamis.experiments.frame.experiment import Rows, column, where
from tamis.experiments.frame.measuring import growth
from tests.experiments.conftest import Ran


def _slope(rows: Rows, structure: str, predicates: str, name: str) -> float:
    some = where(rows, structure=structure, predicates=predicates)
    return growth(column(some, "n"), column(some, name)).exponent


@pytest.mark.parametrize("structure", ["pb-tree", "grouped-filter", "ibs-tree", "time-index"])
def test_a_search_that_finds_little_looks_at_little(structure: str, ran: Ran) -> None:
    assert _slope(ran("pb-tree-table1")[0], structure, "quiet", "visited") < 0.5


@pytest.mark.parametrize(("structure", "predicates"), [("red-black", "quiet"), ("interval-b-tree", "rays")])
def test_a_search_that_looks_at_all_is_linear(structure: str, predicates: str, ran: Ran) -> None:
    assert _slope(ran("pb-tree-table1")[0], structure, predicates, "visited") > 0.6


@pytest.mark.parametrize("structure", ["pb-tree", "grouped-filter", "red-black", "interval-b-tree"])
def test_space_is_linear(structure: str, ran: Ran) -> None:
    assert _slope(ran("pb-tree-table1")[0], structure, "six", "bytes") == pytest.approx(1, abs=0.2)


def test_an_ibs_tree_takes_more_than_linear_space_and_a_time_index_lists_quadratically_many(ran: Ran) -> None:
    rows, _, _ = ran("pb-tree-table1")

    assert 1.03 < _slope(rows, "ibs-tree", "six", "bytes") < 1.3
    assert _slope(rows, "time-index", "rays", "listed") > 1.6


def test_all_structures_find_the_same(ran: Ran) -> None:
    found: dict[object, set[object]] = {}
    for row in ran("pb-tree-table1")[0]:
        found.setdefault((row["predicates"], row["n"]), set()).add(row["found"])

    assert {len(answers) for answers in found.values()} == {1}


def test_an_insertion_into_a_pb_tree_writes_a_leaf_and_a_node_and_points_next_to_none_anew(ran: Ran) -> None:
    some = where(ran("pb-tree-table1")[0], structure="pb-tree", predicates="six")

    assert all(0 < pages < 40 for pages in column(some, "written_pages"))
    assert max(column(some, "pointed")) < 1
