"""No input blows up: bytes per subscription and work per event stay bounded, and answers right.

The oracle looks at every 97th subscription; that many are enough to see a wrong answer, and soon done.
"""

from __future__ import annotations

from typing import Any

import pytest

from tamis import Engine, Schema
from tamis.model import Attribute, Hierarchical

COUNT = 20_000
BYTES_PER_SUBSCRIPTION = 256
"""Index and the way back from ids: 100 at a million for what is usual, more for small segments and what is not."""
MORE_BYTES = {
    "long lists of constants": 1024,  # twenty constants each
}

Subscriptions = list[tuple[int, str]]
Events = list[dict[str, object]]

CASES: dict[str, tuple[Subscriptions, Events]] = {
    "thousands of attributes": (
        [(n, f"a{n % 2000} = {n % 7} and b < {n % 11}") for n in range(COUNT)],
        [{f"a{n}": n % 7 for n in range(2000)} | {"b": 3}, {"a17": 3, "b": 0}],
    ),
    "thousands of values to contain": (
        [(n, f"tags contains {n} and b < {n % 11}") for n in range(COUNT)],
        [{"tags": list(range(0, 10_000, 2)), "b": 3}],
    ),
    "thousands of values to choose from": (
        [(n, f"tags > {n} and tags < {n + 2}") for n in range(COUNT)],
        [{"tags": list(range(0, 3_000, 3))}],
    ),
    "more values than are ever tried for a few": (
        [(n, f"a = {n} and b = {n % 7}") for n in range(COUNT)],
        [{"a": list(range(0, 9_800, 2)), "b": 3}, {"a": list(range(200)), "b": list(range(-300, 7))}],
    ),
    "equal but for one constant": (
        [(n, f"a = 1 and b < 5 and c = {n}") for n in range(COUNT)],
        [{"a": 1, "b": 2, "c": 97}, {"a": 1, "b": 2, "c": list(range(1000))}],
    ),
    "equal but for one bound": (
        [(n, f"a = 1 and b = 5 and c < {n}") for n in range(COUNT)],
        [{"a": 1, "b": 5, "c": c} for c in (-1, 97, COUNT - 2, COUNT)],
    ),
    "constants all distinct": (
        [(n, f"a > {n}.5 and b < {3 * n} and s != 's{n}'") for n in range(COUNT)],
        [{"a": n, "b": n, "s": "s97"} for n in (5, 1000, COUNT - 1)],
    ),
    "nothing but unequal": ([(n, f"a != {n}") for n in range(COUNT)], [{"a": n} for n in (97, 1000, -1)]),
    "unequal strings": ([(n, f"a != 'x{n}' and b != {n % 5}") for n in range(COUNT)], [{"a": "x97", "b": 1}]),
    "long lists of constants": (
        [(n, f"a in ({', '.join(str(n + k * 7) for k in range(20))})") for n in range(2000)],
        [{"a": n} for n in (97, 1000, -1)],
    ),
    "no attribute that anybody knows": ([(n, f"a != {n} or b is missing") for n in range(2000)], [{"z": 1}, {}]),
    "all equal": ([(n, "a < 5 and b > 2") for n in range(COUNT)], [{"a": 1, "b": 3}, {"a": 7}]),
}


def bounded(subscriptions: Subscriptions, events: Events, schema: Schema | None = None) -> dict[str, Any]:
    """Check the answers against naive on a sample, and the bytes; the statistics for what else is to be said."""
    engine, oracle = Engine(schema), Engine(schema, algorithm="naive")
    engine.subscribe_many(subscriptions)
    sample = subscriptions[::97]
    oracle.subscribe_many(sample)
    ids = {id for id, _ in sample}

    found = engine.match_many(events)
    stats = engine.stats()

    assert [set(row) & ids for row in found] == [set(oracle.match(event)) for event in events]
    assert engine.count_many(events).tolist() == found.counts().tolist()
    assert stats["in_blocks"] + stats["in_clusters"] + stats["in_lists"] == stats["conjunctions"]
    return stats | {"matches": found.total}


@pytest.mark.parametrize("case", CASES)
def test_bytes_and_work_are_bounded_with(case: str) -> None:
    subscriptions, events = CASES[case]

    stats = bounded(subscriptions, events)

    bytes_each = stats["bytes"] / len(subscriptions)
    assert bytes_each <= MORE_BYTES.get(case, BYTES_PER_SUBSCRIPTION)
    assert stats["work"]["candidates_verified"] <= len(events) * len(subscriptions) // 2 + stats["matches"]
    assert stats["work"]["probes"] <= len(events) * (stats["accesses"] + 5000)


def test_equal_conjunctions_are_stored_once() -> None:
    stats = bounded(*CASES["all equal"])

    assert (stats["conjunctions"], stats["subscriptions"]) == (1, COUNT)


def under(parents: dict[str, list[str]]) -> Schema:
    domain = Hierarchical.of(parents)
    return Schema({"kinds": domain}, {"kind": Attribute("kind", domain, "kinds")})


def test_a_hierarchy_may_be_a_thousand_deep() -> None:
    schema = under({f"n{n}": [f"n{n - 1}"] if n else [] for n in range(1000)})

    stats = bounded(
        [(n, f"kind <= n{n % 1000}") for n in range(5000)], [{"kind": f"n{n}"} for n in (0, 97, 999)], schema
    )

    assert stats["conjunctions"] == 1000
    assert stats["bytes"] / 5000 <= BYTES_PER_SUBSCRIPTION


@pytest.mark.slow
def test_a_hierarchy_may_have_a_hundred_thousand_nodes() -> None:
    schema = under({f"n{n}": [f"n{(n - 1) // 3}"] if n else [] for n in range(100_000)})

    stats = bounded(
        [(n, f"kind <= n{n * 31}") for n in range(3000)], [{"kind": f"n{n}"} for n in (0, 97 * 31, 99_999)], schema
    )

    assert stats["bytes"] / 3000 <= BYTES_PER_SUBSCRIPTION
