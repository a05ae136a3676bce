"""The predicate-first algorithms answer the same over any predicate index."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.conformance.histories import History, histories, replay

_SLOW_TO_DRAW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.parametrize("index", ["hash-and-sorted", "red-black", "grouped-filter"])
@pytest.mark.parametrize("algorithm", ["counting-lists", "hanson"])
@settings(max_examples=25, deadline=None, suppress_health_check=_SLOW_TO_DRAW)
@given(history=histories())
def test_any_index_has_the_naive_answers(algorithm: str, index: str, history: History) -> None:
    replay(history, algorithm, index=index)
