"""The edge where a mapping becomes an event."""

from __future__ import annotations

import math
from collections import OrderedDict, UserDict
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import EventError, LimitError
from tamis.model import Kind, Schema, Value, parse_json, read_event
from tamis.model.events import MAX_DEPTH, MAX_VALUES
from tamis.model.names import MAX_NAME, MAX_NAMES
from tests.strategies import raw_events, schemas

OPEN = Schema(open=True)
SCHEMA = Schema.loads("""
[attributes]
price = "number"
title = "string"
tags = "string"
count = { type = "integer", min = 0, max = 9 }
"seller.rating" = "integer"

[event_types.sale]
price = "mandatory"
title = "optional"
tags = "optional multiple"

[event_types.stock]
count = "mandatory multiple"
tags = "mandatory"
"seller.rating" = "optional"
""")


def _refused(raw: object, schema: Schema = SCHEMA) -> EventError:
    with pytest.raises(EventError) as caught:
        read_event(schema, raw)  # type: ignore[arg-type]
    return caught.value


# -- R1, R2, R3 -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"price": 1}, "R1: expected event_type with types such as 'sale', 'stock', found none"),
        ({"event_type": None, "price": 1}, "R1: expected event_type with types such as 'sale', 'stock', found none"),
        ({"event_type": [], "price": 1}, "R1: expected event_type with types such as 'sale', 'stock', found none"),
        (
            {"event_type": "sales", "price": 1},
            "R1: expected a declared event type, found 'sales'; did you mean 'sale'?",
        ),
        ({"event_type": ["sale", "zoo"]}, "R1: expected a declared event type, found 'zoo'"),
        ({"event_type": 5}, "R1: expected an event type's name, found 5"),
        ({"event_type": [["sale"]]}, "R1: expected an event type's name, found a list"),
    ],
)
def test_an_event_without_declared_types_breaks_r1(raw: dict[str, object], message: str) -> None:
    error = _refused(raw)

    assert (str(error), error.rule, error.attribute) == (message, "R1", "event_type")


@pytest.mark.parametrize(
    ("raw", "attribute", "message"),
    [
        ({"event_type": "sale"}, "price", "R2: the mandatory attribute 'price' of the event type 'sale' is missing"),
        ({"event_type": "sale", "price": None}, "price", "is missing"),
        ({"event_type": "sale", "price": []}, "price", "is missing"),
        (
            {"event_type": "sale", "price": [1, 2]},
            "price",
            "expected one value for the unique attribute 'price', found 2",
        ),
        ({"event_type": "sale", "price": "1"}, "price", "R2: attribute 'price': expected a number, found '1'"),
        ({"event_type": "sale", "price": math.nan}, "price", "expected a finite number, found nan"),
        ({"event_type": "stock", "count": [1, 10], "tags": "a"}, "count", "expected an integer from 0 to 9, found 10"),
        ({"event_type": "sale", "price": {}}, "price", "is missing"),
    ],
)
def test_an_event_that_lacks_a_mandatory_attribute_or_has_too_much_of_one_breaks_r2(
    raw: dict[str, object], attribute: str, message: str
) -> None:
    error = _refused(raw)

    assert (error.rule, error.attribute) == ("R2", attribute)
    assert message in str(error)


@pytest.mark.parametrize(
    ("raw", "attribute", "message"),
    [
        ({"event_type": "sale", "price": 1, "count": 1}, "count", "R3: the attribute 'count' is not in the event type"),
        ({"event_type": "sale", "price": 1, "titel": "x"}, "titel", "did you mean 'title'?"),
        ({"event_type": "sale", "price": 1, "price.x": 1}, "price.x", "is not in the event type 'sale'"),
        ({"event_type": "sale", "price": {"eur": 1}}, "price.eur", "is not in the event type 'sale'"),
    ],
)  # fmt: skip
def test_an_event_with_an_attribute_outside_its_view_breaks_r3(
    raw: dict[str, object], attribute: str, message: str
) -> None:
    error = _refused(raw)

    assert (error.rule, error.attribute) == ("R3", attribute)
    assert message in str(error)


def test_the_view_of_several_types_decides_for_an_event_of_several_types() -> None:
    raw = {"event_type": ["sale", "stock"], "price": 1, "tags": ["a", "b"], "count": [1, 2]}

    assert SCHEMA.event(raw).values["tags"] == (Value(Kind.STRING, "a"), Value(Kind.STRING, "b"))
    del raw["tags"]
    assert _refused(raw).attribute == "tags"


def test_an_attribute_that_is_missing_is_never_outside_the_view() -> None:
    assert "count" not in SCHEMA.event({"event_type": "sale", "price": 1, "count": None}).values


def test_equal_values_are_one_value_also_for_a_unique_attribute() -> None:
    event = SCHEMA.event({"event_type": ["sale", "sale"], "price": [1, 1.0, None, 1]})

    assert event.values["price"] == (Value(Kind.NUMBER, 1),)
    assert event.values["event_type"] == (Value(Kind.STRING, "sale"),)


def test_a_schema_with_one_event_type_lets_events_leave_it_out() -> None:
    schema = Schema.loads('attributes = { a = "number" }\nevent_types = { only = { a = "optional" } }')

    assert schema.event({"a": 1}).values["event_type"] == (Value(Kind.STRING, "only"),)
    assert _refused({"event_type": "other"}, schema).rule == "R1"


def test_a_schema_without_event_types_asks_for_declared_attributes_and_their_domains() -> None:
    schema = Schema.loads('attributes = { a = "number" }')

    assert schema.event({"a": [1, 2], "event_type": "whatever"}).values["a"]
    assert _refused({"b": 1}, schema).rule == "R3"
    assert str(_refused({"b": 1}, schema)) == "R3: the attribute 'b' is not in the schema"
    assert _refused({"a": "x"}, schema).rule == "R2"


# -- open schema ----------------------------------------------------------------------------------------------------


def test_an_open_schema_takes_any_attribute_and_any_kind() -> None:
    event = OPEN.event({"a": [1, "x", True, 1.0], "event_type": "unheard of"})

    assert [value.kind for value in event.values["a"]] == [Kind.NUMBER, Kind.STRING, Kind.BOOLEAN]


def test_an_open_schema_still_checks_what_it_declares() -> None:
    schema = Schema.loads('open = true\nattributes = { a = "number" }')

    assert schema.event({"b": "x"}).values["b"]
    assert _refused({"a": "x"}, schema).rule == "R2"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"a": math.nan}, "attribute 'a': expected a finite number, found nan"),
        ({"a": [1, [2]]}, "attribute 'a': expected a number, string, boolean or timestamp, found a list"),
        ({"a": [{"b": 1}, 2]}, "attribute 'a': expected records or plain values, found both"),
        ({"a": "\ud800"}, "attribute 'a': expected text, found the lone surrogate U+D800 at offset 0"),
        ({"\ud800": 1}, "attribute '\\ud800': expected text, found the lone surrogate U+D800 at offset 0"),
        ({5: 1}, "expected attribute names as keys, found 5"),
        ({"": 1}, "expected attribute names as keys, found ''"),
        ({"a": {"": 1}}, "expected attribute names as keys, found ''"),
        ({"a": {"b": 1}, "a.b": 2}, "the attribute 'a.b' is given twice, nested and with a dot"),
        ([("a", 1)], "expected an event as a mapping of attributes to values, found a list"),
        (None, "expected an event as a mapping of attributes to values, found nothing"),
        ("{}", "expected an event as a mapping of attributes to values, found '{}'"),
    ],
)
def test_what_is_no_event_is_refused_without_a_rule(raw: object, message: str) -> None:
    error = _refused(raw, OPEN)

    assert (str(error), error.rule) == (message, None)


@pytest.mark.parametrize("wrap", [dict, OrderedDict, UserDict, MappingProxyType])
def test_any_mapping_will_do(wrap: type) -> None:
    assert OPEN.event(wrap({"a": wrap({"b": 1})})).values == {"a.b": (Value(Kind.NUMBER, 1),)}


def test_missing_is_an_absent_key_a_none_or_an_empty_collection() -> None:
    assert OPEN.event({"a": None, "b": [], "c": [None], "d": {}, "e": {"f": None}, "g": (), "h": set()}).values == {}


def test_objects_may_be_nested_up_to_a_limit() -> None:
    nested: dict[str, object] = {"x": 1}
    for _ in range(MAX_DEPTH):
        nested = {"x": nested}

    assert len(OPEN.event(nested).values) == 1
    with pytest.raises(LimitError, match="expected at most 32 objects inside one another"):
        OPEN.event({"x": nested})


def test_an_event_has_a_limit_of_values() -> None:
    assert len(OPEN.event({"a": list(range(MAX_VALUES))}).values["a"]) == MAX_VALUES
    with pytest.raises(LimitError, match="expected at most 100,000 values in one event, found 100,001"):
        OPEN.event({"a": list(range(MAX_VALUES)), "b": 1})


def test_a_message_stays_short_whatever_was_published() -> None:
    long = "x" * 10**6
    for raw in (
        {long[:MAX_NAME]: 1, "event_type": "sale"},
        {"event_type": long},
        {"event_type": "sale", "price": long},
    ):
        assert len(str(_refused(raw))) < 300


# -- JSON -----------------------------------------------------------------------------------------------------------


def test_json_is_read_from_text_and_from_bytes() -> None:
    assert parse_json('{"a": [1, 2.5, "x", true, null]}') == {"a": [1, 2.5, "x", True, None]}
    assert parse_json('{"a": "é"}'.encode()) == {"a": "é"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an event as JSON: Expecting value at line 1, column 1"),
        ('{"a": 1,\n}', "at line 1, column 8|at line 2, column 1"),
        ("[1]", "expected an event as a JSON object, found a list"),
        ("null", "expected an event as a JSON object, found nothing"),
        (b'{"a": "\xff"}', "expected an event as JSON in UTF-8, found byte 0xff at offset 7"),
        ("[" * 100_000, "expected an event as JSON, found brackets nested too deep to read"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_place(text: str | bytes, message: str) -> None:
    with pytest.raises(EventError, match=message):
        parse_json(text)


def test_json_that_python_would_read_as_nan_is_refused_as_a_value() -> None:
    assert "expected a finite number, found nan" in str(_refused(parse_json('{"a": NaN}'), OPEN))
    assert "expected a finite number, found inf" in str(_refused(parse_json('{"a": 1e999}'), OPEN))


def test_a_number_in_json_that_python_would_not_read_is_refused_as_a_value() -> None:
    found = parse_json('{"a": ' + "9" * 5000 + ', "b": 1}')

    assert "expected a number of at most 4,000 digits" in str(_refused(found, OPEN))
    assert found["b"] == 1


# -- names ---------------------------------------------------------------------------------------------------------


def test_a_name_has_a_bounded_length_nested_or_not() -> None:
    assert OPEN.event({"a" * MAX_NAME: 1}).values
    assert OPEN.event({"a" * (MAX_NAME - 2): {"b": 1}}).values
    assert not OPEN.event({"a" * MAX_NAME: {}}).values
    for raw in ({"a" * (MAX_NAME + 1): 1}, {"a" * (MAX_NAME - 1): {"b": 1}}):
        with pytest.raises(LimitError, match="expected at most 4,096 characters in a name, found 4,097: 'a") as caught:
            OPEN.event(raw)
        assert (caught.value.limit, caught.value.found) == (MAX_NAME, MAX_NAME + 1)


def test_the_names_of_an_event_have_a_bounded_length_together() -> None:
    prefix = "a" * (MAX_NAME - 10)
    few, many = ({prefix: {f"{at:08}": 1 for at in range(count)}} for count in (2_000, 2_200))

    assert len(OPEN.event(few).values) == 2_000
    with pytest.raises(LimitError, match="characters in all names of one event") as caught:
        OPEN.event(many)
    assert caught.value.limit == MAX_NAMES < caught.value.found < MAX_NAMES + MAX_NAME


# -- the strategies -------------------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_read_event_has_values_of_its_domains_only_and_each_once(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    event = schema.event(data.draw(raw_events(schema)))

    for name, values in event.values.items():
        domain = schema.domain(name)
        assert domain is not None
        assert 0 < len(values) == len(set(values))
        assert all(domain.kind in (None, value.kind) for value in values)
