"""What the names and words of an expression mean under a schema."""

from __future__ import annotations

import pytest

from tamis.errors import LanguageError
from tamis.language import parse_raw
from tamis.model import Kind, Operator, Predicate, Reference, Schema, Value

OPEN = Schema(open=True)
CLOSED = Schema.loads("""
[domains.size]
type = "enumerated"
values = ["small", "large", "price"]
order = [["small", "large"]]

[attributes]
price = "number"
reserve = "number"
count = { type = "integer", min = 1 }
name = "string"
size = "size"
other_size = "size"
hue = { type = "enumerated", values = ["red", "blue"] }
closes = "timestamp"
anything = "untyped"

[event_types.antiques]
price = "optional"
""")


def _one(text: str, schema: Schema = CLOSED) -> Predicate:
    ((predicate,),) = parse_raw(text, schema)
    return predicate


def _text(raw: str) -> Value:
    return Value(Kind.STRING, raw)


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("size = small", _text("small")),  # the domain has it
        ("size = price", _text("price")),  # … even where an attribute is called so
        ("size = @other_size", Reference("other_size")),
        ("size = other_size", Reference("other_size")),  # the domain lacks it, the schema has it
        ("name = price", _text("price")),  # a string domain has every word
        ('name = "hue"', Reference("hue")),
        ("name contains hue", _text("hue")),
        ("name starts with hue", _text("hue")),
        ("price > reserve", Reference("reserve")),
        ("price > @reserve", Reference("reserve")),
        ("closes > '2024-05-31'", Value(Kind.TIMESTAMP, 1717113600 * 10**9)),
        ("anything = timestamp '2024-05-31'", Value(Kind.TIMESTAMP, 1717113600 * 10**9)),
        ("anything = '2024-05-31'", _text("2024-05-31")),
        ("count = 3.0", Value(Kind.NUMBER, 3)),
        ("event_type = antiques", _text("antiques")),
    ],
)
def test_what_stands_right_of_an_operator_is_decided_by_the_left(text: str, operand: Value | Reference) -> None:
    assert _one(text).operand == operand


def test_bare_words_in_a_list_are_constants_in_an_open_schema_too() -> None:
    assert _one("a in (b, 'c')", OPEN).operand == (_text("b"), _text("c"))


def test_a_list_has_each_constant_once() -> None:
    assert _one("price in (1, 2, 1.0)").operand == (Value(Kind.NUMBER, 1), Value(Kind.NUMBER, 2))


def test_an_integer_constant_is_exact_and_one_with_a_point_is_a_double() -> None:
    assert _one("price = 9007199254740993").operand == Value(Kind.NUMBER, 2**53 + 1)
    assert _one("price = 9007199254740993.0").operand == Value(Kind.NUMBER, 2.0**53)


def test_negation_is_the_complement_of_the_operator() -> None:
    assert _one("not size < small").operator is Operator.NOT_LT
    assert _one("not not size < small").operator is Operator.LT


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("prize = 1", 1, "no attribute is called 'prize'; did you mean 'price'?"),
        ("price = 1 and Reserve = 2", 15, "no attribute is called 'Reserve'; did you mean 'reserve'?"),
        ("zzz = 1", 1, "no attribute is called 'zzz'"),
        ("price = cheap", 9, "attribute 'price': expected a number, found 'cheap'"),
        ("price = reserv", 9, "found 'reserv'; did you mean 'reserve'?"),
        ("size = smal", 8, "found 'smal'; did you mean 'small'?"),
        ("size = SMALL", 8, "did you mean 'small'?"),
        ("size = 5", 8, "expected one of 'small', 'large', 'price', found 5"),
        ("count = 0", 9, "expected an integer from 1 on, found 0"),
        ("count = 1.5", 9, "expected an integer from 1 on, found 1.5"),
        ("name = 5", 8, "expected a string, found 5"),
        ("name = true", 8, "expected a string, found true"),
        ("price between 1 and 'x'", 21, "expected a number, found 'x'"),
        ("price in (1, 'x')", 14, "expected a number, found 'x'"),
        ("price in (1, @reserve)", 14, "expected a constant in the list, found an attribute"),
        ("price > @nowhere", 9, "no attribute is called 'nowhere'"),
        ("price > @name", 9, "'price' is number and 'name' is string: they never compare"),
        ("name < @size", 8, "'name' and 'size' have no order in common"),
        ("hue < red", 7, "'<' needs an order, and the enumerated attribute 'hue' has none"),
        ("event_type < antiques", 14, "'<' needs an order"),
        ("event_type = antique", 14, "did you mean 'antiques'?"),
        ("anything < true", 12, "'<' needs an order, and booleans have none"),
        ("anything starts with 5", 22, "'starts with' needs a string, found 5"),
        ("size starts with 's'", 1, "'starts with' needs a string attribute, and 'size' is enumerated"),
        ("anything = word", 12, "write 'word' for the text or @word for the attribute"),
        ("anything in (1, true)", 17, "expected a number as the first of the list is, found a boolean"),
        ("closes = 'soon'", 10, "expected a timestamp such as '2024-05-31T12:00:00Z', found 'soon'"),
        ("closes = '9999-12-31T23:59:59-12:00'", 10, "expected a timestamp in the years 1 to 9999"),
        ("price = timestamp '2024-05-31'", 19, "expected a number, found a timestamp"),
        ("price = 1e999", 9, "expected a number that a double can hold, found 1e999"),
        ("price = @price", 9, "compared with itself"),
    ],
)
def test_a_name_or_constant_that_does_not_fit_is_an_error_with_its_column(text: str, column: int, part: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_raw(text, CLOSED)

    assert caught.value.column == column
    assert part in str(caught.value)


def test_a_message_suggests_one_name_at_most() -> None:
    with pytest.raises(LanguageError) as caught:
        parse_raw("size = pric", CLOSED)

    assert str(caught.value).count("did you mean") == 1


def test_a_message_stays_short_whatever_was_written() -> None:
    long = "x" * 60_000
    for text in (f"{long} = 1", f"price = {long}", f"price = '{long}'", f"anything = {long}", f"price > @{long}"):
        with pytest.raises(LanguageError) as caught:
            parse_raw(text, CLOSED)

        assert len(str(caught.value)) < 250
