"""A predicate's region is the set of values that `compare` lets pass."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language import parse_raw
from tamis.model import (
    COMPARISONS,
    COMPLEMENT,
    MIRROR,
    OPERATORS,
    TOTAL,
    Finite,
    Number,
    Operator,
    Predicate,
    Reference,
    Schema,
    Value,
    compare,
)
from tamis.model.operators import TRUTHS, Shape
from tamis.model.regions import (
    Interval,
    admitted,
    has_truth,
    names_of,
    outside,
    place,
    point,
    prefix_range,
    region,
    span,
)
from tests.strategies import expressions, raw_events, schemas

ODD_LETTERS = "a\ud7ff\ue000\U0010ffff"


@given(st.data())
def test_a_value_lies_in_the_region_if_the_comparison_holds(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    text = data.draw(expressions(schema))
    event = schema.event(data.draw(raw_events(schema)))
    for predicate in (one for conjunction in parse_raw(text, schema) for one in conjunction):
        for value in event.values.get(predicate.attribute, ()):
            check(schema, predicate, value)


def check(schema: Schema, predicate: Predicate, value: Value) -> None:
    """A finite domain's names, or a region of intervals, or a truth: each says what `compare` says."""
    operand, domain = predicate.operand, schema.domain(predicate.attribute)
    assert domain is not None
    if predicate.operator not in COMPARISONS or operand is None or isinstance(operand, Reference):
        return
    holds = compare(domain, predicate.operator, value, operand)
    if isinstance(domain, Finite):
        assert names_of(domain, predicate).has(value.data) is holds
        return
    found = region(domain, predicate)
    assert (found is None) is has_truth(predicate)
    if found is not None:
        inside = value.kind is found.kind and any(one.has(value.data) for one in found.intervals())
        assert inside is holds
        between = [(one.end, two.start) for one, two in pairwise(found.intervals())]
        assert all(end is not None and start is not None and end < start for end, start in between)


@given(st.text(ODD_LETTERS, max_size=3), st.text(ODD_LETTERS, max_size=5))
def test_strings_with_a_prefix_lie_between_it_and_what_comes_past_it(prefix: str, text: str) -> None:
    assert prefix_range(prefix).has(text) is text.startswith(prefix)


@given(st.lists(st.integers(0, 9), min_size=1, unique=True), st.integers(-1, 10))
def test_what_is_outside_is_not_inside(constants: list[int], number: int) -> None:
    points = [point(constant) for constant in sorted(constants)]

    assert any(one.has(number) for one in outside(points)) is (number not in constants)


@given(st.sets(st.integers(0, 9)), st.integers(-1, 10), st.sampled_from(["<", "<=", ">", ">=", "="]))
def test_the_span_of_an_interval_has_the_places_of_its_values(constants: set[int], number: int, operator: str) -> None:
    ordered = sorted(constants | {5})
    ends = region(Number(), Predicate("n", Operator(operator), number_value(5)))
    assert ends is not None
    (interval,) = ends.inside

    low, high = span(interval, lambda data: place(ordered, data), 0, 2 * len(ordered))

    assert (low <= place(ordered, number) <= high) is interval.has(number)


def number_value(number: int) -> Value:
    (((predicate,),)) = parse_raw(f"n = {number}", Schema(open=True))
    assert isinstance(predicate.operand, Value)
    return predicate.operand


# -- the table ----------------------------------------------------------------------------------------------------


def test_every_operator_has_its_row() -> None:
    assert set(OPERATORS) == set(Operator)


def test_nine_operators_are_about_the_set_of_values_or_the_event() -> None:
    o = Operator

    # Another one is for `language/normal.py`, `compile/constraints.py` and `parts/front.py` to know.
    assert frozenset(Operator) - COMPARISONS == {
        *(o.CONTAINS, o.LACKS, o.FOLDED_CONTAINS, o.FOLDED_LACKS, o.PRESENT, o.MISSING, o.AT_LEAST),
        *(o.ANY, o.NOT_ANY),
    }


def test_not_twice_is_nothing() -> None:
    assert all(COMPLEMENT[COMPLEMENT[operator]] is operator for operator in Operator)
    assert all(OPERATORS[COMPLEMENT[one]].shape is row.shape for one, row in OPERATORS.items())
    turned = [one for one, row in OPERATORS.items() if OPERATORS[COMPLEMENT[one]].negated is not row.negated]
    assert set(Operator) - set(turned) == {Operator.AT_LEAST}  # `not` turns its members


def test_mirroring_twice_is_nothing_and_operators_without_relations_have_no_mirror() -> None:
    assert all(MIRROR[MIRROR[operator]] is operator for operator in MIRROR)
    assert {operator for operator, row in OPERATORS.items() if row.relations} == set(MIRROR)


def test_under_a_total_order_the_negated_comparisons_are_plain_ones() -> None:
    o = Operator
    assert TOTAL == {o.NOT_LT: o.GE, o.NOT_LE: o.GT, o.NOT_GT: o.LE, o.NOT_GE: o.LT}


@pytest.mark.parametrize("operator", list(Operator))
def test_what_no_interval_tells_is_a_truth_or_presence(operator: Operator) -> None:
    row = OPERATORS[operator]

    untold = row.shape in TRUTHS or row.shape is Shape.PRESENCE or row.folded
    assert (admitted(operator, ["a"]) is None) is untold


@pytest.mark.parametrize("shape", list(Shape))
def test_sql_says_only_what_a_region_or_presence_tells(shape: Shape) -> None:
    said = [operator for operator, row in OPERATORS.items() if row.shape is shape and row.sql is not None]
    assert not any(OPERATORS[operator].folded for operator in said)

    assert not said or shape not in TRUTHS


def test_an_interval_knows_the_values_at_its_ends() -> None:
    assert point(3).bounds == (3,)
    assert prefix_range("ab").bounds == ("ab", "ac")
    assert Interval(None, None).bounds == ()
