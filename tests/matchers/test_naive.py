"""What a subscription means, told by the oracle: one fact after the other.

Expressions are parsed and simplified before they reach a matcher; where that would hide the fact (a conjunction the
simplifier rewrites), the predicates are built by hand.
"""

from __future__ import annotations

import pytest

from tamis import Schema
from tamis.language import parse
from tamis.matchers import Rows
from tamis.matchers.naive import Naive, conjunction_holds
from tamis.model import Operator, Predicate, Reference, value_of

OPEN = Schema(open=True)

CLOSED = Schema.loads(
    """
    [domains.furniture]
    type = "hierarchical"
    parents = { "dining room" = [], bedroom = [], table = ["dining room"], "side table" = ["table", "bedroom"] }

    [domains.period]
    type = "enumerated"
    values = ["XVI", "XVII", "XVIII", "undated"]
    order = [["XVI", "XVII"], ["XVII", "XVIII"]]

    [attributes]
    category = "furniture"
    period = "period"
    until = "timestamp"
    name = "string"
    """
)


def holds(expression: str, event: dict[str, object], schema: Schema = OPEN) -> bool:
    matcher = Naive(schema)
    matcher.add([(0, parse(expression, schema))])
    return list(matcher.match(schema.event(event))) == [0]


def both_hold(first: Predicate, second: Predicate, event: dict[str, object]) -> bool:
    return conjunction_holds(OPEN, (first, second), OPEN.event(event))


# -- one binding --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("prices", "matches"), [([3, 20], False), ([3, 7, 20], True), (7, True), ([], False)])
def test_all_comparisons_on_an_attribute_need_one_and_the_same_value(prices: object, matches: bool) -> None:
    assert holds("price > 5 and price < 10", {"price": prices}) is matches


def test_each_conjunction_has_a_binding_of_its_own() -> None:
    assert holds("price < 5 or price > 10", {"price": [3, 20]})
    assert holds("price < 5 or price > 10", {"price": 3})
    assert not holds("price < 5 or price > 10", {"price": 7})


def test_attributes_are_bound_apart_from_each_other() -> None:
    assert holds("price < 5 and size > 10", {"price": [3, 20], "size": [1, 20]})


def test_not_equal_may_be_met_by_another_value_of_the_set() -> None:
    assert holds("x != 'a'", {"x": ["a", "b"]})
    assert not holds("x != 'a'", {"x": "a"})


def test_not_in_and_not_equal_hold_together_only_for_one_value() -> None:
    first = Predicate("x", Operator.NE, value_of("a"))
    second = Predicate("x", Operator.NE, value_of("b"))

    assert not both_hold(first, second, {"x": ["a", "b"]})
    assert both_hold(first, second, {"x": ["a", "b", "c"]})


# -- sets ---------------------------------------------------------------------------------------------------------


def test_contains_looks_at_the_set_so_two_may_use_two_values() -> None:
    assert holds("tags contains a and tags contains b", {"tags": ["a", "b"]})
    assert not holds("tags contains a and tags contains b", {"tags": ["a", "c"]})
    assert not holds("tags = 'a' and tags = 'b'", {"tags": ["a", "b"]})


def test_not_contains_needs_the_attribute_and_none_of_its_values() -> None:
    assert holds("tags not contains a", {"tags": ["b", "c"]})
    assert not holds("tags not contains a", {"tags": ["a", "b"]})
    assert not holds("tags not contains a", {})


def test_contains_and_comparisons_on_one_attribute_do_not_bind_each_other() -> None:
    assert holds("n contains 1 and n > 5", {"n": [1, 7]})
    assert not holds("n contains 1 and n > 5", {"n": [1, 3]})


# -- missing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        *("x = 'a'", "x != 'a'", "not (x = 'a')", "x < 1", "not x < 1", "x in (1)", "x not in (1)"),
        *("x starts with 'a'", "x contains 1", "x not contains 1", "x is present"),
        *("x = @y", "x != @y", "y = @x", "not (x = @y)"),
    ],
)
def test_a_missing_attribute_satisfies_nothing(expression: str) -> None:
    assert not holds(expression, {"y": "a"})
    assert not holds(expression, {"y": "a", "x": None})
    assert not holds(expression, {"y": "a", "x": []})


def test_but_is_missing() -> None:
    assert holds("x is missing", {})
    assert holds("x is missing", {"x": None, "y": 1})
    assert not holds("x is missing", {"x": 0})
    assert not holds("x is missing", {"x": ""})


# -- values -------------------------------------------------------------------------------------------------------


def test_whole_numbers_are_exact() -> None:
    assert holds(f"n = {2**53 + 1}", {"n": 2**53 + 1})
    assert not holds(f"n = {2**53 + 1}", {"n": 2**53})
    assert not holds(f"n = {2**53 + 1}", {"n": float(2**53)})
    assert holds(f"n < {2**53 + 1}", {"n": float(2**53)})
    assert holds(f"n > {10**30}", {"n": 10**30 + 1})


def test_whole_numbers_and_doubles_compare_by_value() -> None:
    assert holds("n = 3", {"n": 3.0})
    assert holds("n = 3.0", {"n": 3})
    assert holds("n = 0", {"n": -0.0})
    assert holds("n < 3", {"n": 2.9999999999999996})
    assert not holds("n = 0.3", {"n": 0.1 + 0.2})


@pytest.mark.parametrize("value", ["3", True, "2024-05-31"])
@pytest.mark.parametrize("expression", ["n = 3", "n != 3", "n < 9", "not n < 9", "n in (3, 4)", "n not in (7, 8)"])
def test_across_kinds_every_comparison_is_false(expression: str, value: object) -> None:
    assert not holds(expression, {"n": value})


def test_a_boolean_is_no_number() -> None:
    assert holds("flag = true", {"flag": True})
    assert not holds("flag = true", {"flag": 1})
    assert not holds("flag = 1", {"flag": True})
    assert not holds("flag contains 1", {"flag": True})


def test_a_set_of_mixed_kinds_offers_each_of_its_values() -> None:
    assert holds("n > 2 and n < 4", {"n": ["3", True, 3]})
    assert holds("n starts with 'x'", {"n": [1, "xyz"]})


def test_strings_are_ordered_by_code_point() -> None:
    assert holds("s < 'a'", {"s": "Z"})
    assert holds("s > 'z'", {"s": "é"})
    assert holds("s > '\ue000'", {"s": "\U0001f600"})
    assert not holds("s = 'é'", {"s": "e\u0301"})


def test_timestamps_are_instants() -> None:
    assert holds("until = timestamp '2024-05-31T12:00:00Z'", {"until": "2024-05-31T14:00:00+02:00"}, CLOSED)
    assert holds("until = timestamp '2024-05-31'", {"until": "2024-05-31T00:00:00Z"}, CLOSED)
    assert holds(
        "until < timestamp '2024-05-31T12:00:00.000000002Z'", {"until": "2024-05-31T12:00:00.000000001Z"}, CLOSED
    )


# -- orders of one's own ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("category < 'dining room'", {"table", "side table"}),
        ("category <= 'dining room'", {"dining room", "table", "side table"}),
        ("category <= bedroom", {"bedroom", "side table"}),
        ("category > table", {"dining room"}),
        ("category = table", {"table"}),
        ("not category <= table", {"dining room", "bedroom"}),
        ("category >= 'side table'", {"side table", "table", "dining room", "bedroom"}),
    ],
)
def test_is_a_follows_the_hierarchy(expression: str, matching: set[str]) -> None:
    names = ["dining room", "bedroom", "table", "side table"]

    assert {name for name in names if holds(expression, {"category": name}, CLOSED)} == matching


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("period < XVIII", {"XVI", "XVII"}),
        ("period >= XVII", {"XVII", "XVIII"}),
        ("not period < XVII", {"XVII", "XVIII", "undated"}),
        ("not period >= XVII", {"XVI", "undated"}),
        ("period != XVI", {"XVII", "XVIII", "undated"}),
    ],
)
def test_not_below_is_more_than_above_where_the_order_is_partial(expression: str, matching: set[str]) -> None:
    names = ["XVI", "XVII", "XVIII", "undated"]

    assert {name for name in names if holds(expression, {"period": name}, CLOSED)} == matching


# -- attribute against attribute ------------------------------------------------------------------------------------


def test_attributes_compare_with_each_other() -> None:
    assert holds("bid > @reserve", {"bid": 5, "reserve": 3})
    assert not holds("bid > @reserve", {"bid": 3, "reserve": 3})
    assert not holds("bid > @reserve", {"bid": 5, "reserve": "3"})
    assert holds("bid > @reserve", {"bid": [1, 5], "reserve": [3, 9]})


def test_a_chain_of_attributes_has_one_binding() -> None:
    event = {"a": 1, "b": [0, 2], "c": [1, 3]}

    assert holds("a < @b and b < @c", event)
    assert not holds("a < @b and b < @c", event | {"c": 1})


def test_a_link_and_a_constant_bind_the_same_value() -> None:
    link = Predicate("a", Operator.LT, Reference("b"))

    assert not both_hold(link, Predicate("b", Operator.LT, value_of(5)), {"a": 3, "b": [1, 9]})
    assert both_hold(link, Predicate("b", Operator.LT, value_of(5)), {"a": 3, "b": [1, 4, 9]})


# -- the structure --------------------------------------------------------------------------------------------------


def test_no_conjunctions_never_match() -> None:
    matcher = Naive(OPEN)
    matcher.add([(4, ())])

    assert matcher.match(OPEN.event({"a": 1})) == []


def test_a_batch_is_a_loop() -> None:
    matcher = Naive(OPEN)
    matcher.add([(4, parse("a < 5", OPEN)), (9, parse("a < 3", OPEN))])
    events = [OPEN.event({"a": a}) for a in (1, 4, 7)]

    rows = matcher.match_many(events)

    assert isinstance(rows, Rows)
    assert (rows.offsets.tolist(), rows.items.tolist()) == ([0, 2, 3, 3], [4, 9, 4])


def test_its_work_is_every_predicate_it_looked_at() -> None:
    matcher = Naive(OPEN)
    matcher.add([(key, parse("a < 5 and b < 5", OPEN)) for key in range(10)])

    matcher.match(OPEN.event({"a": 1, "b": 1}))
    matcher.match(OPEN.event({"a": 9, "b": 1}))

    assert matcher.stats().work == dict.fromkeys(matcher.stats().work, 0) | {
        "events": 2,
        "predicates_evaluated": 20 + 10,
    }


def test_check_finds_an_empty_conjunction() -> None:
    matcher = Naive(OPEN)
    matcher.add([(4, ((),))])

    with pytest.raises(AssertionError, match="subscription 4 has an empty conjunction"):
        matcher.check()
