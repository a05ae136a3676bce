"""What strangers send costs what its size says, whatever it is made of and whichever door it takes.

The cost of inputs that grow is measured and its exponent fitted (`growing.py`): processor time within one process,
never a clock, and bytes at the peak. Each case takes one door in the quick run, and all the others in the long one.
"""

from __future__ import annotations

import random
from functools import cache

import pytest

from tests.faults.growing import (
    EVENTS,
    EXPRESSIONS,
    SCHEMAS,
    SETS,
    Cost,
    Door,
    Growing,
    cost_of,
    doors,
    expression_doors,
    read_schema,
    read_subscriptions,
)

MOST = 1.5
"""An exponent that linear cost with a logarithm and noise stays below, and quadratic cost does not."""
SEED = 13
EVENT_DOORS = (
    "a mapping", "a mapping, closed schema", "a list of mappings", "counted", "ten at once", "twenty at once", "Arrow",
    "JSON lines", "JSON in bytes", "JSON in bytes, closed schema", "JSON in Spark", "structs in Spark", "naive",
    "counting-lists", "fair-predicate", "explain",
)  # fmt: skip
EXPRESSION_DOORS = ("subscribe", "subscribe_many", "counting-lists", "explain")

event_doors = cache(doors)
text_doors = cache(expression_doors)


def _one_of_each(cases: dict[str, Growing], ways: tuple[str, ...]) -> list[tuple[str, str]]:
    """Every case through a door, and every door, but for one, with a case."""
    ways = tuple(way for way in ways if not way.endswith("at once"))  # which take so many times as long
    order = random.Random(SEED).sample(ways, len(ways))
    return [(case, order[at % len(order)]) for at, case in enumerate(cases)]


def _the_others(cases: dict[str, Growing], ways: tuple[str, ...]) -> list[tuple[str, str]]:
    quick = _one_of_each(cases, ways)
    return [(case, way) for case in cases for way in ways if (case, way) not in quick]


def check_cost(growing: Growing, door: Door) -> None:
    """Measured again before it fails: a neighbour's noise does not come three times, a quadratic cost does."""
    found: list[Cost] = []
    for tries in (1, 4, 8):
        found.append(cost_of(growing, door, tries))
        if found[-1].exponent < MOST:
            break
    assert min(one.exponent for one in found) < MOST, found
    assert found[-1].bytes_for_each < growing.bytes_for_each, found


@pytest.mark.parametrize(("case", "door"), _one_of_each(EVENTS, EVENT_DOORS))
def test_an_event_costs_what_its_size_says(case: str, door: str) -> None:
    check_cost(EVENTS[case], event_doors()[door])


@pytest.mark.long
@pytest.mark.parametrize(("case", "door"), _the_others(EVENTS, EVENT_DOORS))
def test_an_event_costs_what_its_size_says_through_every_other_door(case: str, door: str) -> None:
    check_cost(EVENTS[case], event_doors()[door])


@pytest.mark.parametrize(("case", "door"), _one_of_each(EXPRESSIONS, EXPRESSION_DOORS))
def test_an_expression_costs_what_its_size_says(case: str, door: str) -> None:
    check_cost(EXPRESSIONS[case], text_doors()[door])


@pytest.mark.long
@pytest.mark.parametrize(("case", "door"), _the_others(EXPRESSIONS, EXPRESSION_DOORS))
def test_an_expression_costs_what_its_size_says_through_every_other_door(case: str, door: str) -> None:
    check_cost(EXPRESSIONS[case], text_doors()[door])


@pytest.mark.parametrize("case", SETS)
def test_subscriptions_cost_what_their_number_says(case: str) -> None:
    check_cost(SETS[case], Door(read_subscriptions))


@pytest.mark.parametrize("case", SCHEMAS)
def test_a_schema_costs_what_its_size_says(case: str) -> None:
    check_cost(SCHEMAS[case], Door(read_schema))


def test_the_harness_finds_a_quadratic_cost() -> None:
    def quadratic(values: list[int]) -> int:
        return sum(one in values for one in values)

    growing = Growing(lambda size: list(range(size)), 600)  # slow enough on a quick machine

    assert cost_of(growing, Door(quadratic), tries=1).exponent > MOST
    with pytest.raises(AssertionError, match="exponent"):
        check_cost(growing, Door(quadratic))


def test_the_harness_finds_memory_that_outgrows_its_input() -> None:
    growing = Growing(lambda size: "a" * size, 10_000)

    with pytest.raises(AssertionError, match="bytes_for_each"):
        check_cost(growing, Door(lambda text: [0] * 100 * len(text)))
