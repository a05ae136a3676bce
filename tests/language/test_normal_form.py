"""The normal form says what the expression says, as briefly as it can."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import LimitError
from tamis.language import MAX_CONJUNCTIONS, parse, parse_raw, print_subscription
from tamis.language.normal import MAX_PREDICATES, normalise
from tamis.matchers.naive import conjunction_holds
from tamis.model import (
    Attribute,
    Conjunction,
    Domain,
    Enumerated,
    Event,
    Hierarchical,
    Integer,
    Kind,
    Operator,
    Predicate,
    Schema,
    String,
    Timestamp,
    Untyped,
    Value,
)
from tests.strategies import Dice, expressions, make_domain, make_test, make_value, raw_events, schemas

OPEN = Schema(open=True)
CLOSED = Schema.loads("""
[domains.size]
type = "enumerated"
values = ["S", "M", "L", "one size"]
order = [["S", "M"], ["M", "L"]]

[attributes]
price = "number"
count = { type = "integer", min = 0, max = 9 }
whole = "integer"
name = "string"
flag = "boolean"
at = "timestamp"
until = "timestamp"
size = "size"
other_size = "size"

[event_types.antiques]
[event_types.furniture]
""")
NEVER = "event_type is missing and event_type is present"

MANY = tuple(f"n{at}" for at in range(200))
LARGE = Hierarchical.of({name: [f"n{(at - 1) // 2}"] if at else [] for at, name in enumerate(MANY)})
LARGE_ORDER = Enumerated(MANY, tuple((MANY[at], MANY[at + 3]) for at in range(150)))


def _holds(schema: Schema, conjunctions: list[Conjunction] | tuple[Conjunction, ...], event: Event) -> bool:
    return any(conjunction_holds(schema, one, event) for one in conjunctions)


# -- properties -----------------------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_normal_form_matches_what_the_expression_matches(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    text = data.draw(expressions(schema))
    raw, simplified = parse_raw(text, schema), parse(text, schema)

    for event in (schema.event(data.draw(raw_events(schema))) for _ in range(3)):
        assert _holds(schema, raw, event) == _holds(schema, simplified, event)


@st.composite
def _crowded(draw: st.DrawFn) -> tuple[Schema, str, Event]:
    """Many tests of one attribute, where merging is hardest, and an event about it."""
    dice = Dice(lambda sides: draw(st.integers(0, sides - 1)))
    hard: tuple[Domain, ...] = (String(), Untyped(), Integer(0, 5), Timestamp(), LARGE, LARGE_ORDER)
    domain = make_domain(dice) if dice.chance(3) else dice.one(hard)
    schema = Schema(attributes={name: Attribute(name, domain) for name in ("a", "b")})
    tests = [("not " if dice.chance(4) else "") + make_test(dice, schema, "a") for _ in range(1 + dice.roll(6))]
    raw = {"a": [make_value(dice, domain) for _ in range(1 + dice.roll(3))], "b": make_value(dice, domain)}
    return schema, " and ".join(tests), schema.event(raw)


@given(_crowded())
@settings(max_examples=400, deadline=None)
def test_many_tests_of_one_attribute_merge_without_changing_their_meaning(case: tuple[Schema, str, Event]) -> None:
    schema, text, event = case
    raw, simplified = parse_raw(text, schema), parse(text, schema)

    assert _holds(schema, raw, event) == _holds(schema, simplified, event)
    assert normalise(simplified, schema) == simplified
    assert sum(map(len, simplified)) <= sum(map(len, raw))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_normal_form_is_its_own_normal_form(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    simplified = parse(data.draw(expressions(schema)), schema)

    assert normalise(simplified, schema) == simplified


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_two_negations_cancel(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    text = data.draw(expressions(schema))

    assert parse(f"not (not ({text}))", schema) == parse(text, schema)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_an_event_never_satisfies_the_negation_of_a_test_on_its_single_value(data: st.DataObject) -> None:
    dice = Dice(lambda sides: data.draw(st.integers(0, sides - 1)))
    domain = make_domain(dice)
    schema = Schema(attributes={"a": Attribute("a", domain)})
    text = make_test(dice, schema, "a")
    event = schema.event({"a": make_value(dice, domain)})

    assert not (_holds(schema, parse(text, schema), event) and _holds(schema, parse(f"not ({text})", schema), event))


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_predicates_and_conjunctions_come_in_a_fixed_order(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    first, second = data.draw(expressions(schema)), data.draw(expressions(schema))

    assert parse(f"({first}) or ({second})", schema) == parse(f"({second}) or ({first})", schema)


# -- examples -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        # numbers
        ("price < 10 and price < 20", "price < 10"),
        ("price <= 10 and price < 10", "price < 10"),
        ("price >= 5 and price <= 5", "price = 5"),
        ("price >= 5 and price <= 5 and price != 5", NEVER),
        ("price > 5 and price != 3", "price > 5"),
        ("price > 5 and price != 7 and price != 6", "price > 5 and price not in (6, 7)"),
        ("price in (1, 2) and price in (2, 3)", "price = 2"),
        ("price != 1 and price not in (1, 2)", "price not in (1, 2)"),
        ("price > 9007199254740992 and price < 9007199254740993.0", NEVER),
        ("price > 0 and price < 1e-300", "price < 1e-300 and price > 0"),
        # whole numbers can be counted, and may end
        ("whole > 5 and whole < 7", "whole = 6"),
        ("whole > 5 and whole < 6", NEVER),
        ("whole > 5 and whole < 8 and whole != 6", "whole = 7"),
        ("whole > 5 and whole != 6", "whole >= 7"),
        ("whole > 5", "whole > 5"),
        ("count >= 0", "count is present"),
        ("count > 8", "count = 9"),
        ("count > 9", NEVER),
        ("count != 0", "count != 0"),
        ("count not in (0, 1, 2, 3, 4, 5, 6, 7, 8)", "count = 9"),
        ("count not in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)", NEVER),
        # instants can be counted too
        ("at >= '2024-05-31' and at < '2024-05-31T00:00:00.000000001Z'", "at = timestamp '2024-05-31T00:00:00Z'"),
        ("at > '9999-12-31T23:59:59.999999999Z'", NEVER),
        ("at >= '0001-01-01'", "at is present"),
        # strings
        ("name starts with 'a' and name starts with 'b'", NEVER),
        ("name starts with 'ab' and name starts with 'a'", "name starts with 'ab'"),
        ("name starts with 'ab' and name >= 'a' and name < 'b'", "name starts with 'ab'"),
        ("name starts with 'a' and name >= 'ab'", "name >= 'ab' and name starts with 'a'"),
        ("name starts with 'a' and name > 'ab' and name < 'ac'", "name < 'ac' and name > 'ab'"),
        ("name starts with 'ab' and name <= 'ab'", "name = 'ab'"),
        ("name starts with 'ab' and not name starts with 'a'", NEVER),
        ("name starts with 'a' and not name starts with 'b'", "name starts with 'a'"),
        ("name < 'ac' and not name starts with 'ab'", "name < 'ab'"),
        ("not name starts with 'a' and not name starts with 'ab'", "name not starts with 'a'"),
        ("not name starts with 'a' and name != 'ab'", "name not starts with 'a'"),
        ("name >= 'a' and name < 'c' and not name starts with 'a' and not name starts with 'b'", NEVER),
        ("name starts with ''", "name is present"),
        ("not name starts with ''", NEVER),
        ("name < ''", NEVER),
        ("name starts with '\ud7ff' and name < '\ue000'", "name starts with '\ud7ff'"),
        ("name starts with '\U0010ffff' and name >= '\U0010ffff'", "name starts with '\U0010ffff'"),
        # booleans
        ("flag != true", "flag = false"),
        ("flag in (true, false)", "flag is present"),
        ("flag = true and flag = false", NEVER),
        # names
        ("size != S and size != M", "size in ('L', 'one size')"),
        ("size < L", "size < 'L'"),
        ("size <= L and size != L", "size in ('S', 'M')"),
        ("size < M", "size = 'S'"),
        ("size < S", NEVER),
        ("not size < L and not size > S", "size = 'one size'"),
        ("size in (S, M, L, 'one size')", "size is present"),
        # sets
        ("name contains a and name contains a", "name contains 'a'"),
        ("name = 'a' and name contains 'a'", "name = 'a'"),
        ("name in ('a', 'b') and name contains 'a'", "name in ('a', 'b') and name contains 'a'"),
        ("name = 'a' and name not contains 'a'", NEVER),
        ("name contains 'a' and name is present", "name contains 'a'"),
        ("name is missing and name not contains 'a'", NEVER),
        # links
        ("until > @at and at < @until", "at < @until"),
        ("at <= @until and at != @until", "at < @until"),
        ("at <= @until and until <= @at", "at = @until"),
        ("at < @until and at > @until", NEVER),
        ("at < @until and at is missing", NEVER),
        ("at < @until and at is present", "at < @until"),
        ("not at < @until", "at >= @until"),
        ("not size < @other_size", "not other_size > @size"),
        ("not size < @other_size and size != @other_size", "not other_size >= @size"),
        # event types may be added later: what is said of them must not become a list of the others
        ("event_type != antiques", "event_type != 'antiques'"),
        ("event_type in (antiques, furniture)", "event_type in ('antiques', 'furniture')"),
        ("event_type != antiques and event_type != furniture", "event_type not in ('antiques', 'furniture')"),
        # or
        ("price = 1 or price = 1", "price = 1"),
        ("price = 1 or (price = 1 and count = 2)", "price = 1"),
        ("price < 1 and price > 1 or count = 2", "count = 2"),
        ("price = 1 and count = 2 or count = 2 and price = 1.0", "count = 2 and price = 1"),
    ],
)  # fmt: skip
def test_a_closed_schema_simplifies(text: str, normal: str) -> None:
    assert print_subscription(parse(text, CLOSED)) == normal


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("x = 1 and x = 'a'", NEVER),
        ("x in (true, false)", "x in (false, true)"),
        ("x != true", "x = false"),
        ("x starts with ''", "x >= ''"),
        ("x starts with '' and x != 'a'", "x != 'a'"),
        ("x >= timestamp '0001-01-01'", "x >= timestamp '0001-01-01T00:00:00Z'"),
        ("a <= @b and a >= @b", "a <= @b and a >= @b"),  # not `=`, which booleans would satisfy
        ("a <= @b and a != @b", "a < @b"),
    ],
)
def test_an_open_schema_keeps_what_is_said_of_the_kind(text: str, normal: str) -> None:
    assert print_subscription(parse(text, OPEN)) == normal


def test_many_names_of_a_large_domain_are_not_written_out() -> None:
    schema = Schema(attributes={"c": Attribute("c", LARGE)})

    assert print_subscription(parse("c <= n1 and c <= n0 and c != n5 and c != n3", schema)) == "c != 'n3' and c <= 'n1'"
    assert print_subscription(parse("not c <= n5 and not c <= n2", schema)) == "not c <= 'n2'"


def test_a_constraint_on_a_hierarchy_of_100_000_names_lists_none_of_them() -> None:
    tree = {f"n{at}": [f"n{(at - 1) // 10}"] if at else [] for at in range(100_000)}
    schema = Schema(attributes={"c": Attribute("c", Hierarchical.of(tree))})

    assert print_subscription(parse("c <= n1 and c <= n0", schema)) == "c <= 'n1'"
    assert print_subscription(parse("c != n1 and not c <= n2", schema)) == "c != 'n1' and not c <= 'n2'"


def test_an_expression_that_contradicts_itself_has_no_conjunctions() -> None:
    assert parse("price < 1 and price > 2", CLOSED) == ()


def test_a_conjunction_is_never_empty() -> None:
    assert parse("count >= 0", CLOSED) == ((Predicate("count", Operator.PRESENT),),)


def test_the_operand_of_a_list_is_sorted() -> None:
    ((predicate,),) = parse("price in (3, 1, 2)", CLOSED)

    assert predicate.operand == tuple(Value(Kind.NUMBER, n) for n in (1, 2, 3))


# -- bounds ---------------------------------------------------------------------------------------------------------


def _product(factors: int, alternatives: int = 2) -> str:
    return " and ".join("(" + " or ".join(f"a{f}_{n} = 1" for n in range(alternatives)) + ")" for f in range(factors))


def test_the_bound_itself_is_allowed() -> None:
    assert len(parse(_product(8), OPEN)) == MAX_CONJUNCTIONS


def test_past_the_bound_the_error_says_how_many_and_why() -> None:
    with pytest.raises(LimitError, match="at most 256, found 512 conjunctions once every 'or'") as caught:
        parse(_product(9), OPEN)

    assert (caught.value.limit, caught.value.found) == (256, 512)


def test_a_short_expression_that_stands_for_astronomically_many_is_refused_at_once() -> None:
    with pytest.raises(LimitError, match=r"found some 10\^\d+ conjunctions"):
        parse(_product(1000, 3), OPEN)


def test_negations_count_as_the_disjunctions_they_become() -> None:
    with pytest.raises(LimitError, match="found 512 conjunctions"):
        parse(" and ".join(f"not (a{n} = 1 and b{n} = 1)" for n in range(9)), OPEN)


def test_many_conjunctions_of_many_predicates_are_refused_before_they_are_made() -> None:
    with pytest.raises(LimitError, match="found 258,048 predicates") as caught:
        parse(_product(8) + " and " + " and ".join(f"b{n} = 1" for n in range(1000)), OPEN)

    assert caught.value.limit == MAX_PREDICATES


def test_thousands_of_tests_in_one_conjunction_are_fine() -> None:
    ((first, *rest),) = parse(" and ".join(f"x != {n}" for n in range(4000)), OPEN)

    assert first.operator is Operator.NOT_IN
    assert len(first.constants) == 4000
    assert not rest
