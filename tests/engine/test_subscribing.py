"""Subscribing, replacing and unsubscribing: what the engine holds afterwards."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tamis import Engine, LanguageError, LimitError, OptionError, Receipt, Schema, UnknownSubscription

CHEAP, DEAR = {"price": 10}, {"price": 1000}


def test_a_subscription_matches_from_the_moment_it_is_made() -> None:
    engine = Engine()
    before = engine.match(CHEAP)

    receipt = engine.subscribe("ann", "price < 200")

    assert (before, engine.match(CHEAP), engine.match(DEAR)) == ([], ["ann"], [])
    assert receipt == Receipt(subscribed=1, replaced=0, never_matching=())
    assert engine.expression("ann") == "price < 200"


def test_subscribing_an_id_again_replaces_it() -> None:
    engine = Engine()
    engine.subscribe("ann", "price < 200")

    receipt = engine.subscribe("ann", "price > 200")

    assert receipt == Receipt(subscribed=1, replaced=1, never_matching=())
    assert (engine.match(CHEAP), engine.match(DEAR)) == ([], ["ann"])
    assert (len(engine), engine.expression("ann")) == (1, "price > 200")


def test_a_replaced_id_moves_to_the_end_of_the_order() -> None:
    engine = Engine()
    engine.subscribe_many([("ann", "price < 200"), ("bob", "price < 300"), ("eve", "price < 400")])

    engine.subscribe("ann", "price < 500")

    assert engine.ids() == ["bob", "eve", "ann"]
    assert engine.match(CHEAP) == ["bob", "eve", "ann"]


def test_an_unsubscribed_id_never_matches_again() -> None:
    engine = Engine()
    engine.subscribe_many([("ann", "price < 200"), ("bob", "price < 200")])

    engine.unsubscribe("ann")

    assert engine.match(CHEAP) == ["bob"]
    assert engine.match_many([CHEAP]).for_event(0) == ["bob"]
    assert (len(engine), "ann" in engine, "bob" in engine) == (1, False, True)
    engine.check()


def test_an_id_can_come_back_after_it_left() -> None:
    engine = Engine()
    engine.subscribe_many([("ann", "price < 200"), ("bob", "price < 200")])
    engine.unsubscribe("ann")

    receipt = engine.subscribe("ann", "price < 20")

    assert receipt.replaced == 0
    assert engine.match(CHEAP) == ["bob", "ann"]


@pytest.mark.parametrize("ask", [Engine.unsubscribe, Engine.expression, lambda e, id: e.explain(id, {})])
def test_an_id_nobody_subscribed_is_named_in_the_error(ask: object) -> None:
    engine = Engine()

    with pytest.raises(UnknownSubscription, match="no subscription has the id 'nobody'") as caught:
        ask(engine, "nobody")  # type: ignore[operator]

    assert caught.value.id == "nobody"


def test_a_string_and_an_integer_are_different_ids() -> None:
    engine = Engine()
    engine.subscribe("1", "price < 200")
    engine.subscribe(1, "price > 200")

    assert (engine.match(CHEAP), engine.match(DEAR)) == (["1"], [1])


@pytest.mark.parametrize("id", [None, True, 1.0, b"ann", ("ann",), [], "\ud800", 2**64, -(10**30)])
def test_an_id_is_a_string_or_an_integer_that_a_file_can_hold(id: object) -> None:
    engine = Engine()
    engine.subscribe(1, "price < 200")

    with pytest.raises(OptionError, match="subscription id"):
        engine.subscribe(id, "price < 1")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"row 1: .*subscription id"):
        engine.subscribe_many([("ok", "price < 1"), (id, "price < 1")])
    with pytest.raises(OptionError, match="subscription id"):
        engine.unsubscribe(id)  # type: ignore[arg-type]

    assert engine.ids() == [1]


def test_a_contradiction_is_accepted_and_reported() -> None:
    engine = Engine()

    receipt = engine.subscribe_many([("ann", "price < 1 and price > 2"), ("bob", "price < 1")])

    assert receipt == Receipt(subscribed=2, replaced=0, never_matching=("ann",))
    assert engine.match({"price": [0, 3]}) == ["bob"]
    assert engine.stats()["never_matching"] == 1


# -- many at once -----------------------------------------------------------------------------------------------


def test_many_subscriptions_come_as_pairs_or_as_an_arrow_table() -> None:
    pairs = [("ann", "price < 200"), ("bob", "price < 5")]
    table = pa.table({"expression": [text for _, text in pairs], "id": [id for id, _ in pairs], "note": ["a", "b"]})
    engines = [Engine() for _ in range(4)]

    for engine, given in zip(engines, (pairs, iter(pairs), table, table.to_batches()[0]), strict=True):
        engine.subscribe_many(given)

    assert [engine.ids() for engine in engines] == [["ann", "bob"]] * 4
    assert [engine.match(CHEAP) for engine in engines] == [["ann"]] * 4


def test_arrow_ids_may_be_integers() -> None:
    engine = Engine()

    engine.subscribe_many(pa.table({"id": pa.array([7, 8], pa.int32()), "expression": ["price < 200", "price > 200"]}))

    assert engine.match(CHEAP) == [7]


def test_an_id_that_comes_twice_has_its_last_expression_and_last_place() -> None:
    engine = Engine()

    receipt = engine.subscribe_many([("ann", "price > 200"), ("bob", "price < 200"), ("ann", "price < 200")])

    assert receipt == Receipt(subscribed=2, replaced=0, never_matching=())
    assert engine.match(CHEAP) == ["bob", "ann"]


def test_subscribing_nothing_is_nothing() -> None:
    assert Engine().subscribe_many([]) == Receipt(0, 0, ())


def test_many_subscriptions_are_all_or_nothing() -> None:
    engine = Engine()
    engine.subscribe("ann", "price > 200")

    with pytest.raises(LanguageError, match=r"subscription 'eve' \(row 2\): expected an operator") as caught:
        engine.subscribe_many([("ann", "price < 200"), ("bob", "price < 200"), ("eve", "price less 200")])

    assert (caught.value.column, caught.value.text) == (7, "price less 200")
    assert engine.ids() == ["ann"]
    assert (engine.match(CHEAP), engine.match(DEAR)) == ([], ["ann"])


def test_a_subscription_past_a_bound_is_named_too() -> None:
    text = " and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(9))

    with pytest.raises(LimitError, match=r"subscription 'bob' \(row 1\): .* 512 conjunctions") as caught:
        Engine().subscribe_many([("ann", "price < 1"), ("bob", text)])

    assert (caught.value.limit, caught.value.found) == (256, 512)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["ann"], "row 0: expected a pair"),
        ([("ann", "price < 1"), ("bob",)], "row 1: expected a pair"),
        ([("ann", "price < 1"), None], "row 1: expected a pair"),
        (pa.table({"id": ["ann"], "text": ["price < 1"]}), "expected columns 'id' and 'expression', found id, text"),
        (pa.table({"id": [1.5], "expression": ["price < 1"]}), "row 0: expected a subscription id"),
    ],
)
def test_what_is_not_a_pair_is_named_by_its_row(given: object, message: str) -> None:
    engine = Engine()

    with pytest.raises(OptionError, match=message):
        engine.subscribe_many(given)

    assert len(engine) == 0


@pytest.mark.parametrize("expression", [None, 5, b"price < 1", ["price < 1"]])
def test_an_expression_is_text(expression: object) -> None:
    with pytest.raises(LanguageError, match="expected an expression as text"):
        Engine().subscribe("ann", expression)  # type: ignore[arg-type]


def test_a_null_expression_in_arrow_is_an_error_with_its_row() -> None:
    table = pa.table({"id": ["ann", "bob"], "expression": ["price < 1", None]})

    with pytest.raises(LanguageError, match=r"subscription 'bob' \(row 1\): expected an expression as text"):
        Engine().subscribe_many(table)


# -- making an engine -------------------------------------------------------------------------------------------


def test_an_unknown_algorithm_is_answered_with_the_nearest_and_all() -> None:
    with pytest.raises(
        OptionError, match=r"no algorithm is called 'nave'; did you mean 'naive'\? \(there are: .*naive"
    ):
        Engine(algorithm="nave")


@pytest.mark.parametrize("algorithm", [None, 5])
def test_an_algorithm_that_is_no_name_is_an_option_error(algorithm: object) -> None:
    with pytest.raises(OptionError, match="no algorithm is called"):
        Engine(algorithm=algorithm)  # type: ignore[arg-type]


def test_an_option_the_algorithm_does_not_know_is_an_option_error() -> None:
    with pytest.raises(OptionError, match=r"algorithm 'naive': .*'cache'"):
        Engine(algorithm="naive", cache=3)


def test_a_path_in_the_place_of_a_schema_is_answered_with_how_to_load_it() -> None:
    with pytest.raises(OptionError, match=r"expected a Schema, found 'auctions.toml'; Schema.load reads one"):
        Engine("auctions.toml")  # type: ignore[arg-type]


def test_a_constant_outside_its_domain_is_refused_when_subscribing() -> None:
    engine = Engine(Schema.loads('[attributes]\nquantity = { type = "integer", min = 0, max = 9 }'))

    with pytest.raises(LanguageError, match="expected an integer from 0 to 9, found 10") as caught:
        engine.subscribe("ann", "quantity = 10")

    assert caught.value.column == 12
    assert len(engine) == 0
