"""Events and subscriptions that are refused among many: raised, skipped, or collected."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from tamis import Engine, EventError, LanguageError, LimitError, OptionError, Schema

SCHEMA = Schema.loads("""
[attributes]
price = "number"
quantity = { type = "integer", min = 1, max = 9 }
material = "string"

[event_types.lot]
price = "mandatory"
quantity = "optional"
material = "optional multiple"
""")
SUBSCRIPTIONS = [("a", "price < 5"), ("b", "quantity >= 4"), ("c", "material contains oak or price = 7")]
GOOD: list[dict[str, Any]] = [
    {"price": 1.5, "quantity": 4}, {"price": 7.0, "material": ["elm"]}, {"price": 9.0, "material": ["oak", "elm"]},
]  # fmt: skip
BAD: list[dict[str, Any]] = [{"price": None}, {"price": 3.0, "quantity": 10}, {"price": float("nan")}]


@pytest.fixture(params=["adaptive", "naive"])
def engine(request: pytest.FixtureRequest) -> Engine:
    engine = Engine(SCHEMA, algorithm=request.param)
    engine.subscribe_many(SUBSCRIPTIONS)
    return engine


def drawn(seed: int) -> list[dict[str, Any]]:
    draw = random.Random(f"refused {seed}")
    return [{"name": f"e{at}", **draw.choice(GOOD if draw.random() < 0.7 else BAD)} for at in range(40)]


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    types = {"name": pa.string(), "price": pa.float64(), "quantity": pa.int64(), "material": pa.list_(pa.string())}
    return pa.table({name: pa.array([row.get(name) for row in rows], of) for name, of in types.items()})


def told(engine: Engine, row: dict[str, Any]) -> tuple[list[object], EventError | None]:
    """The oracle: one event at a time."""
    try:
        return sorted(engine.match({name: found for name, found in row.items() if name != "name"})), None
    except EventError as error:
        return [], error


@pytest.mark.parametrize("form", [list, table_of])
@pytest.mark.parametrize("seed", range(5))
def test_the_refused_have_no_matches_and_the_others_keep_their_rows(engine: Engine, form: Any, seed: int) -> None:
    rows = drawn(seed)
    expected = [told(engine, row) for row in rows]
    wrong = [(row, error) for row, (_, error) in enumerate(expected) if error is not None]

    skipped = engine.match_many(form(rows), on_error="skip", event_id="name")
    collected = engine.match_many(form(rows), on_error="collect", event_id="name")

    assert len(wrong) > 3
    assert [sorted(ids) for ids in skipped] == [sorted(ids) for ids in collected] == [ids for ids, _ in expected]
    assert list(skipped.errors) == []
    assert [(one.row, one.id, one.rule, one.attribute) for one in collected.errors] == [
        (row, f"e{row}", error.rule, error.attribute) for row, error in wrong
    ]
    assert [f"{one.rule}: {one.reason}" for one in collected.errors] == [str(error) for _, error in wrong]
    assert collected.to_arrow()["event"].to_pylist() == [row for row, (ids, _) in enumerate(expected) for _ in ids]
    counts = engine.count_many(form(rows), on_error="skip", event_id="name")
    assert counts.tolist() == [len(ids) for ids, _ in expected]


@pytest.mark.parametrize("form", [list, table_of])
def test_pieces_number_their_errors_from_the_first_event_on(engine: Engine, form: Any) -> None:
    rows = drawn(7)
    whole = engine.match_many(form(rows), on_error="collect", event_id="name")

    pieces = list(engine.match_iter(form(rows), at_once=7, on_error="collect", event_id="name"))

    assert [one for piece in pieces for one in piece.errors] == list(whole.errors)
    assert [sorted(ids) for piece in pieces for ids in piece] == [sorted(ids) for ids in whole]


@pytest.mark.parametrize("form", [list, table_of])
def test_the_first_error_that_is_raised_names_the_event_by_row_and_id(engine: Engine, form: Any) -> None:
    rows = [{"name": "x1", **GOOD[0]}, {"name": "x2", **BAD[1]}]

    with pytest.raises(
        EventError, match=r"R2: event 1 \('x2'\): attribute 'quantity': expected an integer from 1 to 9"
    ):
        engine.match_many(form(rows), event_id="name")


def test_errors_are_a_table_as_well(engine: Engine) -> None:
    rows = [{"name": 7, **GOOD[0]}, {"name": 8, **BAD[0]}, {"name": 9, **BAD[1]}]

    errors = engine.match_many(rows, on_error="collect", event_id="name").errors.to_arrow()

    assert errors.column_names == ["row", "id", "rule", "attribute", "reason"]
    assert errors["row"].to_pylist() == [1, 2]
    assert errors["id"].to_pylist() == [8, 9]
    assert errors["attribute"].to_pylist() == ["price", "quantity"]
    assert engine.match_many([GOOD[0]], on_error="collect").errors.to_arrow().num_rows == 0


def test_a_name_that_the_schema_knows_is_an_attribute_as_well(engine: Engine) -> None:
    rows = [{"price": 1.5}, {"price": None}]

    matches = engine.match_many(rows, on_error="collect", event_id="price")

    assert sorted(matches.for_event(0)) == ["a"]
    assert [(one.row, one.id) for one in matches.errors] == [(1, None)]


def test_limits_are_collected_too() -> None:
    engine = Engine()
    engine.subscribe("a", "x is present")

    matches = engine.match_many([{"x": 1}, {"x": list(range(100_001))}], on_error="collect")

    assert list(matches) == [["a"], []]
    assert matches.errors[0].reason.startswith("expected at most 100,000 values in one event")


def test_wrong_arguments_are_told_in_our_words(engine: Engine) -> None:
    with pytest.raises(
        OptionError, match="on_error: expected one of raise, skip, collect, found 'colect'; did you mean"
    ):
        engine.match_many([], on_error="colect")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="on_error: expected one of raise, skip, found 'collect'"):
        engine.count_many([], on_error="collect")
    with pytest.raises(OptionError, match="event_id: expected the name of a field, found 3"):
        engine.match_many([], event_id=3)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="event_id: expected one of the columns price, found 'id'"):
        engine.match_many(pa.table({"price": [1.0]}), event_id="id")


def test_json_goes_on_behind_a_line_that_is_none(engine: Engine) -> None:
    lines = b'{"price": 1.5}\n{"price": \n{"price": "dear"}\n\n{"price": 7}\n'

    matches = engine.match_json(lines, on_error="collect")

    assert [sorted(ids) for ids in matches] == [["a"], [], [], ["c"]]
    assert [(one.row, one.rule) for one in matches.errors] == [(1, None), (2, "R2")]
    assert "line 2" in matches.errors[0].reason
    assert [sorted(ids) for ids in engine.match_json(lines, on_error="skip")] == [["a"], [], [], ["c"]]


def test_in_an_array_the_rest_behind_a_mistake_is_one_error(engine: Engine) -> None:
    matches = engine.match_json(b'[{"price": 1.5}, {"price": 7}, {"price" 3}, {"price": 1}]', on_error="collect")

    assert [sorted(ids) for ids in matches] == [["a"], ["c"], []]
    assert [one.row for one in matches.errors] == [2]


# -- subscriptions ------------------------------------------------------------------------------------------------

MIXED: list[tuple[Any, Any]] = [
    ("a", "price < 5"), ("x", "price <"), (True, "price < 1"), ("b", "quantity >= 4"), ("a", "price = 'dear'"),
    ("y", 3), ("z", "colour = 'red'"), ("b", "quantity >= 5"),
]  # fmt: skip


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_subscriptions_that_are_refused_leave_the_others(algorithm: str) -> None:
    engine = Engine(SCHEMA, algorithm=algorithm)

    skipped = engine.subscribe_many(MIXED, on_error="skip")
    collected = engine.subscribe_many(MIXED, on_error="collect")

    assert (skipped.subscribed, list(skipped.errors)) == (2, [])
    assert (collected.subscribed, collected.replaced) == (2, 2)
    assert [one.row for one in collected.errors] == [1, 2, 4, 5, 6]
    assert [one.id for one in collected.errors] == ["x", None, "a", "y", "z"]
    assert "expected a subscription id" in collected.errors[1].reason
    assert engine.ids() == ["a", "b"]
    assert (engine.expression("a"), engine.expression("b")) == ("price < 5", "quantity >= 5")
    engine.check()


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_columns_of_subscriptions_lose_only_the_rows_that_are_refused(algorithm: str) -> None:
    texts = ["price < 5", "price <", "quantity >= 4", "quantity >= 44"]
    table = pa.table({"id": [1, 2, 3, 4], "expression": texts})
    engine = Engine(SCHEMA, algorithm=algorithm)

    receipt = engine.subscribe_many(table, on_error="collect")

    assert receipt.subscribed == 2
    assert [(one.row, one.id) for one in receipt.errors] == [(1, 2), (3, 4)]
    assert engine.ids() == [1, 3]
    with pytest.raises(LanguageError, match=r"subscription 2 \(row 1\): "):
        engine.subscribe_many(table)


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_a_refused_subscription_changes_nothing_by_default(algorithm: str) -> None:
    engine = Engine(SCHEMA, algorithm=algorithm)

    with pytest.raises((LanguageError, OptionError, LimitError)):
        engine.subscribe_many(MIXED)

    assert engine.ids() == []


@pytest.mark.parametrize("as_table", [False, True])
@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
def test_what_only_stored_texts_may_say_is_refused_as_mistakes_are(algorithm: str, as_table: bool) -> None:
    engine: Engine = Engine(algorithm=algorithm)
    texts = ["a = 1", "a >", 'a = "b"', "a includes 'x'", "a = null", "a like"]
    pairs = list(enumerate(texts))
    given = pa.table({"id": range(len(texts)), "expression": texts}) if as_table else pairs

    with pytest.raises(LanguageError):
        engine.subscribe_many(given)
    assert len(engine) == 0
    skipped = engine.subscribe_many(given, on_error="skip")
    collected = engine.subscribe_many(given, on_error="collect")

    assert (skipped.subscribed, list(skipped.errors)) == (2, [])
    assert [(one.row, one.id) for one in collected.errors] == [(1, 1), (2, 2), (4, 4), (5, 5)]
    assert "double quotes name an attribute" in collected.errors[1].reason
    assert engine.ids() == [0, 3]
