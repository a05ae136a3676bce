"""One suite for every predicate index: histories of insertions, deletions and searches, against `compare` itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis.indexes import INDEXES, SIX, PredicateIndex
from tamis.model import Boolean, Domain, Integer, Kind, Number, Operator, String, Timestamp, Value, compare
from tamis.model.values import timestamp
from tests.strategies import MOMENTS, NUMBERS, STRINGS, Dice, dice

NAMES = list(INDEXES)

BIG = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2.0**53, 2.0**53 + 2, 2**63, 2**64 + 1, 2.0**64, 10**400, 10**400 + 1]
NEGATIVE = [-n for n in BIG] + [
    -1e300,
    -(10**400) - 1,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    5e-324,
    -5e-324,
]
LONG = ["x" * 600, "x" * 600 + "a", "x" * 600 + "b", "x" * 499, "x" * 500, "y" + "é" * 300, "y" + "é" * 300 + "\x00"]

VALUES = {
    "range": (Integer(0, 9), [Value(Kind.NUMBER, n) for n in range(10)]),
    "integer": (Integer(), [Value(Kind.NUMBER, n) for n in (*range(-3, 4), *BIG, *NEGATIVE) if isinstance(n, int)]),
    "number": (Number(), [Value(Kind.NUMBER, n) for n in (*NUMBERS, *BIG, *NEGATIVE)]),
    "string": (String(), [Value(Kind.STRING, text) for text in (*STRINGS, *LONG)]),
    "timestamp": (Timestamp(), [timestamp(moment) for moment in MOMENTS]),
    "boolean": (Boolean(), [Value(Kind.BOOLEAN, False), Value(Kind.BOOLEAN, True)]),
}

UNBOUNDED = [(name, values) for name in NAMES for values in VALUES if name != "table" or values in ("range", "boolean")]

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
fast = settings(
    max_examples=15 if COMPILED else 2,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)


@contextmanager
def made(name: str, domain: Domain) -> Iterator[PredicateIndex]:
    index = INDEXES[name](domain)
    try:
        yield index
    finally:
        index.close()


def operators(domain: Domain) -> list[Operator]:
    return list(SIX) if domain.ordered else [Operator.EQ, Operator.NE]


def assert_right(
    index: PredicateIndex, domain: Domain, held: dict[int, tuple[Operator, Value]], values: list[Value]
) -> None:
    index.check()
    for value in values:
        found = index.search(value).tolist()
        expected = [id for id, (operator, constant) in held.items() if compare(domain, operator, value, constant)]
        assert sorted(found) == sorted(expected), f"searching {value} among {held}"


@pytest.mark.parametrize(("name", "values"), UNBOUNDED)
@fast
@given(dice=dice())
def test_a_search_finds_what_compare_says_through_any_history(name: str, values: str, dice: Dice) -> None:
    domain, constants = VALUES[values]
    held: dict[int, tuple[Operator, Value]] = {}
    with made(name, domain) as index:
        for _ in range(1 + dice.roll(12)):
            if held and dice.chance(3):
                gone = dice.one(sorted(held))
                index.delete(gone)
                del held[gone]
            else:
                free = dice.one([id for id in range(31) if id not in held])
                held[free] = dice.one(operators(domain)), dice.one(constants)
                index.insert(free, *held[free])
            assert_right(index, domain, held, [dice.one(constants) for _ in range(dice.roll(5))])
        assert_right(index, domain, held, constants)


@pytest.mark.parametrize(("name", "values"), UNBOUNDED)
@settings(fast, max_examples=3 if COMPILED else 1)
@given(seed=st.integers(0, 2**32))
def test_many_at_once_is_the_same_as_one_by_one(name: str, values: str, seed: int) -> None:
    domain, constants = VALUES[values]
    random = Random(seed)
    with made(name, domain) as index:
        held: dict[int, tuple[Operator, Value]] = {}
        for size in (100, 20, 200):
            first = len(held)
            new = {first + at: (random.choice(operators(domain)), random.choice(constants)) for at in range(size)}
            index.insert_many([(id, *predicate) for id, predicate in new.items()])
            held |= new
            assert_right(index, domain, held, constants)
        for id in random.sample(sorted(held), 300):
            index.delete(id)
            del held[id]
        assert_right(index, domain, held, constants)


@pytest.mark.parametrize("name", NAMES)
def test_growing_and_shrinking_through_splits_and_merges(name: str) -> None:
    """Past every node, block and leaf size, with as many constants as predicates."""
    domain = Integer(0, 9_999)
    size = 4_000 if COMPILED else 2_000
    numbers = [(at * 7919) % 10_000 for at in range(size)]
    predicates = [(at, SIX[at % 6], Value(Kind.NUMBER, n)) for at, n in enumerate(numbers)]
    probes = [Value(Kind.NUMBER, n) for n in (0, 1, 4_999, 5_000, numbers[17], numbers[17] + 1, 9_999)]
    with made(name, domain) as index:
        index.insert_many(predicates[:1_500])
        for predicate in predicates[1_500:1_900]:
            index.insert(*predicate)
        index.insert_many(predicates[1_900:])
        assert_right(index, domain, {id: (operator, constant) for id, operator, constant in predicates}, probes)
        gone = {id for id, *_ in predicates[: size - 300] if name != "pb-tree" or id % 4 == 0}  # a disk takes its time
        for id in gone:
            index.delete(id)
        left = {id: (operator, constant) for id, operator, constant in predicates if id not in gone}
        assert_right(index, domain, left, probes)


@pytest.mark.parametrize("name", NAMES)
def test_an_id_in_use_is_refused_and_an_unknown_one_too(name: str) -> None:
    domain = Integer(0, 9)
    three = Value(Kind.NUMBER, 3)
    with made(name, domain) as index:
        index.insert(1, Operator.EQ, three)
        with pytest.raises(KeyError):
            index.insert(1, Operator.GT, three)
        with pytest.raises(KeyError):
            index.insert_many([(2, Operator.GT, three), (1, Operator.GT, three)])
        with pytest.raises(KeyError):
            index.delete(2)

        assert_right(index, domain, {1: (Operator.EQ, three)}, [three, Value(Kind.NUMBER, 4)])


@pytest.mark.parametrize("name", NAMES)
def test_searches_may_run_side_by_side(name: str) -> None:
    domain = Integer(0, 99)
    predicates = [(at, SIX[at % 6], Value(Kind.NUMBER, (at * 37) % 100)) for at in range(500)]
    values = [Value(Kind.NUMBER, n) for n in range(100)]
    with made(name, domain) as index, ThreadPoolExecutor(4) as threads:
        index.insert_many(predicates)
        alone = [sorted(index.search(value).tolist()) for value in values]
        together = [sorted(ids.tolist()) for ids in threads.map(index.search, values * 3)]

        assert together == alone * 3


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_index_satisfies_nothing(name: str) -> None:
    with made(name, Integer(0, 9)) as index:
        assert index.search(Value(Kind.NUMBER, 3)).tolist() == []
        assert index.bytes_used() >= 0
        index.check()


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="this is the run without the compiler")
def test_the_same_holds_without_the_compiler() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
        "-k",
        "not growing",
        __file__,
    ]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout[-3000:]
