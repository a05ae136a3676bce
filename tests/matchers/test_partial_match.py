"""RAPIDMatch §2: matching and Partial Match are the same problem, shown by the paper's reduction in both directions.

Partial Match: given tuples of zeros and ones, find those that agree with a query over {0, 1, *}. The reduction writes
two properties for each place: a tuple becomes a subscription (0 → `0*`, 1 → `*0`), a query becomes an event (0 → `01`,
1 → `10`, * → `00`). The other way round, a subscription becomes a tuple and an event a query, by the same two tables.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis import Engine, Schema
from tamis.model import Attribute, Integer

_ALGORITHMS = ("naive", "counting-lists", "tree", "rapid")
_PLACES = 4
_STRINGS = st.text("01", min_size=_PLACES, max_size=_PLACES)
_PATTERNS = st.text("01*", min_size=_PLACES, max_size=_PLACES)


def _schema(places: int) -> Schema:
    return Schema(attributes={f"p{at}": Attribute(f"p{at}", Integer(0, 1)) for at in range(places)})


def _expression(pattern: str) -> str | None:
    return " and ".join(f"p{at} = {asked}" for at, asked in enumerate(pattern) if asked != "*") or None


def _event(string: str) -> dict[str, int]:
    return {f"p{at}": int(bit) for at, bit in enumerate(string)}


def _agree(string: str, pattern: str) -> bool:
    return all(asked in ("*", bit) for bit, asked in zip(string, pattern, strict=True))


def _match(algorithm: str, patterns: list[str], string: str) -> set[int]:
    """Which patterns, as subscriptions, the string matches as an event."""
    engine = Engine(_schema(len(string)), algorithm=algorithm)
    asking = [(at, text) for at, pattern in enumerate(patterns) if (text := _expression(pattern))]
    engine.subscribe_many(asking)
    return {int(id) for id in engine.match(_event(string))} | {
        at for at, pattern in enumerate(patterns) if _expression(pattern) is None
    }


@pytest.mark.parametrize("algorithm", _ALGORITHMS)
@settings(max_examples=60, deadline=None)
@given(tuples=st.lists(_STRINGS, max_size=12), query=_PATTERNS)
def test_a_matcher_solves_partial_match(algorithm: str, tuples: list[str], query: str) -> None:
    subscriptions = ["".join({"0": "0*", "1": "*0"}[bit] for bit in one) for one in tuples]
    event = "".join({"0": "01", "1": "10", "*": "00"}[asked] for asked in query)

    assert _match(algorithm, subscriptions, event) == {at for at, one in enumerate(tuples) if _agree(one, query)}


def _partial_match(tuples: list[str], query: str) -> set[int]:
    return {at for at, one in enumerate(tuples) if _agree(one, query)}


@pytest.mark.parametrize("algorithm", _ALGORITHMS)
@settings(max_examples=60, deadline=None)
@given(subscriptions=st.lists(_PATTERNS, max_size=12), event=_STRINGS)
def test_partial_match_solves_matching(algorithm: str, subscriptions: list[str], event: str) -> None:
    tuples = ["".join({"0": "01", "1": "10", "*": "00"}[asked] for asked in one) for one in subscriptions]
    query = "".join({"0": "0*", "1": "*0"}[bit] for bit in event)

    assert _partial_match(tuples, query) == _match(algorithm, subscriptions, event)
