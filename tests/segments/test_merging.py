"""Many small writes leave few segments, and no answer waits for a merge."""

from __future__ import annotations

import gc
import math
import threading
from typing import Any

import pytest

from tamis import Engine, Schema
from tamis.segments import merging
from tamis.segments.subscriptions import Subscriptions
from tests.segments.histories import registry

EVENTS: list[dict[str, object]] = [{"v": n} for n in range(5)]


def subscriptions_of(engine: Engine) -> Subscriptions:
    return registry(engine).subscriptions


def few(count: int) -> int:
    """Segments that may stand side by side: each is more than thrice as large as the next."""
    return 2 + math.ceil(math.log(max(count, 2), 2))


def test_the_number_of_segments_stays_logarithmic() -> None:
    engine, oracle = Engine(), Engine(algorithm="naive")
    for n in range(400):
        pairs = [(f"{n}-{k}", f"v = {(n + k) % 7}") for k in range(3)]
        engine.subscribe_many(pairs)
        oracle.subscribe_many(pairs)
        if n % 5 == 0:
            engine.unsubscribe(f"{n // 2}-1") if f"{n // 2}-1" in engine else None
            oracle.unsubscribe(f"{n // 2}-1") if f"{n // 2}-1" in oracle else None
        assert engine.stats()["segments"] <= few(len(engine))

    assert [set(ids) for ids in engine.match_many(EVENTS)] == [set(oracle.match(event)) for event in EVENTS]
    engine.check()


def test_a_subscription_is_compiled_again_only_when_its_segment_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    subscriptions, compiled = subscriptions_of(engine), []
    compile = subscriptions._compile
    monkeypatch.setattr(subscriptions, "_compile", lambda ids, *rest: compiled.append(len(ids)) or compile(ids, *rest))
    for n in range(128):
        engine.subscribe_many([(f"{n}-{k}", f"v = {k}") for k in range(3)])
        sizes = [len(segment) for segment in subscriptions.snapshot().segments]
        assert all(size > sum(sizes[at + 1 :]) for at, size in enumerate(sizes))

    assert sum(compiled) <= len(engine) * (1 + math.log2(128))


def test_the_dead_do_not_pile_up() -> None:
    engine = Engine()
    for turn in range(60):
        engine.subscribe_many([(id, f"v = {turn % 5}") for id in range(50)])
        engine.match_many(EVENTS)

    snapshot = subscriptions_of(engine).snapshot()
    assert len(engine) == 50
    assert sum(segment.rows for segment in snapshot.segments) <= 50 * 4
    assert engine.match({"v": 59 % 5}) == list(range(50))


@pytest.mark.parametrize("quick", [merging.QUICK, 0], ids=["at once", "in the background"])
def test_unsubscribing_alone_leaves_no_more_dead_than_living(monkeypatch: pytest.MonkeyPatch, quick: int) -> None:
    monkeypatch.setattr(merging, "QUICK", quick)
    engine = Engine()
    engine.subscribe_many([(n, f"v = {n % 5} or w = {n}") for n in range(2_600)])
    for n in range(2_590):
        engine.unsubscribe(n)
    subscriptions_of(engine).finish_merging()

    assert sum(segment.dead for segment in subscriptions_of(engine).snapshot().segments) <= merging._FEW_DEAD
    assert engine.match({"v": 1}) == [2_591, 2_596]
    engine.check()


@pytest.mark.parametrize("waiting", [3, 300])
def test_a_batch_replaces_what_waits_in_the_delta(waiting: int) -> None:
    engine = Engine()
    for n in range(waiting):
        engine.subscribe(n if n % 2 else str(n), "v = 1")
    receipt = engine.subscribe_many([("0", "v = 2"), (1, "v = 2"), ("1", "v = 2"), (2, "v = 2"), (1_000, "v = 2")])

    assert receipt.replaced == 2
    assert len(engine) == waiting + 3
    assert engine.match({"v": 2}) == ["0", 1, "1", 2, 1_000]
    assert engine.match({"v": 1}) == [n if n % 2 else str(n) for n in range(2, waiting)]


def test_answers_are_right_while_a_merge_is_under_way_and_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "QUICK", 0)  # every merge in the background
    engine = Engine()
    subscriptions = subscriptions_of(engine)
    merge, begun, go_on = subscriptions._merge, threading.Event(), threading.Event()

    def slowly(*segments: Any) -> Any:
        begun.set()
        assert go_on.wait(30)
        return merge(*segments)

    monkeypatch.setattr(subscriptions, "_merge", slowly)
    engine.subscribe_many([(n, "v = 1") for n in range(30)])
    engine.subscribe_many([(n, "v = 1") for n in range(30, 60)])
    assert begun.wait(30)

    engine.unsubscribe(3)  # dies in what is being merged
    engine.subscribe(50, "v = 2")  # is replaced there
    engine.subscribe_many([(5, "v = 2"), ("new", "v = 1")])
    during = engine.match({"v": 1}), engine.match({"v": 2})
    go_on.set()
    subscriptions.finish_merging()

    expected = [*(n for n in range(60) if n not in (3, 5, 50)), "new"], [50, 5]
    assert during == expected
    assert (engine.match({"v": 1}), engine.match({"v": 2})) == expected
    engine.check()


def test_background_merges_come_to_an_end_with_few_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "QUICK", 0)
    engine = Engine()
    for n in range(100):
        engine.subscribe_many([(n * 10 + k, f"v = {k % 5}") for k in range(10)])
    subscriptions_of(engine).finish_merging()

    assert engine.stats()["segments"] <= few(1000)
    assert engine.count_many(EVENTS).tolist() == [200] * 5
    engine.check()


def test_what_single_events_were_matched_with_goes_with_its_segment() -> None:
    engine = Engine(Schema.loads('[attributes]\na = "integer"\n'))
    for turn in range(5):
        engine.subscribe_many([(n, f"a >= {n + turn}") for n in range(50)])
        assert engine.match({"a": turn}) == [0]
    gc.collect()

    singles = registry(engine).collection.roads._singles
    assert len(singles) == len(subscriptions_of(engine).snapshot().segments) == 1
