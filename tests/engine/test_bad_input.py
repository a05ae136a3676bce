"""Whatever goes wrong, the engine is as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tamis import Engine, Schema, TamisError
from tamis.workloads import auctions
from tests.strategies import expressions, raw_events, schemas

LISTING = {"event_type": "furniture", "price": 150, "quantity": 1, "category": "table", "material": ["oak", "pine"]}
LISTINGS = [LISTING, *(one for one in auctions.listings(15))]


def state(engine: Engine, events: list[dict[str, object]]) -> tuple[object, ...]:
    """All that can be asked of an engine; its statistics after matching, which puts new subscriptions in a segment."""
    engine.check()
    answers = [sorted(map(str, ids)) for ids in engine.match_many(events)]
    stats = engine.stats()
    counted = {"work": None, "observed": None, "homes": [{**home, "candidates_met": None} for home in stats["homes"]]}
    return stats | counted, len(engine), [(id, engine.expression(id)) for id in engine.ids()], answers


def bad_expression(text: object) -> Callable[[Engine], object]:
    return lambda engine: engine.subscribe("ann", text)  # type: ignore[arg-type]


def bad_event(**changes: object) -> Callable[[Engine], object]:
    return lambda engine: engine.match(LISTING | changes)


MISTAKES: dict[str, Callable[[Engine], Any]] = {
    "an unknown attribute": bad_expression("prise < 3"),
    "a wrong type": bad_expression("price < 'three'"),
    "a constant outside its domain": bad_expression("category = 'sofa'"),
    "an order where there is none": bad_expression("event_type < 'antiques'"),
    "an unknown event type": bad_expression("event_type contains silver"),
    "absurd nesting": bad_expression("(" * 10_000 + "price < 1" + ")" * 10_000),
    "a tower of nots": bad_expression("not " * 10_000 + "price < 1"),
    "a megabyte": bad_expression("price < 1 or " * 80_000 + "price < 1"),
    "too many conjunctions": bad_expression(" and ".join(["(price < 1 or quantity > 2 or reserve < 3)"] * 30)),
    "an open quote": bad_expression("material = 'oak"),
    "a lone surrogate": bad_expression("material = '\udcff'"),
    "a NUL": bad_expression("price \0 3"),
    "an endless number": bad_expression("price < " + "9" * 5000),
    "an infinite number": bad_expression("price < 1e999"),
    "nothing": bad_expression(""),
    "no text": bad_expression(None),
    "a bad id": lambda engine: engine.subscribe(2.5, "price < 1"),  # type: ignore[arg-type]
    "a bad id to forget": lambda engine: engine.unsubscribe([]),  # type: ignore[arg-type]
    "an unknown id to forget": lambda engine: engine.unsubscribe("nobody"),
    "an unknown id to explain": lambda engine: engine.explain("nobody", LISTING),
    "one bad among many": lambda engine: engine.subscribe_many([("ann", "price < 1"), ("new", "price <")]),
    "no pairs": lambda engine: engine.subscribe_many([("ann", "price < 1", "?")]),
    "R1": bad_event(event_type="silver"),
    "R2": bad_event(price=[1, 2]),
    "R3": bad_event(colour="brown"),
    "NaN": bad_event(price=float("nan")),
    "infinity": bad_event(price=float("inf")),
    "a value outside its domain": bad_event(quantity=0),
    "bytes": bad_event(material=b"oak"),
    "an object": bad_event(material=object()),
    "a bad event among many": lambda engine: engine.match_many([LISTING, {}]),
    "a bad event to explain": lambda engine: engine.explain("ann", {"price": 1}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_engine_is_unchanged_after(mistake: str) -> None:
    engine = Engine(Schema.loads(auctions.SCHEMA))
    engine.subscribe_many([("ann", "category <= table and price < 200"), *auctions.subscriptions(40)])
    before = state(engine, [LISTING])

    with pytest.raises(TamisError) as caught:
        MISTAKES[mistake](engine)

    assert len(str(caught.value)) < 400
    assert state(engine, [LISTING]) == before


def test_a_refused_batch_teaches_an_open_schema_nothing() -> None:
    engine = Engine()
    engine.subscribe("ann", "price < 5")

    with pytest.raises(TamisError):
        engine.match_many([{"colour": "red"}, {"price": float("nan")}])

    assert engine.stats()["attributes"] == {"price": ["number"]}


def json_values() -> st.SearchStrategy[object]:
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    return st.recursive(
        plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner), max_leaves=8
    )


WORDS = ("a", "b", "price", "and", "or", "not", "(", ")", "<", "=", "!=", "in", "contains", "'x'", "3", ",", "@a", "'")


@st.composite
def attempts(draw: st.DrawFn, schema: Schema) -> tuple[str, Any]:
    """A call that may well fail: broken and whole expressions, ids and events of any kind."""
    broken = st.text(max_size=20) | st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
    expression = st.one_of(expressions(schema), broken, json_values())
    id = st.one_of(st.sampled_from(["ann", 1]), json_values())
    event = st.one_of(raw_events(schema), json_values())
    call = draw(st.sampled_from(["subscribe", "subscribe_many", "unsubscribe", "match", "match_many", "explain"]))
    arguments = {
        "subscribe": st.tuples(id, expression),
        "subscribe_many": st.tuples(st.lists(st.tuples(id, expression), max_size=3)),
        "unsubscribe": st.tuples(id),
        "match": st.tuples(event),
        "match_many": st.tuples(st.lists(event, max_size=3)),
        "explain": st.tuples(id, event),
    }
    return call, draw(arguments[call])


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_any_call_returns_or_raises_a_tamis_error_and_leaves_the_engine_as_it_was(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    events = data.draw(st.lists(raw_events(schema), min_size=1, max_size=3))
    engine = Engine(schema)
    engine.subscribe_many([("ann", data.draw(expressions(schema))), (1, data.draw(expressions(schema)))])
    engine.match_many(events)
    before = state(engine, events)

    for _ in range(3):
        call, arguments = data.draw(attempts(schema))
        try:
            getattr(engine, call)(*arguments)
        except TamisError:
            assert state(engine, events) == before
        else:
            before = state(engine, events)


@example(raw={"a": {"b": [None, [], {"c": 1}]}})
@example(raw={"": 1, ".": 2})
@given(raw=st.dictionaries(st.text(max_size=4), json_values(), max_size=4))
@settings(deadline=None)
def test_any_json_object_is_an_event_of_an_open_schema_or_an_error(raw: dict[str, object]) -> None:
    engine = Engine()
    engine.subscribe("ann", "a is missing or a < 1")

    try:
        ids = engine.match(raw)
    except TamisError:
        return

    assert set(ids) <= {"ann"}
