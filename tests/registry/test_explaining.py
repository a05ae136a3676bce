"""Why an event matches, or does not: one line per predicate, with the value that decided it."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis import Engine, Explanation, Schema
from tests.strategies import expressions, raw_events, schemas

_SLOW_TO_DRAW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def explain(expression: str, event: dict[str, object], schema: Schema | None = None) -> Explanation:
    engine = Engine(schema)
    engine.subscribe("it", expression)
    return engine.explain("it", event)


def lines(explanation: Explanation) -> list[tuple[str, bool, str]]:
    return [(line.text, line.holds, line.reason) for line in explanation.lines]


def test_each_predicate_tells_the_value_it_met() -> None:
    explanation = explain("category = 'table' and price < 200", {"category": "table", "price": 250})

    assert not explanation.matches
    assert lines(explanation) == [
        ("category = 'table'", True, "category is 'table'"),
        ("price < 200", False, "price is 250"),
    ]


def test_a_missing_attribute_is_told_as_missing() -> None:
    explanation = explain("price < 200 and tags contains new and size is present", {})

    assert {reason for _, _, reason in lines(explanation)} == {"price is missing", "size is missing", "tags is missing"}
    assert not any(line.holds for line in explanation.lines)


def test_is_missing_holds_where_nothing_is() -> None:
    assert lines(explain("price is missing", {})) == [("price is missing", True, "price is missing")]
    assert lines(explain("price is missing", {"price": 3})) == [("price is missing", False, "price is present")]


def test_of_several_values_the_closest_is_shown() -> None:
    explanation = explain("price > 5 and price < 10", {"price": [1, 7, 20]})

    assert explanation.matches
    assert {reason for _, _, reason in lines(explanation)} == {"price is 7 (the closest of 3 values)"}


def test_under_one_binding_two_predicates_cannot_both_hold() -> None:
    explanation = explain("price > 5 and price < 10", {"price": [3, 20]})

    assert not explanation.matches
    assert [holds for _, holds, _ in lines(explanation)].count(True) == 1


def test_contains_shows_the_set() -> None:
    explanation = explain("tags contains a and tags not contains z", {"tags": ["a", "b"]})

    assert [reason for _, _, reason in lines(explanation)] == ["tags is {'a', 'b'}"] * 2


def test_a_long_set_is_cut() -> None:
    explanation = explain("n contains 3", {"n": list(range(9))})

    assert lines(explanation) == [("n contains 3", True, "n is {0, 1, 2, 3, 4, …}")]


def test_attribute_against_attribute_tells_both_values() -> None:
    explanation = explain("bid > @reserve", {"bid": 5, "reserve": [9, 3]})

    assert explanation.matches
    assert lines(explanation) == [("bid > @reserve", True, "bid is 5, reserve is 3 (the closest of 2 values)")]


def test_conjunctions_are_numbered_and_parted_by_or() -> None:
    explanation = explain("price < 5 or price > 10", {"price": 20})

    assert [line.conjunction for line in explanation.lines] == [0, 1]
    assert str(explanation).splitlines() == [
        "matches",
        "  ✗ price < 5                                    price is 20",
        "  or",
        "  ✓ price > 10                                   price is 20",
    ]


def test_a_contradiction_says_so() -> None:
    explanation = explain("price < 5 and price > 10", {"price": 7})

    assert (explanation.matches, explanation.lines) == (False, ())
    assert str(explanation) == "does not match\n  the subscription contradicts itself and never matches"


def test_values_are_shown_as_they_are_written() -> None:
    schema = Schema.loads('[attributes]\nuntil = "timestamp"\nname = "string"\nsold = "boolean"')
    event = {"until": "2024-05-31T14:00:00+02:00", "name": "it's", "sold": True}

    explanation = explain("until is present and until > '2024-01-01' and name != 'x' and sold != false", event, schema)

    assert [reason for _, _, reason in lines(explanation)] == [
        "name is 'it''s'",
        "sold is true",
        "until is timestamp '2024-05-31T12:00:00Z'",
    ]


@settings(max_examples=100, deadline=None, suppress_health_check=_SLOW_TO_DRAW)
@given(data=st.data())
def test_an_event_matches_when_all_lines_of_some_conjunction_hold(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    engine = Engine(schema)
    engine.subscribe("it", data.draw(expressions(schema)))
    event = data.draw(raw_events(schema))

    explanation = engine.explain("it", event)

    whole: dict[int, bool] = {}
    for line in explanation.lines:
        whole[line.conjunction] = whole.get(line.conjunction, True) and line.holds
    assert explanation.matches is any(whole.values())
    assert explanation.matches is (engine.match(event) == ["it"])
    assert str(explanation).startswith("matches\n" if explanation.matches else "does not match\n")
