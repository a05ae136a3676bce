"""ToPSS' figures and tables by counters, bytes and answers."""

from __future__ import annotations

import pytest

from tamis.experiments.frame.experiment import at_size, column, number, where
from tamis.experiments.frame.measuring import growth
from tests.experiments.conftest import Ran


def test_figure_2_a_table_looks_at_its_domains_whatever_it_holds_and_more_for_larger_ones(ran: Ran) -> None:
    rows = where(ran("topss-fig2")[0], index="table")
    looked = [set(column(where(rows, workload=name), "visited")) for name in ("w0", "w1", "w3", "w2")]

    assert {len(one) for one in looked} == {1}
    assert looked == sorted(looked, key=max)


def test_figure_2_a_list_looks_at_its_predicates_whatever_the_domains(ran: Ran) -> None:
    rows = where(ran("topss-fig2")[0], index="ordered-list")

    for size in set(column(rows, "predicates")):
        looked = column(where(rows, predicates=size), "visited")
        assert max(looked) < 1.1 * min(looked)
        assert max(looked) < 2 * size + 6 * 120


def test_figure_2_memory_depends_on_domains_for_tables_and_on_predicates_alone_for_lists(ran: Ran) -> None:
    rows, _, _ = ran("topss-fig2")
    few, many = sorted(set(column(rows, "predicates")))
    lists, tables = (where(rows, index=name) for name in ("ordered-list", "table"))

    assert max(column(where(lists, predicates=many), "bytes")) < 1.02 * min(
        column(where(lists, predicates=many), "bytes")
    )
    assert column(where(lists, predicates=few), "bytes") < column(where(lists, predicates=many), "bytes")
    assert column(where(tables, predicates=few), "bytes") == pytest.approx(
        column(where(tables, predicates=many), "bytes"), rel=0.02
    )
    assert column(where(tables, workload="w2"), "bytes") > column(where(tables, workload="w0"), "bytes")


def test_figure_2_both_find_the_same(ran: Ran) -> None:
    found: dict[object, set[object]] = {}
    for row in ran("topss-fig2")[0]:
        found.setdefault((row["workload"], row["predicates"]), set()).add(row["satisfied"])

    assert {len(answers) for answers in found.values()} == {1}


def test_figure_3_an_event_satisfies_190_of_the_400_predicates(ran: Ran) -> None:
    rows, _, _ = ran("topss-fig3")

    assert set(column(rows, "satisfied")) == {190}


def test_figure_3_lists_bump_less_than_bits_add_and_those_less_than_the_byte_matrix(ran: Ran) -> None:
    rows, _, _ = ran("topss-fig3")

    for size in set(column(rows, "subscriptions")):
        bumped = at_size(rows, size, "bumped")
        assert bumped["counting-matrix"] == 190 * size
        assert bumped["counting-bits"] == 190 * size / 64
        assert 1.3 < bumped["counting-lists"] / size < 1.55


def test_figure_3_sums_grow_linearly(ran: Ran) -> None:
    some = where(ran("topss-fig3")[0], algorithm="counting-lists")

    assert growth(column(some, "subscriptions"), column(some, "bumped")).exponent == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("name", ["topss-fig3", "topss-table1"])
def test_all_systems_of_a_size_give_the_same_answers(name: str, ran: Ran) -> None:
    answers: dict[object, set[object]] = {}
    for row in ran(name)[0]:
        answers.setdefault((row["subscriptions"], row["events"]), set()).add((row["matches"], row["checksum"]))

    assert {len(found) for found in answers.values()} == {1}


def test_figure_4_filled_bytes_are_in_the_paper_s_order(ran: Ran) -> None:
    rows, _, _ = ran("topss-fig4")
    size = number(rows[0], "subscriptions")
    table, removal = at_size(rows, size, "association_bytes"), at_size(rows, size, "removal_bytes")

    assert table["counting-lists"] < table["counting-bits"] < table["counting-matrix"]
    assert table["counting-bits"] < table["counting-lists"] + removal["counting-lists"]
    assert table["counting-bits"] / size == pytest.approx(52, abs=3), "the paper's 248 MB for five million"
    assert removal["counting-bits"] == removal["counting-matrix"] == 0


def test_table_2_lists_that_are_loaded_at_once_are_copied_nowhere(ran: Ran) -> None:
    assert set(column(where(ran("topss-table2")[0], system="counting-lists"), "relocated")) == {0}
