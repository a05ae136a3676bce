"""Tables of events with event types: by columns the same answers and the same errors as one event at a time."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tamis import Engine, EventError, LimitError, Schema
from tamis.batches.arrow import certain
from tamis.batches.edge import read_batch
from tamis.batches.views import Types, keep_views
from tamis.model import EVENT_TYPE
from tamis.workloads import auctions

SCHEMA = Schema.loads("""
[attributes]
price = "number"
quantity = { type = "integer", min = 1, max = 100 }
sold = "boolean"
material = "string"
"seller.rating" = "integer"
grade = { type = "enumerated", values = ["a", "b"] }
sold_at = "timestamp"

[event_types.lot]
price = "mandatory"
quantity = "optional"
sold = "optional"
material = "optional multiple"
grade = "optional"

[event_types.shop]
"seller.rating" = "mandatory"
quantity = "optional multiple"
sold_at = "optional"

[event_types.empty]
""")
ONE_TYPE = replace(SCHEMA, event_types={"lot": SCHEMA.event_types["lot"]})
SUBSCRIPTIONS = [
    ("a", "price < 3"),
    ("b", "event_type contains lot"),
    ("c", "event_type = shop or material contains oak"),
    ("d", "quantity >= 7 and not sold = true"),
    ("e", "event_type contains lot and event_type contains shop"),
    ("f", "grade = a and price >= 1.5"),
    ("g", "seller.rating > 4 and event_type is present"),
    ("h", "price > @quantity"),
    ("i", "material is missing"),
]
LISTS = pa.list_(pa.string())
NAMES: dict[str, dict[str, tuple[object, ...]]] = {
    "lot": {"price": (1.0, 2.5, 19.0), "quantity": ([1], [7], None, []), "sold": (True, None),
            "material": (["oak"], ["oak", "brass"], None, [None]), "grade": ("a", "b", None)},
    "shop": {"seller": ({"rating": 5}, {"rating": 3}), "quantity": ([1, 7], [9], None)},
    "empty": {},
}  # fmt: skip
TYPES = {
    "price": pa.float64(), "quantity": pa.list_(pa.int32()), "sold": pa.bool_(), "material": LISTS,
    "seller": pa.struct([("rating", pa.int64())]), "grade": pa.string(), EVENT_TYPE: LISTS,
    "sold_at": pa.string(), "colour": pa.string(),
}  # fmt: skip
MISTAKES: list[dict[str, object]] = [
    {EVENT_TYPE: ["car"]}, {EVENT_TYPE: []}, {EVENT_TYPE: None}, {EVENT_TYPE: [None]}, {EVENT_TYPE: ["lot", "car"]},
    {"price": None}, {"price": float("nan")}, {"quantity": [0]}, {"quantity": [1, 2]}, {"quantity": [7, 7]},
    {"seller": None}, {"seller": {"rating": None}}, {"seller": {"rating": 1}}, {"grade": "A"}, {"colour": "brown"},
    {"sold_at": "2024-05-31"}, {"sold_at": "soon"}, {EVENT_TYPE: ["shop"]}, {EVENT_TYPE: ["empty"]},
]  # fmt: skip


def draw_rows(draw: random.Random, count: int, schema: Schema) -> list[dict[str, object]]:
    rows = []
    for _ in range(count):
        types = draw.choices(sorted(schema.event_types), k=draw.choice((1, 1, 2, 3)))
        row: dict[str, object] = {EVENT_TYPE: types}
        if len(schema.event_types) == 1 and draw.random() < 0.5:
            row[EVENT_TYPE] = None
        for one in types:
            row |= {name: draw.choice(values) for name, values in NAMES[one].items()}
        if "quantity" in row and isinstance(row["quantity"], list) and "shop" not in types:
            row["quantity"] = row["quantity"][:1]
        rows.append(row)
    return rows


def table_of(rows: list[dict[str, object]]) -> pa.Table:
    given = [name for name in TYPES if any(name in row for row in rows)]
    return pa.table({name: pa.array([row.get(name) for row in rows], TYPES[name]) for name in given})


def engine_of(schema: Schema, algorithm: str) -> Engine:
    engine = Engine(schema, algorithm=algorithm)
    for id, text in SUBSCRIPTIONS:
        if len(schema.event_types) > 1 or "shop" not in text:
            engine.subscribe(id, text)
    return engine


def outcome(engine: Engine, events: pa.Table | list[dict[str, object]]) -> object:
    try:
        matches = engine.match_many(events)
    except (EventError, LimitError) as error:
        return type(error), str(error), getattr(error, "rule", None), getattr(error, "attribute", None)
    return [sorted(matches.for_event(at)) for at in range(len(events))]


@pytest.fixture(params=[SCHEMA, ONE_TYPE], ids=["three types", "one type"], scope="module")
def engines(request: pytest.FixtureRequest) -> tuple[Engine, Engine]:
    return engine_of(request.param, "adaptive"), engine_of(request.param, "naive")


@pytest.mark.parametrize("seed", range(15))
def test_right_tables_are_read_by_columns_and_match_as_mappings(engines: tuple[Engine, Engine], seed: int) -> None:
    engine, naive = engines
    draw = random.Random(f"typed {seed}")
    table = table_of(draw_rows(draw, 40, engine.schema))
    chunks = pa.concat_tables([table.slice(0, 7), table.slice(7, 20), table.slice(27)])

    for one in (table, table.slice(5, 30), chunks):
        rows = one.to_pylist()
        assert certain(one, engine.schema).all()
        assert outcome(engine, one) == outcome(engine, rows) == outcome(naive, rows)
    batch = read_batch(table, engine.schema)
    assert [batch.event(at) for at in range(40)] == [engine.schema.event(row) for row in table.to_pylist()]


@pytest.mark.parametrize("seed", range(6))
def test_events_in_doubt_match_beside_those_that_are_certain(engines: tuple[Engine, Engine], seed: int) -> None:
    """The same value twice is right, but only the schema knows."""
    engine, naive = engines
    draw = random.Random(f"doubt {seed}")
    rows = draw_rows(draw, 40, engine.schema)
    for row in draw.sample(rows, 9):
        row.clear()
        row |= {EVENT_TYPE: ["lot"], "price": 8.0, "quantity": [7, 7]}
    table = table_of(rows)

    assert 20 < certain(table, engine.schema).sum() < 40
    assert outcome(engine, table) == outcome(engine, table.to_pylist()) == outcome(naive, table.to_pylist())


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_mistake_in_one_event_is_told_as_for_mappings(
    engines: tuple[Engine, Engine], mistake: dict[str, object], seed: int
) -> None:
    engine, naive = engines
    draw = random.Random(f"mistake {seed}")
    rows = draw_rows(draw, 12, engine.schema)
    rows[draw.randrange(12)] |= mistake
    table = table_of(rows)

    assert outcome(engine, table) == outcome(engine, table.to_pylist()) == outcome(naive, table.to_pylist())


@pytest.mark.parametrize("seed", range(30))
def test_each_event_that_is_passed_is_one_that_the_schema_takes(seed: int) -> None:
    draw = random.Random(f"any {seed}")
    rows = [row | draw.choice(({}, {}, *MISTAKES)) for row in draw_rows(draw, 60, SCHEMA)]

    for row in rows:
        one = table_of([row])
        if certain(one, SCHEMA).all():
            SCHEMA.event(one.to_pylist()[0])


ODD: dict[str, dict[str, pa.Array]] = {
    "numbers for types": {EVENT_TYPE: pa.array([1, 2])},
    "a name and nothing": {EVENT_TYPE: pa.array(["lot", None]), "price": pa.array([1.0, 2.0])},
    "names from a dictionary": {EVENT_TYPE: pa.array(["lot", "lot"]).dictionary_encode(), "price": pa.array([1, 2])},
    "large names": {EVENT_TYPE: pa.array(["lot", "lot"], pa.large_string()), "price": pa.array([1, 2])},
    "a struct for types": {EVENT_TYPE: pa.array([{"x": "lot"}, None])},
    "lists of lists": {EVENT_TYPE: pa.array([[["lot"]], [["lot"]]])},
    "only nulls": {EVENT_TYPE: pa.nulls(2), "price": pa.array([1.0, 2.0])},
    "no types": {"price": pa.array([1.0, 2.0])},
    "no events": {EVENT_TYPE: pa.array([], pa.string()), "price": pa.array([], pa.float64())},
    "no mandatory column": {EVENT_TYPE: pa.array(["lot", "lot"]), "grade": pa.array(["a", "b"])},
    "an unknown column of nulls": {EVENT_TYPE: pa.array(["empty", "empty"]), "colour": pa.nulls(2)},
    "an event of nothing": {EVENT_TYPE: pa.array(["empty", None])},
    "types twice": {EVENT_TYPE: pa.array([["lot", "lot"], ["lot"]]), "price": pa.array([1.0, 2.0])},
    "decimals": {EVENT_TYPE: pa.array(["lot"] * 2), "price": pa.array([1, 2]).cast(pa.decimal128(21, 1))},
    "maps": {EVENT_TYPE: pa.array(["shop"] * 2), "seller": pa.array([[("rating", 1)]] * 2,
             pa.map_(pa.string(), pa.int64()))},
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_tables_are_judged_as_their_rows(engines: tuple[Engine, Engine], name: str) -> None:
    engine, naive = engines
    table = pa.table(ODD[name])
    rows = table.to_pylist(maps_as_pydicts="strict")

    assert outcome(engine, table) == outcome(engine, rows) == outcome(naive, rows)


def test_the_only_type_is_a_value_of_events_that_do_not_name_it() -> None:
    engine = engine_of(ONE_TYPE, "adaptive")
    table = pa.table({"price": [1.0, 9.0]})

    assert certain(table, ONE_TYPE).all()
    assert all("b" in engine.match_many(table).for_event(at) for at in range(2))


def test_listings_of_the_auctions_are_read_by_columns() -> None:
    schema = Schema.loads(auctions.SCHEMA)
    rows = [row for at, row in enumerate(auctions.listings(500)) if at % 50 != 17]
    table = pa.table({name: [row.get(name) for row in rows] for name in schema.names()})
    engine, naive = Engine(schema), Engine(schema, algorithm="naive")
    for id, text in auctions.subscriptions(200):
        engine.subscribe(id, text)
        naive.subscribe(id, text)

    assert certain(table, schema).all()
    assert outcome(engine, table) == outcome(engine, rows) == outcome(naive, rows)


def test_events_of_very_many_types_are_looked_at_one_by_one() -> None:
    types = {f"t{at}": {"price": SCHEMA.event_types["lot"]["price"]} for at in range(9)}
    schema = replace(SCHEMA, event_types=types)

    for count in (8, 9):
        rows, names = np.zeros(count, np.int32), pa.array(sorted(types)[:count])
        assert keep_views(schema, 1, {"price": rows[:1]}, Types(rows, names)).all() == (count == 8)


def test_a_type_that_is_not_declared_is_never_certain() -> None:
    rows = np.arange(3, dtype=np.int32)

    assert keep_views(SCHEMA, 3, {}, Types(rows, pa.array(["empty", "car", "empty"]))).tolist() == [True, False, True]
