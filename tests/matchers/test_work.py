"""Each algorithm does the work its paper says, seen in its counters."""

from __future__ import annotations

import pytest

from tamis import Engine, LimitError, Schema
from tamis.workloads.light import Light
from tamis.workloads.topss import TOPSS

_W4 = TOPSS["w4"]
_TEXTS = _W4.subscriptions(2000, seed=3)
_EVENTS = _W4.events(5, seed=3).to_pylist()


def _engine(algorithm: str, **options: object) -> Engine:
    engine = Engine(_W4.schema(), algorithm=algorithm, **options)
    engine.subscribe_many(_TEXTS)
    return engine


def _work_of_one_event(engine: Engine) -> dict[str, int]:
    before = engine.stats()["work"]
    engine.match(_EVENTS[0])
    after = engine.stats()["work"]
    return {name: after[name] - before[name] for name in after}


def test_fair_predicate_evaluates_each_distinct_predicate_at_most_once() -> None:
    engine = _engine("fair-predicate")

    assert 0 < _work_of_one_event(engine)["predicates_evaluated"] <= engine.stats()["predicates"]


def test_fair_predicate_evaluates_no_predicate_twice_even_where_there_is_one() -> None:
    engine = Engine(algorithm="fair-predicate")
    engine.subscribe_many([(n, "a < 5") for n in range(100)])

    engine.match({"a": 3})

    assert engine.stats()["work"]["predicates_evaluated"] == 1


def test_counting_bumps_a_counter_per_satisfied_predicate_of_a_subscription() -> None:
    engine = Engine(algorithm="counting-lists")
    engine.subscribe_many([("ann", "a = 1 and b = 1"), ("bob", "b = 1"), ("eve", "a = 2")])

    engine.match({"a": 1, "b": 1})

    assert engine.stats()["work"]["counters_bumped"] == 3


def test_equality_preferred_counts_nothing_for_equalities() -> None:
    bumped = {
        name: _work_of_one_event(_engine(name))["counters_bumped"] for name in ("fair-predicate", "equality-preferred")
    }

    assert bumped["equality-preferred"] < bumped["fair-predicate"]


def test_quarantining_counts_only_for_subscriptions_without_equality() -> None:
    work = {name: _work_of_one_event(_engine(name)) for name in ("equality-preferred", "quarantining")}

    assert work["quarantining"]["counters_bumped"] < work["equality-preferred"]["counters_bumped"]
    assert work["quarantining"]["candidates_verified"] > 0


def test_quarantining_looks_at_no_subscription_whose_equality_fails() -> None:
    engine = Engine(algorithm="quarantining")
    engine.subscribe_many([(n, f"a = {n} and b < 5") for n in range(1000)])

    assert engine.match({"a": 7, "b": 1}) == [7]
    assert engine.stats()["work"]["candidates_verified"] == 1


def test_hanson_verifies_only_those_whose_chosen_predicate_holds() -> None:
    engine = Engine(algorithm="hanson")
    engine.subscribe_many([(n, f"a = {n} and b < 5") for n in range(1000)])

    assert engine.match({"a": 7, "b": 1}) == [7]
    assert engine.stats()["work"]["candidates_verified"] == 1


def test_hanson_chooses_by_the_events_it_has_seen() -> None:
    schema = Schema.loads('attributes = { a = "integer", b = "integer" }')  # an open one reads what is asked about
    learned = Engine(schema, algorithm="hanson")
    for n in range(100):
        learned.match({"a": 1, "b": n})
    learned.subscribe_many([(n, "a = 1 and b < 2") for n in range(50)])
    before = learned.stats()["work"]["candidates_verified"]

    learned.match({"a": 1, "b": 50})

    assert learned.stats()["work"]["candidates_verified"] == before, "a = 1 always holds, so b < 2 is the better choice"


def test_gough_follows_one_path() -> None:
    engine = Engine(algorithm="gough")
    engine.subscribe_many([(n, f"a < {n % 7} and b >= {n % 5} and c = {n % 3}") for n in range(60)])

    engine.match({"a": 3, "b": 4, "c": 1})

    assert engine.stats()["levels"] == 3
    assert engine.stats()["work"]["nodes_visited"] <= 3


def test_gough_says_how_far_it_got_and_keeps_what_it_had() -> None:
    engine = Engine(_W4.schema(), algorithm="gough", most_nodes=1000)
    engine.subscribe("ann", "a0 < 5")

    with pytest.raises(LimitError, match=r"level \d+ of 10") as error:
        engine.subscribe_many(_TEXTS)

    assert (error.value.limit, len(engine)) == (1000, 1)
    assert engine.match({"a0": 1}) == ["ann"]
    engine.check()


def test_aguilera_visits_less_than_the_whole_tree() -> None:
    engine = _engine("aguilera")

    assert _work_of_one_event(engine)["nodes_visited"] < engine.stats()["nodes"]


def test_neon_evaluates_a_shared_predicate_once_per_subscription() -> None:
    engine = Engine(algorithm="neon")
    engine.subscribe_many([(n, "a < 5") for n in range(100)])

    engine.match({"a": 3})

    assert engine.stats()["work"]["predicates_evaluated"] == 100


def test_neon_looks_at_the_predicates_of_the_events_own_types_only() -> None:
    engine = Engine(algorithm="neon")
    engine.subscribe_many([(n, f"event_type contains 't{n % 10}' and a < 5") for n in range(100)])

    engine.match({"event_type": "t3", "a": 3})

    assert engine.stats()["work"]["predicates_evaluated"] == 10


def test_rapid_visits_fewer_nodes_than_tree_on_light_events() -> None:
    load = Light(a=3.0)
    visited = {}
    for algorithm in ("tree", "rapid"):
        engine = Engine(load.schema(), algorithm=algorithm)
        engine.subscribe_many(load.subscriptions(3000, seed=5))
        engine.match_many(load.events(30, seed=5))
        visited[algorithm] = engine.stats()["work"]["nodes_visited"]

    assert visited["rapid"] < visited["tree"] / 2


@pytest.mark.parametrize("algorithm", ["counting-matrix", "counting-bits"])
def test_a_matrix_past_its_bound_is_refused_and_nothing_is_lost(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm, most_bytes=100)
    engine.subscribe("ann", "a = 1")

    with pytest.raises(LimitError, match="at most 100 bytes"):
        engine.subscribe_many([(n, f"a = {n}") for n in range(100)])

    assert engine.match({"a": 1}) == ["ann"]
    engine.check()


@pytest.mark.parametrize("algorithm", ["equality-preferred", "quarantining"])
def test_clusters_are_looked_up_once_per_schema_that_the_event_has(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many([(n, f"a = {n % 10} and b = 1") for n in range(100)] + [(100, "a = 7"), (101, "c = 1")])

    engine.match({"a": 7, "b": 1})

    work = engine.stats()["work"]
    assert (work["clusters_looked_up"], work["members_found"]) == (2, 11)


def test_a_tree_s_bucket_rows_are_counted_beside_its_nodes() -> None:
    engine = Engine(Schema.loads('attributes = { a = "integer", b = "integer" }'), algorithm="tree")
    engine.subscribe_many([(0, "a = 1"), (1, "b = 1")])

    engine.match({"a": 1, "b": 0})

    work = engine.stats()["work"]
    assert (work["nodes_visited"], work["bucket_rows"]) == (1, 2)


def test_lists_are_relocated_when_they_are_full_and_not_otherwise() -> None:
    at_once, one_by_one = Engine(algorithm="counting-lists"), Engine(algorithm="counting-lists")
    at_once.subscribe_many([(n, "a = 1") for n in range(1000)])
    for n in range(1000):
        one_by_one.subscribe(n, "a = 1")

    assert at_once.stats()["relocated"] == 0
    assert 0 < one_by_one.stats()["relocated"] < 4 * 1000, "lists grow by half, so copies stay linear"
