"""Where subscriptions live is what docs/performance.md says of their shapes."""

from __future__ import annotations

import pytest

import tamis

MANY = 5_000


def homes(shape: str) -> tuple[int, int]:
    """Conjunctions in clusters (filed under a value) and in blocks, for as many subscriptions of the shape."""
    engine = tamis.Engine()
    engine.subscribe_many((row, shape.format(row)) for row in range(MANY))
    stats = engine.stats()
    return stats["in_clusters"], stats["in_blocks"]


@pytest.mark.parametrize("shape", ["sku = 'A{0}'", "sku = 'A{0}' and price < 50", "tags contains 'A{0}'"])
def test_an_equality_is_filed_under_its_value(shape: str) -> None:
    assert homes(shape) == (MANY, 0)


@pytest.mark.parametrize("shape", ["price < {0}", "price between {0} and 9999", "sku in ('A{0}', 'B{0}')"])
def test_what_has_no_equality_is_asked_in_blocks(shape: str) -> None:
    assert homes(shape) == (0, MANY)


@pytest.mark.parametrize("shape", ["sku = 'A{0}' or sku = 'B{0}'", "a = {0} or b = {0}"])
def test_or_makes_two_conjunctions_each_filed_on_its_own(shape: str) -> None:
    assert homes(shape) == (2 * MANY, 0)


def test_or_under_and_multiplies() -> None:
    assert sum(homes("(a = {0} or b = {0}) and (c = {0} or d = {0})")) == 4 * MANY


def test_not_over_or_stays_one_conjunction_and_over_and_becomes_two() -> None:
    assert sum(homes("not (a = {0} or b = {0})")) == MANY
    assert sum(homes("not (a = {0} and b = {0})")) == 2 * MANY
