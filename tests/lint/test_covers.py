"""Never, equal and covered, against every event of a small universe; the oracle says which match.

What is said of conjunctions of sets of values must be exact, and of all others sound.
"""

from __future__ import annotations

import os
import random
from itertools import chain, combinations, product

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings

from tamis.language import parse
from tamis.lint.reading import read_and_relate
from tamis.lint.relations import Relations
from tamis.matchers.naive import conjunction_holds
from tamis.model import Boolean, Enumerated, Event, Hierarchical, Integer, Number, Schema, String, Untyped, Value
from tamis.model.schema import Attribute, Use
from tamis.model.values import value_of
from tests.strategies import Dice, dice, make_event, make_expression, make_schema

EXAMPLES = int(os.environ.get("TAMIS_EXAMPLES", "25"))

KINDS = Hierarchical.of({"thing": (), "table": ("thing",), "desk": ("table",), "chair": ("thing",)})
AGES = Enumerated(("old", "mid", "new", "odd"), (("old", "mid"), ("mid", "new")))
DOMAINS = {
    "integer": (Integer(0, 3), (0, 1, 2, 3), ("0", "1", "2", "3")),
    "number": (Number(), (-1, 0, 0.5, 1, 2), ("0", "1")),
    "string": (String(), ("0", "a", "ab", "b", "c"), ("'a'", "'b'")),
    "boolean": (Boolean(), (False, True), ("true", "false")),
    "hierarchical": (KINDS, KINDS.names, tuple(f"'{name}'" for name in KINDS.names)),
    "enumerated": (AGES, AGES.names, tuple(f"'{name}'" for name in AGES.names)),
    "untyped": (Untyped(), (-1, 0, 1, "0", "a", "b", True, False), ("0", "'a'", "true")),
}
"""A domain, a value of it on, before, between and after its constants, and these."""
QUIETLY = settings(max_examples=EXAMPLES, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))


class Universe:
    """Two attributes, and all events that have some of their values."""

    def __init__(self, roll: Dice) -> None:
        names = [roll.one(list(DOMAINS)), roll.one(list(DOMAINS)[:-1])]
        self.several = not roll.chance(3)
        attributes = {name: Attribute(name, DOMAINS[kind][0]) for name, kind in zip("ab", names, strict=True)}
        use = Use(mandatory=False, multiple=self.several)
        self.schema = Schema(attributes=attributes, event_types={"t": {"a": use, "b": use}})
        self.constants = {name: DOMAINS[kind][2] for name, kind in zip("ab", names, strict=True)}
        sets = [self._sets([value_of(raw) for raw in DOMAINS[kind][1]]) for kind in names]
        self.events = [
            Event({name: values for name, values in (("a", a), ("b", b)) if values}) for a, b in product(*sets)
        ]

    def _sets(self, values: list[Value]) -> list[tuple[Value, ...]]:
        most = 3 if self.several else 1  # two that a conjunction asks for, and one that it does not forbid
        return list(chain.from_iterable(combinations(values, size) for size in range(most + 1)))

    def test(self, roll: Dice, name: str) -> str:
        constants, domain = self.constants[name], self.schema.attributes[name].domain
        one, other = roll.one(constants), roll.one(constants)
        other = one if isinstance(domain, Untyped) else other  # a list is of one kind
        tests = [
            f"{name} = {one}",
            f"{name} != {one}",
            f"{name} in ({one}, {other})",
            f"{name} not in ({one}, {other})",
        ]
        tests += [f"{name} contains {one}", f"not {name} contains {one}", f"{name} is missing", f"{name} is present"]
        if domain.ordered and one not in ("true", "false"):
            tests += [f"{name} {operator} {one}" for operator in ("<", "<=", ">", ">=")] * 2
            tests += [f"not {name} < {one}"]
        if isinstance(domain, String):
            tests += [f"{name} starts with 'a'", f"not {name} starts with 'a'"]
        return roll.one(tests)

    def conjunction(self, roll: Dice) -> str:
        tests = [self.test(roll, name) for name in "ab" for _ in range(roll.roll(3))]
        return " and ".join(tests or [self.test(roll, "a")])

    def matches(self, text: str) -> npt.NDArray[np.bool_]:
        conjunctions = parse(text, self.schema)
        held = [any(conjunction_holds(self.schema, one, event) for one in conjunctions) for event in self.events]
        return np.array(held, np.bool_)


def related(texts: list[str], schema: Schema) -> Relations:
    return read_and_relate(pa.array(texts, pa.large_string()), schema).relations


def within(inner: npt.NDArray[np.bool_], outer: npt.NDArray[np.bool_]) -> bool:
    return not (inner & ~outer).any()


@QUIETLY
@given(dice())
def test_of_conjunctions_of_sets_of_values_all_that_is_so_is_said_and_nothing_else(roll: Dice) -> None:
    universe = Universe(roll)
    texts = [universe.conjunction(roll) for _ in range(8)]
    held = [universe.matches(text) for text in texts]

    found = related(texts, universe.schema)

    assert set(found.never) == {at for at, one in enumerate(held) if not one.any()}
    assert found.undecided == []
    alive = [at for at in range(len(texts)) if at not in found.never]
    for at in alive:
        first = next(other for other in alive if (held[other] == held[at]).all())
        assert found.equal.get(at, at) == first, (texts[at], texts[first])
    distinct = [at for at in alive if at not in found.equal]
    for at in distinct:
        coverers = [one for one in distinct if one != at and within(held[at], held[one])]
        nearest = [one for one in coverers if not any(one != two and within(held[two], held[one]) for two in coverers)]
        if coverers:
            assert found.covered.get(at) in nearest, (texts[at], [texts[one] for one in nearest])
        else:
            assert at not in found.covered, (texts[at], texts[found.covered[at]])


@QUIETLY
@given(dice())
def test_with_or_whatever_is_said_is_so_and_conjunction_by_conjunction_it_is_found(roll: Dice) -> None:
    universe = Universe(roll)
    texts = [" or ".join(universe.conjunction(roll) for _ in range(1 + roll.roll(3))) for _ in range(7)]
    held = [universe.matches(text) for text in texts]
    parts = [
        [np.array([conjunction_holds(universe.schema, one, event) for event in universe.events]) for one in found]
        for found in (parse(text, universe.schema) for text in texts)
    ]

    found = related(texts, universe.schema)

    assert set(found.never) == {at for at, one in enumerate(held) if not one.any()}
    for at, other in found.equal.items():
        assert (held[at] == held[other]).all(), (texts[at], texts[other])
    for at, other in found.covered.items():
        assert within(held[at], held[other]), (texts[at], texts[other])
    for at, other in product(range(len(texts)), repeat=2):
        by_parts = all(any(within(one, two) for two in parts[other]) for one in parts[at] if one.any())
        if at != other and by_parts and at not in found.never:
            assert at in found.covered or at in found.equal or other in found.equal, (texts[at], texts[other])


@QUIETLY
@given(dice())
def test_with_every_operator_whatever_is_said_is_so(roll: Dice) -> None:
    schema = make_schema(roll)
    texts = [make_expression(roll, schema) for _ in range(6)]
    texts += [f"({texts[0]}) and ({texts[1]})", f"({texts[2]}) or ({texts[3]})", texts[4]]
    events = [schema.event(make_event(roll, schema)) for _ in range(20)]
    held = [
        np.array([any(conjunction_holds(schema, one, event) for one in parse(text, schema)) for event in events])
        for text in texts
    ]

    found = related(texts, schema)

    assert {at for at, text in enumerate(texts) if not parse(text, schema)} <= set(found.never)
    for at in found.never:
        assert not held[at].any(), texts[at]
    for at, other in found.equal.items():
        assert (held[at] == held[other]).all(), (texts[at], texts[other])
    for at, other in found.covered.items():
        assert within(held[at], held[other]), (texts[at], texts[other])


OPEN = Schema(open=True)
WHOLE = Schema.loads('attributes = { n = { type = "integer", min = 0, max = 9 }, s = "string" }')


@pytest.mark.parametrize(
    ("one", "other", "schema"),
    [
        ("n > 5", "n >= 6", WHOLE),
        ("n <= 9", "n is present", WHOLE),
        ("x = 1", "x contains 1", OPEN),
        ("s > 'a'", "s >= 'a\0'", WHOLE),
        ("x >= 0.1", "x > 0.09999999999999999", OPEN),
        ("x > 9007199254740992", "x >= 9007199254740993", OPEN),
        ("s includes 'x' and s > 'a'", "s > 'a' and s like '%x%'", WHOLE),
        ("x = 1 or y = 2 or x = 1 and z = 3", "y = 2 or x = 1", OPEN),
        ("a = 1 or a = 1 and b = 2", "a = 1", OPEN),
    ],
)
def test_what_says_the_same_is_equal_however_it_is_said(one: str, other: str, schema: Schema) -> None:
    assert related([one, other], schema).equal == {1: 0}


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("a = 1 and b = 2", "a = 1"),
        ("a = 1", "a = 1 or b = 2"),
        ("s = 'A' ignoring case", "s in ('a', 'b') ignoring case"),
        ("bid > @reserve and bid > 5", "bid > @reserve"),
        ("at least 2 of (a = 1, b = 2, c = 3) and d < 4", "at least 2 of (a = 1, b = 2, c = 3)"),
        ("a = 1 and x > 5 or b = 2 and x > 5", "a = 1 or b = 2 or c = 3"),
        ("s ends with 'x' and s = 'yx'", "s >= 'y'"),
    ],
)
def test_what_asks_for_more_is_covered(narrow: str, wide: str) -> None:
    found = related([narrow, wide], OPEN)

    assert found.covered == {0: 1}
    assert found.equal == {}


def test_a_value_that_truths_are_told_of_is_no_other_value() -> None:
    texts = ["s contains 'b' and s ends with 'x'", "s >= 'b' and s ends with 'x'"]

    found = related(texts, OPEN)  # {'b', 'ax'} satisfies the first and not the last

    assert found.covered == {}
    assert found.undecided == [0, 1]


def test_of_what_cannot_be_compared_it_is_said_that_it_is_not_decided() -> None:
    found = related(["s includes 'abc'", "s includes 'ab'", "x = 1"], OPEN)

    assert found.covered == {}
    assert found.undecided == [0, 1]


@pytest.mark.parametrize("shape", ["chain", "boxes", "keys", "none"])
def test_no_pairs_are_tried(shape: str) -> None:
    roll, count = random.Random(16), 20_000
    texts = {
        "chain": lambda at: f"price < {at}",
        "boxes": lambda at: f"a between {(low := roll.randrange(9999))} and {low + roll.randrange(999)} and b > {at}",
        "keys": lambda at: f"sku = 'k{at % 5000}' and price < {roll.randrange(100)}",
        "none": lambda at: f"a < {at} and b < {count - at}",
    }

    found = related([texts[shape](at) for at in range(count)], OPEN)

    assert len(found.covered) == {"chain": count - 1, "none": 0}.get(shape, len(found.covered))
    assert found.undecided == []
    assert found.work["looked_at"] < 400 * count  # of 20,000 times as many pairs
    assert found.work["nodes"] < 400 * count
    print(shape, found.work)
