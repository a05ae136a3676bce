"""Matching one event and many, explaining, counting."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from tamis import Engine, EventError, LimitError, OptionError, Schema
from tamis.engine import MAX_LEARNED, MAX_LEARNED_CHARACTERS
from tamis.workloads import auctions

EVENTS: list[dict[str, object]] = [
    {"category": "table", "price": 150},
    {"category": "chair", "price": 20},
    {},
    {"category": ["chair", "table"], "price": 60},
]
EXPECTED = [["ann"], ["bob", "eve"], [], ["ann", "eve"]]


@pytest.fixture(params=["adaptive", "naive"])
def engine(request: pytest.FixtureRequest) -> Engine:
    engine = Engine(algorithm=request.param)
    engine.subscribe_many(
        [("ann", "category = 'table' and price < 200"), ("bob", "price < 50"), ("eve", "category contains chair")]
    )
    return engine


def test_ids_come_in_the_order_of_subscribing(engine: Engine) -> None:
    assert [engine.match(event) for event in EVENTS] == EXPECTED


def test_an_id_is_reported_once_however_many_of_its_conjunctions_hold() -> None:
    engine = Engine()
    engine.subscribe("ann", "price < 10 or colour = 'red' or price < 20 and size > 1")

    assert engine.match({"price": 5, "colour": "red", "size": 3}) == ["ann"]
    assert engine.match_many([{"price": 5, "colour": "red", "size": 3}]).for_event(0) == ["ann"]


def test_a_batch_says_the_same_as_a_loop_in_every_form_it_comes(engine: Engine) -> None:
    rows = [{"category": None, "price": None} | event for event in EVENTS]
    listed = [event | {"category": [event["category"]]} if event["category"] == "table" else event for event in rows]
    listed = [event | {"category": ["chair"]} if event["category"] == "chair" else event for event in listed]
    table = pa.Table.from_pylist(listed)

    for batch in (EVENTS, tuple(EVENTS), iter(EVENTS), table, table.to_batches()[0]):
        assert [sorted(ids) for ids in engine.match_many(batch)] == EXPECTED


def test_arrow_columns_of_every_plain_type_are_values() -> None:
    engine = Engine()
    engine.subscribe("ann", "n = 3 and d = 2.5 and s = 'x' and b = true and t = timestamp '2024-05-31T12:00:00Z'")
    engine.subscribe("bob", "seller.rating >= 4 and tags contains new")
    moment = datetime(2024, 5, 31, 12, tzinfo=UTC)
    row = {"n": 3, "d": Decimal("2.50"), "s": "x", "b": True, "t": moment, "seller": {"rating": 5}, "tags": ["new"]}

    table = pa.Table.from_pylist([row])
    encoded = table.set_column(2, "s", table.column("s").dictionary_encode())

    assert [sorted(engine.match_many(one).for_event(0)) for one in (table, encoded)] == [["ann", "bob"]] * 2


def test_matches_are_rows_counts_and_arrow(engine: Engine) -> None:
    matches = engine.match_many(EVENTS)

    assert (len(matches), matches.total) == (4, 5)
    assert matches.counts().tolist() == [1, 2, 0, 2]
    assert sorted(matches.for_event(3)) == ["ann", "eve"]
    pairs = {(row["event"], row["subscription"]) for row in matches.to_arrow().to_pylist()}
    assert pairs == {(0, "ann"), (1, "bob"), (1, "eve"), (3, "ann"), (3, "eve")}
    events, ids = matches.to_arrow().schema.types
    assert events == pa.int64()
    assert ids in (pa.string(), pa.large_string())


def test_a_bitmap_holds_the_positions_of_the_ids(engine: Engine) -> None:
    matches = engine.match_many(EVENTS)

    both = matches.bitmap(1) & matches.bitmap(3)

    assert isinstance(both, BitMap)
    assert [matches.ids[code] for code in both] == ["eve"]


def test_no_matches_make_an_empty_arrow_table(engine: Engine) -> None:
    for matches in (engine.match_many([]), engine.match_many([{}])):
        assert matches.to_arrow().to_pydict() == {"event": [], "subscription": []}


def test_ids_that_fit_no_arrow_type_are_an_option_error() -> None:
    for ids in (["ann", 1], [-1, 2**64 - 1]):
        engine = Engine()
        engine.subscribe_many([(id, "price < 1") for id in ids])
        matches = engine.match_many([{"price": 0}])

        assert set(matches.for_event(0)) == set(ids)
        with pytest.raises(OptionError, match="fit no Arrow type"):
            matches.to_arrow()


@pytest.mark.parametrize("row", [-1, 4, 10**9])
def test_an_event_outside_the_batch_is_an_option_error(engine: Engine, row: int) -> None:
    with pytest.raises(OptionError, match="expected an event from 0 to 3"):
        engine.match_many(EVENTS).for_event(row)


def test_an_event_is_a_mapping(engine: Engine) -> None:
    for wrong in (None, 5, "price", [("price", 1)]):
        with pytest.raises(EventError, match="expected an event as a mapping"):
            engine.match(wrong)  # type: ignore[arg-type]


def test_a_bad_event_in_a_batch_is_named_by_its_row() -> None:
    engine = Engine(Schema.loads(auctions.SCHEMA))
    good = {"event_type": "antiques", "price": 1, "quantity": 1, "period": "XVI"}

    with pytest.raises(EventError, match="R2: event 1: the mandatory attribute 'price'") as caught:
        engine.match_many([good, {name: value for name, value in good.items() if name != "price"}])

    assert (caught.value.rule, caught.value.attribute) == ("R2", "price")


def test_an_event_of_too_many_values_is_named_by_its_row(engine: Engine) -> None:
    with pytest.raises(LimitError, match="event 1: expected at most 100,000 values"):
        engine.match_many([{}, {"price": list(range(100_001))}])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**50], pa.timestamp("s")),
        pa.array([0], pa.timestamp("s", tz="Mars/Olympus")),
        pa.Array.from_buffers(
            pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32).tobytes()), pa.py_buffer(b"\xff")]
        ),
        pa.array([[("key", 1)]], pa.map_(pa.string(), pa.int64())),
    ],
    ids=["a year past 9999", "an unknown zone", "invalid UTF-8", "a map"],
)
def test_an_arrow_value_that_is_none_of_ours_is_an_event_error(engine: Engine, column: pa.Array) -> None:
    with pytest.raises(EventError):
        engine.match_many(pa.table({"when": column}))


def test_an_explanation_has_a_line_per_predicate(engine: Engine) -> None:
    explanation = engine.explain("ann", {"category": "table", "price": 250})

    assert explanation.matches is False
    lines = [(line.text, line.holds, line.reason) for line in explanation.lines]
    assert lines == [("category = 'table'", True, "category is 'table'"), ("price < 200", False, "price is 250")]


def test_stats_count_what_is_held_and_done(engine: Engine) -> None:
    engine.subscribe("two", "price < 1 or price > 9")

    engine.match_many(EVENTS)
    engine.match(EVENTS[0])
    stats = engine.stats()

    assert (stats["algorithm"], stats["subscriptions"], stats["conjunctions"]) == (engine.algorithm, 4, 5)
    assert stats["never_matching"] == 0
    assert stats["bytes"] > 0
    assert stats["work"]["events"] == 5
    if engine.algorithm == "naive":
        assert stats["work"]["predicates_evaluated"] >= 5 * 4


def test_what_never_matches_is_counted_until_it_is_forgotten(engine: Engine) -> None:
    engine.subscribe_many([("never", "price < 1 and price > 2"), ("nor", "price < 1 and price > 2")])
    counts = [engine.stats()["never_matching"]]
    engine.match_many(EVENTS)
    engine.unsubscribe("never")
    counts.append(engine.stats()["never_matching"])
    engine.subscribe("nor", "price < 1")
    counts.append(engine.stats()["never_matching"])

    assert counts == [2, 1, 0]


def test_an_open_schema_learns_attributes_and_kinds_from_both_sides(engine: Engine) -> None:
    engine.match({"colour": "red", "price": "a lot"})
    engine.match_many([{"sold": True}])

    assert engine.stats()["attributes"] == {
        "category": ["string"],
        "colour": ["string"],
        "price": ["number", "string"],
        "sold": ["boolean"],
    }


def test_an_open_schema_learns_a_bounded_number_of_names_and_of_characters() -> None:
    engine = Engine()
    engine.subscribe("ann", "known = 1")
    for first in range(0, 400, 20):
        engine.match({f"{at:03}" + "a" * 4_000: 1 for at in range(first, first + 10)})
        engine.match_many([{f"{at:03}" + "a" * 4_000: 1 for at in range(first + 10, first + 20)}])

    learned = engine.stats()["attributes"]

    assert len(learned) == 1 + MAX_LEARNED_CHARACTERS // 4_003 < 400
    engine.match_many([{f"n{at}": 1 for at in range(MAX_LEARNED // 2)}] * 2)
    engine.match({f"m{at}": 1 for at in range(MAX_LEARNED)})
    assert sum(map(len, engine.stats()["attributes"])) <= MAX_LEARNED_CHARACTERS + len("known")


def test_a_closed_schema_has_nothing_to_learn() -> None:
    assert "attributes" not in Engine(Schema.loads(auctions.SCHEMA)).stats()
