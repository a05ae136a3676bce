"""RAPIDMatch's figures, its section 3 and its propositions by nodes and counters."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tamis.experiments.frame.experiment import column, number, where
from tamis.experiments.frame.light_pairs import ratios
from tests.experiments.conftest import Ran


@pytest.mark.parametrize("name", ["rapid-fig3", "rapid-fig4"])
def test_rapid_visits_no_event_s_tree_further_than_tree_match_and_finds_the_same(name: str, ran: Ran) -> None:
    rows, _, _ = ran(name)

    assert min(column(rows, "least_ratio")) >= 1
    assert all(row["rapid_checksum"] == row["tree_checksum"] for row in rows)


def test_figure_3_the_ratio_of_nodes_is_large_for_light_events_and_does_not_depend_on_size(ran: Ran) -> None:
    rows, _, _ = ran("rapid-fig3")
    light, heavy = ([ratios(row).nodes for row in where(rows, events=name)] for name in dict.fromkeys(_kinds(ran)))

    assert all(4.5 < ratio < 8 for ratio in light)
    assert all(1.1 < ratio < 1.3 for ratio in heavy)


def _kinds(ran: Ran) -> list[str]:
    return [str(row["events"]) for row in ran("rapid-fig3")[0]]


def test_figure_4_work_falls_with_rising_a_and_falling_p_and_tree_match_s_does_not(ran: Ran) -> None:
    rows, _, _ = ran("rapid-fig4")
    by_a, by_p = (
        column(where(rows, events="zipf"), "rapid_nodes"),
        column(where(rows, events="exponential"), "rapid_nodes"),
    )
    tree = column(rows, "tree_nodes")

    assert all(after < before for before, after in pairwise(by_a))
    assert all(before < after for before, after in pairwise(by_p))
    assert max(tree) < 1.1 * min(tree)


@pytest.mark.parametrize("name", ["rapid-fig5", "rapid-fig6"])
def test_figures_5_and_6_rapid_visits_fewer_nodes_per_match_and_the_fewer_the_matches_the_more_so(
    name: str, ran: Ran
) -> None:
    rows, _, _ = ran(name)
    ahead = [number(row, "tree_nodes") / number(row, "rapid_nodes") for row in rows]

    assert min(ahead) > 2
    assert ahead[0] > ahead[-1]
    assert set(column(rows, "same")) == {1}


def test_section_3_a_tree_does_less_than_counting(ran: Ran) -> None:
    for row in where(ran("rapid-section3")[0], case="light"):
        assert number(row, "nodes") + number(row, "rows") < number(row, "bumped") < number(row, "model")
        assert row["counted"] == row["reached"]


def test_section_3_the_example_takes_kn_updates_less_n_in_the_paper_s_model_and_one_node(ran: Ran) -> None:
    for row in where(ran("rapid-section3")[0], case="example"):
        assert number(row, "model") == 99 * number(row, "subscriptions")
        assert (row["bumped"], row["nodes"], row["matches"]) == (0, 1, 0)


def test_propositions_the_worst_event_is_within_the_bound_and_there_are_as_many_trees_as_said(ran: Ran) -> None:
    for row in ran("rapid-propositions")[0]:
        assert number(row, "most_nodes") <= number(row, "bound")
        assert number(row, "trees") == (number(row, "c") + 1) * (number(row, "c") + 2) / 2 + 1
