"""The one table of checks: every domain has its row, and what passes a check is what the domain takes."""

from __future__ import annotations

import inspect
import math

import pytest

from tamis.batches.checks import CHECKS, Between, OneOf, Text, plain_check
from tamis.model import Boolean, Domain, Enumerated, Hierarchical, Integer, Number, Records, String, Timestamp, Untyped
from tamis.model.finite import EventTypes
from tamis.model.values import ValueRefused

DOMAINS: list[Domain] = [
    *(Integer(), Integer(0, 5), Integer(None, 3), Integer(-(10**40), 10**40), Integer(2**63, 2**64)),
    *(Number(), String(), Boolean(), Timestamp(), Untyped()),
    *(Enumerated(("a", "é")), EventTypes(("a",)), Hierarchical.of({"a": (), "b": ("a",)})),
    Records.of({"a": Integer()}),
]
VALUES = [
    *(0, 1, 3, 5, 6, -1, 2**62, 2**62 + 1, -(2**62), 2**63, 10**30, True, False),
    *(0.0, 2.5, -1e308, math.nan, math.inf, "a", "b", "é", "", "\ud800", "2024-05-31", None, b"a"),
]


def concrete(domain: type[Domain]) -> set[type[Domain]]:
    """The classes of domains that can be made, however deep."""
    mine = set() if inspect.isabstract(domain) or domain.__name__.startswith("_") else {domain}
    return mine.union(*map(concrete, domain.__subclasses__()))


def test_every_domain_has_a_row_and_no_other() -> None:
    assert set(CHECKS) == concrete(Domain)
    assert {type(domain) for domain in DOMAINS} == concrete(Domain)


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_a_plain_value_that_passes_is_one_that_the_domain_takes(domain: Domain) -> None:
    for value in VALUES:
        check = plain_check(domain, type(value))
        if _passes(check, value):
            domain.value(value)
        elif check is not None and not (isinstance(value, int) and abs(value) > 2**62) and value != "é":
            with pytest.raises(ValueRefused):
                domain.value(value)


def _passes(check: Between | OneOf | Text | None, value: object) -> bool:
    match check:
        case Between(low, high):
            return low <= value <= high  # type: ignore[operator]
        case OneOf(names):
            return value in names
        case Text():
            return str(value).isascii()
    return False
