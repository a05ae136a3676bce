"""Sets of names as runs of codes, held against `compare`, name by name."""

from __future__ import annotations

from itertools import product

import pytest

from tamis.model import Finite, Hierarchical, Operator, Predicate, compare
from tamis.model.finite import Enumerated
from tamis.model.values import string
from tamis.segments.compile.finite_codes import NOTHING, FiniteCodes

TREE = Hierarchical.of({"a": (), "b": ("a",), "c": ("b",), "d": ("a",), "e": ("d", "b"), "f": ()})
DOMAINS = {
    "names without an order": Enumerated(("x", "y", "z")),
    "a partial order": Enumerated(("w", "x", "y", "z"), (("z", "w"), ("y", "w"), ("x", "y"))),
    "a hierarchy with two parents for one": TREE,
}
ONE = (
    Operator.EQ, Operator.NE, Operator.LT, Operator.LE, Operator.GT, Operator.GE,
    Operator.NOT_LT, Operator.NOT_LE, Operator.NOT_GT, Operator.NOT_GE,
)  # fmt: skip


def predicates_on(domain: Finite) -> list[Predicate]:
    single = [Predicate("c", operator, string(name)) for operator in ONE for name in domain.names]
    pair = tuple(string(name) for name in domain.names[:2])
    return [*single, Predicate("c", Operator.IN, pair), Predicate("c", Operator.NOT_IN, pair)]


@pytest.mark.parametrize("which", DOMAINS)
def test_the_runs_of_two_tests_have_the_names_that_pass_both(which: str) -> None:
    domain = DOMAINS[which]
    codes = FiniteCodes(domain)

    for tests in product(predicates_on(domain), repeat=2):
        runs = codes.runs(tests)

        found = {code for low, high in runs for code in range(low, high + 1)}
        passing = {n for n in domain.names if all(compare(domain, t.operator, string(n), t.operand) for t in tests)}  # type: ignore[arg-type]
        assert found == {codes.code[name] for name in passing}
        assert passing or runs == [NOTHING]


def test_a_subtree_is_one_run() -> None:
    below_b = Predicate("c", Operator.LE, string("b"))

    assert FiniteCodes(TREE).runs((below_b,)) == [(2, 3), (5, 5)]  # e is numbered under its first parent, d
    assert FiniteCodes(TREE).runs((Predicate("c", Operator.LE, string("a")),)) == [(1, 5)]
