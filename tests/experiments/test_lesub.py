"""Le Subscribe's figures by counters: who does less, and how it grows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tamis import Engine
from tamis.experiments.frame.experiment import SEED, column, number, where
from tamis.experiments.frame.measuring import growth
from tamis.workloads.lesub import LeSub
from tests.experiments.conftest import Ran


def test_figure_9_quarantining_bumps_less_than_equality_preferred_and_that_less_than_fair(ran: Ran) -> None:
    rows, _, _ = ran("lesub-fig9")

    for size in dict.fromkeys(row["subscriptions"] for row in rows):
        bumped = {row["algorithm"]: row["bumped"] for row in where(rows, subscriptions=size)}
        assert bumped["quarantining"] < bumped["equality-preferred"] / 5
        assert bumped["equality-preferred"] < bumped["fair-predicate"]


@pytest.mark.parametrize("algorithm", ["fair-predicate", "equality-preferred", "quarantining"])
def test_figure_9_sums_grow_linearly(algorithm: str, ran: Ran) -> None:
    some = where(ran("lesub-fig9")[0], algorithm=algorithm)

    assert growth(column(some, "subscriptions"), column(some, "bumped")).exponent == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("name", ["lesub-fig9", "lesub-fig10", "lesub-fig11", "lesub-exception", "lesub-insertion"])
def test_all_algorithms_of_a_size_give_the_same_answers(name: str, ran: Ran) -> None:
    answers: dict[object, set[object]] = {}
    for row in ran(name)[0]:
        if row["algorithm"] != "naive":  # the oracle is asked five events, not a hundred
            given = row["subscriptions"], row.get("p"), row.get("words")
            answers.setdefault(given, set()).add((row["matches"], row["checksum"]))

    assert {len(found) for found in answers.values()} == {1}


@pytest.mark.parametrize("algorithm", ["fair-predicate", "equality-preferred", "quarantining"])
def test_figure_10_sums_fall_with_p(algorithm: str, ran: Ran) -> None:
    bumped = column(where(ran("lesub-fig10")[0], algorithm=algorithm), "bumped")

    assert all(after < before for before, after in pairwise(bumped))


def test_figure_10_nothing_is_counted_where_all_are_equalities(ran: Ran) -> None:
    rows = where(ran("lesub-fig10")[0], p=1)

    assert {row["algorithm"]: row["bumped"] for row in rows}["quarantining"] == 0
    assert {row["algorithm"]: row["bumped"] for row in rows}["equality-preferred"] == 0


def test_figure_11_look_ups_are_constant_and_the_answer_is_all_that_grows(ran: Ran) -> None:
    some = where(ran("lesub-fig11")[0], algorithm="quarantining")

    assert {row["clusters"] for row in some if number(row, "subscriptions") >= 5000} == {63}
    assert len(set(column(some, "looked_up"))) == 1
    assert set(column(some, "bumped")) == {0}
    assert np.allclose(column(some, "members"), np.array(column(some, "matches")) / 100)


def test_what_is_inserted_one_by_one_is_found_as_if_it_had_been_loaded_at_once(ran: Ran) -> None:
    row = ran("lesub-insertion")[0][0]
    load, size = LeSub(0.5), int(number(row, "subscriptions") + number(row, "more"))
    engine: Engine[int] = Engine(load.schema())
    engine.subscribe_many(load.subscriptions(size, SEED))

    assert int(engine.match_many(load.events(100, SEED)).counts().sum()) == row["matches"]


def test_the_exception_unselective_equalities_make_quarantining_verify_more_and_bump_no_more(ran: Ran) -> None:
    many, few = where(ran("lesub-exception")[0], algorithm="quarantining")

    assert number(few, "verified") > 30 * number(many, "verified")
    assert number(few, "bumped") == pytest.approx(number(many, "bumped"), rel=0.2)
