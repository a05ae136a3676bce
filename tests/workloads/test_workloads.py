"""The papers' workloads: the same rows whatever the slicing, and the statistics their docstrings promise."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from tamis import Engine
from tamis.workloads.ads import Ads
from tamis.workloads.lesub import LeSub
from tamis.workloads.light import Light
from tamis.workloads.slices import BLOCK_ROWS, Workload
from tamis.workloads.topss import TOPSS

WORKLOADS: dict[str, Workload] = {
    **TOPSS,
    "lesub": LeSub(),
    "light": Light(),
    "exponential": Light(p=0.1),
    "ads": Ads(),
}
EDGE = BLOCK_ROWS

every_workload = pytest.mark.parametrize("name", WORKLOADS)


@pytest.mark.parametrize("name", ["w3", "w4", "lesub", "light", "exponential", "ads"])
def test_a_slice_has_the_same_rows_as_the_whole(name: str) -> None:
    workload = WORKLOADS[name]

    for make in (workload.events, workload.subscriptions):
        whole = make(EDGE + 100)
        for start, stop in ((0, 50), (37, 91), (EDGE - 5, EDGE + 5), (EDGE, EDGE + 1), (EDGE + 99, EDGE + 100)):
            assert make(stop, start=start).equals(whole.slice(start, stop - start)), (make, start, stop)


@pytest.mark.parametrize("name", ["w4", "lesub", "light", "ads"])
def test_workers_that_share_the_rows_make_the_whole(name: str) -> None:
    workload = WORKLOADS[name]
    cuts = [0, 1, 1000, EDGE - 1, EDGE + 1, EDGE + 500]

    for make in (workload.events, workload.subscriptions):
        parts = [make(stop, start=start) for start, stop in pairwise(cuts)]
        assert pa.concat_tables(parts).combine_chunks().equals(make(cuts[-1]))


@every_workload
def test_another_seed_makes_other_rows(name: str) -> None:
    workload = WORKLOADS[name]

    assert not workload.events(50, seed=1).equals(workload.events(50, seed=2))
    assert not workload.subscriptions(50, seed=1).equals(workload.subscriptions(50, seed=2))


def test_a_parameter_is_part_of_the_seed() -> None:
    assert not LeSub(p=0.5).events(50).equals(LeSub(p=0.6).events(50))
    assert not TOPSS["w0"].events(50).equals(TOPSS["w1"].events(50))


@pytest.mark.parametrize(("start", "stop"), [(0, 0), (5, 5), (9, 5), (EDGE, EDGE)])
def test_an_empty_slice_has_columns_and_no_rows(start: int, stop: int) -> None:
    workload = LeSub()

    assert workload.events(stop, start=start).shape == (0, 6)
    assert workload.subscriptions(stop, start=start).column_names == ["id", "expression"]
    assert workload.subscriptions(stop, start=start).num_rows == 0


@every_workload
def test_an_id_is_the_number_of_the_row(name: str) -> None:
    assert WORKLOADS[name].subscriptions(33, start=30).column("id").to_pylist() == [30, 31, 32]


@every_workload
def test_every_row_is_valid_in_the_schema(name: str) -> None:
    workload = WORKLOADS[name]
    engine = Engine(workload.schema())

    receipt = engine.subscribe_many(workload.subscriptions(100))
    matches = engine.match_many(workload.events(20))

    assert (receipt.subscribed, len(matches)) == (100, 20)


# -- ToPSS ----------------------------------------------------------------------------------------------------------


@cache
def predicates(workload: Workload, count: int = EDGE) -> list[list[tuple[str, str, str]]]:
    """Each subscription as its list of (attribute, operator, constant)."""
    texts = workload.subscriptions(count).column("expression").to_pylist()
    return [[tuple(predicate.split(" ")) for predicate in text.split(" and ")] for text in texts]


def test_an_event_of_w4_matches_seventeen_point_six_percent_of_the_subscriptions() -> None:
    counts = {"=": lambda c: 1, "!=": lambda c: 9, "<": lambda c: c - 1, ">": lambda c: 10 - c}
    chances = [
        np.prod([counts[operator](int(constant)) / 10 for _, operator, constant in one])
        for one in predicates(TOPSS["w4"])
    ]

    assert np.mean(chances) == pytest.approx(0.176, abs=0.01)


@pytest.mark.parametrize(("name", "attributes", "most"), [("w0", 120, 20), ("w3", 120, 20), ("w4", 10, 5)])
def test_topss_has_one_to_most_predicates_on_distinct_attributes(name: str, attributes: int, most: int) -> None:
    rows = predicates(TOPSS[name])
    sizes = np.array([len(row) for row in rows])

    assert (sizes.min(), sizes.max()) == (1, most)
    assert sizes.mean() == pytest.approx((1 + most) / 2, rel=0.03)
    assert all(len({attribute for attribute, _, _ in row}) == len(row) for row in rows)
    assert {attribute for row in rows for attribute, _, _ in row} == {f"a{at}" for at in range(attributes)}


def test_topss_operators_are_uniform() -> None:
    operators = [operator for row in predicates(TOPSS["w4"]) for _, operator, _ in row]

    for operator in ("=", "!=", "<", ">"):
        assert operators.count(operator) / len(operators) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("name", "attribute", "low", "high"),
    [
        *(("w0", "a5", 1, 250), ("w1", "a5", 250, 10_000), ("w2", "a5", 10_000, 100_000), ("w4", "a5", 1, 10)),
        *(("w3", "a0", 1, 250), ("w3", "a1", 250, 10_000), ("w3", "a2", 10_000, 100_000)),
    ],
)
def test_topss_events_give_every_attribute_a_uniform_value(name: str, attribute: str, low: int, high: int) -> None:
    values = TOPSS[name].events(EDGE).column(attribute).to_numpy()

    assert low <= values.min() <= values.max() <= high
    assert values.mean() == pytest.approx((low + high) / 2, rel=0.03)


# -- Le Subscribe ---------------------------------------------------------------------------------------------------


def test_lesub_takes_each_attribute_half_of_the_time() -> None:
    rows = predicates(LeSub())
    used = [attribute for row in rows for attribute, _, _ in row]
    events = LeSub().events(EDGE)

    for attribute in ("s0", "s1", "s2", "n0", "n1", "n2"):
        assert used.count(attribute) / len(rows) == pytest.approx(32 / 63, abs=0.02)
        assert events.column(attribute).null_count / EDGE == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_lesub_compares_numbers_by_equality_with_probability_p_and_strings_always(p: float) -> None:
    rows = [predicate for row in predicates(LeSub(p=p)) for predicate in row]
    numbers = [operator for attribute, operator, _ in rows if attribute.startswith("n")]

    assert {operator for attribute, operator, _ in rows if attribute.startswith("s")} == {"="}
    assert numbers.count("=") / len(numbers) == pytest.approx(p, abs=0.02)
    for operator in ("<", "<=", ">", ">="):
        assert numbers.count(operator) / len(numbers) == pytest.approx((1 - p) / 4, abs=0.02)


# -- RAPIDMatch -----------------------------------------------------------------------------------------------------


def test_light_subscriptions_ask_zeros_and_ones_of_a_tenth_of_the_properties() -> None:
    rows = predicates(Light())
    asked = [constant for row in rows for _, _, constant in row]

    assert len(asked) / len(rows) == pytest.approx(10, rel=0.02)
    assert asked.count("1") / len(asked) == pytest.approx(0.5, abs=0.02)


def ones(workload: Light) -> np.ndarray:
    table = workload.events(EDGE)
    return np.sum([column.to_numpy() for column in table.columns], axis=0)


def test_light_events_have_few_ones_by_zipf() -> None:
    weights = np.arange(1, 101, dtype=float) ** -2.0
    found = ones(Light(a=2.0))

    assert found.min() == 1
    for count in (1, 2, 3):
        assert (found == count).mean() == pytest.approx(weights[count - 1] / weights.sum(), abs=0.02)


def test_exponential_events_have_ones_with_probability_p() -> None:
    assert ones(Light(p=0.1)).mean() == pytest.approx(10, rel=0.02)
