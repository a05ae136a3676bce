"""Answers do not depend on where conjunctions live: the same histories under absurd numbers."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tamis.segments.compile.tuning import Tuning
from tests.conformance.histories import History, histories, replay

TUNINGS = {
    "everything with an equality in clusters": Tuning(probe_ns=-1e9),
    "one column per cluster": Tuning(probe_ns=0, verify_ns=0),
    "tiny blocks and sparse bases": Tuning(probe_ns=1e9, members=2, few=0, spacing=2, sparse=1),
    "no block is good enough": Tuning(probe_ns=1e9, most_slots=0, members=3, sparse=10**9),
    "one base per code": Tuning(probe_ns=1e9, few=10**9, share=0, rare=1.1, members=64),
}


@pytest.mark.parametrize("name", TUNINGS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(history=histories())
def test_any_tuning_gives_the_naive_answers(name: str, history: History) -> None:
    replay(history, "adaptive", tuning=TUNINGS[name])
