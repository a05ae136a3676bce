"""What the algorithms are built of: numbers used again, lists in a pool, codes, rebuilding, readers side by side."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Engine, Schema
from tamis.language import parse
from tamis.matchers import MATCHERS
from tamis.matchers.parts.associations import Associations
from tamis.matchers.parts.labels import LabelColumn
from tamis.matchers.parts.roster import Roster
from tamis.workloads.topss import TOPSS

_OPEN = Schema(open=True)
_THREADED = [name for name in MATCHERS if name not in ("naive", "adaptive")]


def test_numbers_of_predicates_and_rows_are_used_again_before_new_ones_are_made() -> None:
    roster = Roster(_OPEN)
    roster.add([(key, parse(f"a = {key} and b < {key}", _OPEN)) for key in range(10)])

    for round in range(1, 5):
        keys = list(range(10 * round - 10, 10 * round))
        roster.release(keys, roster.leaving(keys))
        roster.add([(key, parse(f"a = {key} and c < {key}", _OPEN)) for key in range(10 * round, 10 * round + 10)])

    assert (roster.row_count, roster.predicate_count) == (10, 20)
    roster.check()


def test_a_predicate_is_kept_once_and_goes_with_its_last_user() -> None:
    roster = Roster(_OPEN)
    roster.add([(1, parse("a = 1", _OPEN)), (2, parse("a = 1 and b = 2", _OPEN))])
    first = roster.leaving([1])
    roster.release([1], first)
    last = roster.leaving([2])

    assert first.changed == []
    assert {predicate.attribute for _, predicate in last.changed} == {"a", "b"}


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=200), st.randoms(use_true_random=False))
def test_lists_have_exactly_their_members_whatever_comes_and_goes(
    steps: list[tuple[int, bool]], dice: random.Random
) -> None:
    lists, expected, free = Associations(), {}, list(range(200, 0, -1))
    for group, leave in steps:
        if leave and expected:
            slot = dice.choice(sorted(expected))
            lists.remove(np.array([expected.pop(slot)], np.int32), np.array([slot]))
            free.append(slot)
        else:
            slot = free.pop()
            lists.add(np.array([group], np.int32), np.array([7 * slot], np.int32), np.array([slot]))
            expected[slot] = group

    for group in {group for group, _ in steps if group < len(lists.groups.lengths)}:
        assert sorted(lists.members(group)) == sorted(7 * slot for slot, of in expected.items() if of == group)
    lists.check()


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=80), st.lists(st.integers(-50, 50), max_size=40))
def test_codes_compare_as_values_do_while_constants_come_and_go(constants: list[int], gone: list[int]) -> None:
    column = LabelColumn(0)
    for constant in constants:
        column.add([constant])
    kept = list(constants)
    for constant in gone:
        if constant in kept:
            kept.remove(constant)
            column.remove([constant])

    column.check()
    for constant in set(kept):
        for value in range(-52, 53):
            assert (column.code(value) < column.code(constant)) is (value < constant)
            assert (column.code(value) == column.code(constant)) is (value == constant)


def test_a_column_that_runs_out_of_labels_is_labelled_anew() -> None:
    column = LabelColumn(0)

    anew = [column.add([1 / 2**n]) for n in range(200)]

    assert any(anew)
    column.check()


@pytest.mark.parametrize("algorithm", ["gough", "aguilera", "tree", "rapid"])
def test_what_is_built_once_survives_many_small_changes(algorithm: str) -> None:
    engine, oracle = Engine(algorithm=algorithm), Engine(algorithm="naive")
    dice = random.Random(11)
    for step in range(150):
        id, text = dice.randrange(40), f"a {dice.choice('<>=')} {dice.randrange(6)} and b != {dice.randrange(4)}"
        for one in (engine, oracle):
            if step % 3 == 2 and id in one:
                one.unsubscribe(id)
            else:
                one.subscribe(id, text)
        if step % 10 == 0:
            event = {"a": dice.randrange(7), "b": dice.randrange(5)}
            assert set(engine.match(event)) == set(oracle.match(event))
            engine.check()


@pytest.mark.parametrize("algorithm", _THREADED)
def test_readers_side_by_side_do_not_disturb_each_other(algorithm: str) -> None:
    load = TOPSS["w4"]
    engine = Engine(load.schema(), algorithm=algorithm)
    engine.subscribe_many(load.subscriptions(6 if algorithm == "gough" else 200, seed=2))
    events = load.events(12, seed=2).to_pylist()
    expected = [engine.match(event) for event in events]
    start = threading.Barrier(4)

    def read() -> bool:
        start.wait()
        return all([engine.match(event) for event in events] == expected for _ in range(5))

    with ThreadPoolExecutor(4) as pool:
        assert all(future.result() for future in [pool.submit(read) for _ in range(4)])


@pytest.mark.parametrize("algorithm", _THREADED)
def test_a_conjunction_of_many_predicates_is_matched(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many([("all", " and ".join(f"a{n} = 1" for n in range(300))), ("one", "a0 = 1")])

    assert engine.match({f"a{n}": 1 for n in range(300)}) == ["all", "one"]
    assert engine.match({f"a{n}": 1 for n in range(299)}) == ["one"]
