"""The values of a domain and their order."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pytest

from tamis.errors import SchemaError
from tamis.model import (
    Boolean,
    Domain,
    Enumerated,
    Hierarchical,
    Integer,
    Kind,
    Number,
    Operator,
    String,
    Timestamp,
    Untyped,
    Value,
    compare,
)
from tamis.model.domains import hint
from tamis.model.values import ValueRefused, string

FURNITURE = Hierarchical.of(
    {
        "furniture": [],
        "dining room": ["furniture"],
        "outdoor": ["furniture"],
        "table": ["dining room"],
        "garden table": ["table", "outdoor"],
    }
)


def _less(domain: Domain, lower: object, upper: object) -> bool:
    return domain.less(domain.value(lower), domain.value(upper))


@pytest.mark.parametrize(
    ("domain", "raw", "message"),
    [
        (Integer(), 1.5, "expected an integer, found 1.5"),
        (Integer(), "1", "expected an integer, found '1'"),
        (Integer(), True, "expected an integer, found true"),
        (Integer(0, 9), 10, "expected an integer from 0 to 9, found 10"),
        (Integer(0, None), -1, "expected an integer from 0 on, found -1"),
        (Integer(None, 9), 10.0, "expected an integer up to 9, found 10.0"),
        (Number(), "1", "expected a number, found '1'"),
        (Number(), False, "expected a number, found false"),
        (String(), 1, "expected a string, found 1"),
        (Boolean(), 1, "expected a boolean, found 1"),
        (Boolean(), "true", "expected a boolean, found 'true'"),
        (Timestamp(), 5, "expected a timestamp, found 5"),
        (Timestamp(), "later", "expected a timestamp such as '2024-05-31T12:00:00Z', found 'later'"),
        (Enumerated(("red", "green")), "gren", "expected one of 'red', 'green', found 'gren'; did you mean 'green'?"),
        (Enumerated(("red", "green")), 5, "expected one of 'red', 'green', found 5"),
        (Enumerated(("1", "2")), 1, "expected one of '1', '2', found 1; did you mean '1'?"),
        (FURNITURE, "Table", "found 'Table'; did you mean 'table'?"),
    ],
)
def test_a_value_outside_its_domain_is_refused_with_what_was_expected(
    domain: Domain, raw: object, message: str
) -> None:
    with pytest.raises(ValueRefused) as caught:
        domain.value(raw)

    assert message in str(caught.value)


def test_a_whole_double_is_an_integer_of_the_same_value() -> None:
    value = Integer().value(2.0**60)

    assert value == Value(Kind.NUMBER, 2**60)
    assert type(value.data) is int


def test_a_long_list_of_names_is_described_by_its_first() -> None:
    with pytest.raises(ValueRefused, match="expected one of the 1,000 names 'n0', 'n1', 'n2', …, found 'zebra'"):
        Enumerated(tuple(f"n{at}" for at in range(1000))).value("zebra")


def test_strings_are_ordered_by_code_point() -> None:
    names = ["", "B", "a", "a\x00", "ab", "é", "\ud7ff", "\ue000", "\U0001f600"]

    assert sorted(names) == names
    assert all(_less(String(), low, high) for low, high in pairwise(names))


def test_booleans_have_no_order() -> None:
    assert not Boolean().ordered
    assert not _less(Boolean(), False, True)
    assert not _less(Untyped(), False, True)


def test_untyped_values_are_ordered_within_their_kind_only() -> None:
    assert _less(Untyped(), 1, 2)
    assert _less(Untyped(), "1", "2")
    assert not _less(Untyped(), 1, "2")


@pytest.mark.parametrize("operator", [one for one in Operator if one.value not in ("in", "not in")])
def test_across_kinds_every_comparison_is_false(operator: Operator) -> None:
    assert not compare(Untyped(), operator, Value(Kind.NUMBER, 1), Value(Kind.STRING, "1"))


@pytest.mark.parametrize("operator", [Operator.IN, Operator.NOT_IN])
def test_across_kinds_no_list_has_a_value_or_lacks_it(operator: Operator) -> None:
    assert not compare(Untyped(), operator, Value(Kind.NUMBER, 1), (Value(Kind.STRING, "1"),))


def test_an_integer_range_upside_down_is_refused() -> None:
    with pytest.raises(SchemaError, match="expected min <= max for an integer domain, found 5 > 4"):
        Integer(5, 4)


def test_an_integer_range_past_the_longest_number_is_refused() -> None:
    with pytest.raises(SchemaError, match="expected bounds of at most 4,000 digits, found an integer of 16,610 bits"):
        Integer(0, 10**5000)


# -- partial orders -------------------------------------------------------------------------------------------------


def test_an_enumerated_order_is_the_closure_of_its_pairs() -> None:
    period = Enumerated(("XVIII", "XVI", "XVII", "modern"), (("XVI", "XVII"), ("XVII", "XVIII")))

    assert _less(period, "XVI", "XVIII")
    assert not _less(period, "XVIII", "XVI")
    assert not _less(period, "modern", "XVI")
    assert not _less(period, "XVI", "modern")


def test_an_enumerated_domain_without_pairs_has_no_order() -> None:
    assert not Enumerated(("a", "b")).ordered
    assert not _less(Enumerated(("a", "b")), "a", "b")


def test_a_value_is_below_every_one_of_its_parents_and_theirs() -> None:
    above = {name for name in FURNITURE.names if _less(FURNITURE, "garden table", name)}

    assert above == {"table", "outdoor", "dining room", "furniture"}
    assert FURNITURE.order.below("dining room") == {"table", "garden table"}
    assert not _less(FURNITURE, "table", "outdoor")
    assert not _less(FURNITURE, "table", "table")


def test_a_name_the_domain_lacks_is_below_nothing() -> None:
    assert not FURNITURE.less(string("sofa"), string("furniture"))


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({}, "expected at least one value, found none"),
        ({"a": ["b"]}, "the value 'a' has the parent 'b', which is no value"),
        ({"table": [], "chair": ["tabel"]}, "did you mean 'table'?"),
        ({"a": ["a"]}, "the hierarchy goes in a circle: 'a' < 'a'"),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, "the hierarchy goes in a circle: 'a' < 'b' < 'c' < 'a'"),
        ({"a": [], "b": ["a", "a"]}, "the value 'b' names the same parent twice"),
        ({"\ud800": []}, "lone surrogate"),
        ({5: []}, "expected names as values, found 5"),
    ],
)
def test_a_hierarchy_that_cannot_be_is_refused(parents: dict[str, list[str]], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Hierarchical.of(parents)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("names", "pairs", "message"),
    [
        ((), (), "expected at least one value, found none"),
        (("a", "b", "a"), (), "the value 'a' stands twice"),
        (("a", "b"), (("a", "c"),), "the order names 'c', which is no value"),
        (("a", "b"), (("a", "b"), ("b", "a")), "the order goes in a circle: 'a' < 'b' < 'a'"),
    ],
)
def test_an_enumeration_that_cannot_be_is_refused(
    names: tuple[str, ...], pairs: tuple[tuple[str, str], ...], message: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        Enumerated(names, pairs)

    assert message in str(caught.value)


def test_a_name_twice_in_a_hierarchy_is_refused() -> None:
    with pytest.raises(SchemaError, match="the value 'a' stands twice"):
        Hierarchical((("a", ()), ("a", ())))


def test_a_long_circle_is_shown_by_its_ends() -> None:
    with pytest.raises(SchemaError) as caught:
        Hierarchical.of({f"n{at}": [f"n{(at + 1) % 50_000}"] for at in range(50_000)})

    assert str(caught.value) == (
        "the hierarchy goes in a circle: 'n0' < 'n1' < 'n2' < 'n3' < … 49,994 more … < 'n49998' < 'n49999' < 'n0'"
    )


def test_a_hierarchy_of_depth_1_000_needs_no_recursion() -> None:
    chain = Hierarchical.of({f"n{at}": [f"n{at - 1}"] if at else [] for at in range(1000)})

    assert _less(chain, "n999", "n0")
    assert not _less(chain, "n0", "n999")
    assert len(chain.order.below("n0")) == 999


def test_a_hierarchy_of_100_000_names_answers_without_its_closure() -> None:
    tree = Hierarchical.of({f"n{at}": [f"n{(at - 1) // 2}"] if at else [] for at in range(100_000)})

    assert _less(tree, "n99999", "n0")
    assert len(tree.order.above("n99999")) == 16


def test_what_is_kept_of_the_closure_is_bounded() -> None:
    chain = Hierarchical.of({f"n{at}": [f"n{at - 1}"] if at else [] for at in range(100_000)})
    for at in range(100):
        assert _less(chain, f"n{at + 1}", f"n{at}")

    kept = chain.order.above.cache_info()
    assert kept.currsize == kept.maxsize == 19  # times 100,000 names at most


def test_a_ladder_of_diamonds_has_no_blow_up() -> None:
    rungs = {"0a": [], "0b": []} | {
        f"{at}{side}": [f"{at - 1}a", f"{at - 1}b"] for at in range(1, 500) for side in "ab"
    }

    assert _less(Hierarchical.of(rungs), "499a", "0b")


def test_a_domain_can_be_pickled_after_use() -> None:
    assert _less(FURNITURE, "table", "furniture")

    copy = pickle.loads(pickle.dumps(FURNITURE))  # noqa: S301  # our own bytes
    assert copy == FURNITURE
    assert _less(copy, "garden table", "outdoor")


# -- hints ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("prise", ("price", "reserve"), "; did you mean 'price'?"),
        ("PRICE", ("prices", "price"), "; did you mean 'price'?"),  # the same but for its case comes first
        ("zebra", ("price",), ""),
        ("", ("price",), ""),
        ("price", (), ""),
        ("x" * 1000, ("x" * 999,), ""),
    ],
)
def test_the_nearest_name_is_suggested_when_one_is_close(name: str, known: tuple[str, ...], expected: str) -> None:
    assert hint(name, known) == expected


def test_among_very_many_names_only_those_with_the_same_first_letter_are_looked_at() -> None:
    names = tuple(f"{letter}name{at}" for at in range(5000) for letter in "abcdefgh")

    assert hint("Aname7x", names) == "; did you mean 'aname7'?"
    assert hint("zname7", names) == ""
