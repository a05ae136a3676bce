"""An engine learns from what passes, moves subscriptions to better homes, and answers as before."""

from __future__ import annotations

import _thread
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tamis import Engine, OptionError
from tamis.segments import observing, sampling
from tamis.segments.compile.tuning import DEFAULT
from tamis.segments.sampling import Pace, Sampler
from tests.segments.histories import compare_answers, registry, restless

VALUES = 50_000
Events = list[dict[str, object]]


def subscriptions(count: int = 8_000) -> list[tuple[int, str]]:
    """Everybody names a site and a path; many of them the first site, or the first path."""
    draw = random.Random(1)
    values = [(often_first(draw), often_first(draw)) for _ in range(count)]
    return [(n, f"site = 's{site}' and path = 'p{path}' and n < {n}") for n, (site, path) in enumerate(values)]


def often_first(draw: random.Random) -> int:
    return 0 if draw.random() < 0.3 else draw.randrange(VALUES)


def hot_sites(count: int, seed: int) -> Events:
    """Nearly all events have the first site; paths are spread evenly."""
    draw = random.Random(seed)
    sites = [0 if draw.random() < 0.9 else draw.randrange(VALUES) for _ in range(count)]
    return [{"site": f"s{site}", "path": f"p{draw.randrange(VALUES)}", "n": draw.randrange(9_000)} for site in sites]


def hot_paths(count: int, seed: int) -> Events:
    """The other way round."""
    turned = hot_sites(count, seed)
    return [one | {"site": f"s{str(one['path'])[1:]}", "path": f"p{str(one['site'])[1:]}"} for one in turned]


def filled(count: int = 8_000) -> Engine:
    """As long as nothing is known of events, one attribute seems enough to file everybody under."""
    engine = Engine(seed=1)
    engine.subscribe_many(subscriptions(count))
    return engine


def candidates(engine: Engine, events: Events) -> float:
    before = engine.stats()["work"]["candidates_verified"]
    engine.match_many(events)
    return (engine.stats()["work"]["candidates_verified"] - before) / len(events)


def pass_by(engine: Engine, events: Events) -> None:
    for at in range(0, len(events), 100):
        engine.match_many(events[at : at + 100])


def test_a_stream_whose_hot_values_change_is_followed() -> None:
    engine, oracle = filled(), Engine(observe=False)
    oracle.subscribe_many(subscriptions())
    pass_by(engine, hot_sites(3_000, 2))
    engine.settle()
    at_first = candidates(engine, hot_sites(300, 3))

    during = candidates(engine, hot_paths(300, 4))
    pass_by(engine, hot_paths(12_000, 5))
    engine.settle()
    after = candidates(engine, hot_paths(300, 6))

    assert during > 5 * at_first
    assert after < during / 2
    told = engine.stats()["observed"]
    assert told["moved"] >= 1
    assert "candidates an event, where" in told["moves"][-1]["why"]
    assert told["attributes"]["path"]["frequent"][0][0] == "p0"
    events = hot_paths(50, 7) + hot_sites(50, 8)
    assert [engine.match(event) for event in events] == [oracle.match(event) for event in events]
    engine.check()


def test_single_events_teach_as_batches_do() -> None:
    engine = filled(2_000)
    for event in hot_sites(6_000, 2):
        engine.match(event)

    told = engine.stats()["observed"]
    assert told["sampled"] > 0
    assert told["attributes"].keys() <= {"site", "path", "n"}


def test_who_is_told_not_to_observe_leaves_everything_where_it_is() -> None:
    engine = Engine(observe=False)
    engine.subscribe_many(subscriptions(500))
    segment = registry(engine).subscriptions.there()[0]
    with restless():
        pass_by(engine, hot_sites(500, 2))
        engine.settle()

    assert engine.stats()["observed"] is None
    assert registry(engine).subscriptions.there()[0].index is segment.index


def test_the_same_calls_and_the_same_seed_take_the_same_samples() -> None:
    def told(seed: int) -> Any:
        engine = Engine(seed=seed)
        engine.subscribe_many(subscriptions(200))
        for event in hot_sites(3_000, 2):
            engine.match(event)
        pass_by(engine, hot_sites(20_000, 3))
        return engine.stats()["observed"]

    assert told(1) == told(1)
    assert told(1) != told(2)


def test_samples_take_a_small_share_of_what_matching_takes() -> None:
    work, random_ = np.zeros(2, np.int64), random.Random(1)
    pace, spent, matching = Pace(DEFAULT, work, random_), 0.0, 0.0
    for turn in range(40_000):
        dear = 20_000 <= turn < 30_000
        work += (3, 500 if dear else 2)
        matching += 5_000 + 3 * DEFAULT.probe_ns + (500 if dear else 2) * DEFAULT.verify_ns
        if pace.one():
            pace.paid(25_000)
            spent += 25_000

    assert 0.005 * matching < spent < 0.025 * matching


def test_strange_events_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_MOST_VALUES", 100)
    monkeypatch.setattr(sampling, "_MOST_ATTRIBUTES", 10)
    sampler = Sampler(random.Random(1))
    schema = Engine().schema
    for n in range(3_000):
        sampler.take_event(schema.event({f"a{n % 50}": [f"{n}-{k}" for k in range(9)], "long": "x" * 10_000}))

    for generation in (sampler._before, sampler._now):
        values = [value for seen in generation.attributes.values() for value in seen.counts]
        assert len(values) <= 100
        assert len(generation.attributes) <= 10
        assert all(len(str(value.data)) <= 256 for value in values)


def test_values_that_never_came_are_rare_and_not_impossible() -> None:
    sampler, schema = Sampler(random.Random(1)), Engine().schema
    for n in range(1_000):
        sampler.take_event(schema.event({"sku": f"item-{n}", "flag": n % 2}))

    known = sampler.statistics()
    assert known is not None
    assert 0 < known.attributes["sku"].other < 1e-4
    assert sorted(known.attributes["flag"].frequent.values()) == [0.5, 0.5]


def test_it_happens_by_itself_and_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "_LEAST_NS", 0.0)
    monkeypatch.setattr(observing, "_LOOK_NS", 0.0)
    engine, before = filled(), _thread._count()
    for _ in range(100):
        pass_by(engine, hot_paths(500, 2))
        registry(engine).subscriptions.finish_merging()
        if engine.stats()["observed"]["moved"]:
            break

    assert engine.stats()["observed"]["moved"] == 1
    assert _thread._count() <= before


def test_a_durable_engine_keeps_what_it_learned(tmp_path: Path) -> None:
    with restless(), Engine.open(tmp_path / "engine", create=True) as engine:
        engine.subscribe_many(subscriptions(300))
        registry(engine).checkpoint()
        pass_by(engine, hot_sites(500, 2))
        engine.settle()
        learned = registry(engine).subscriptions.statistics

    assert learned is not None
    with Engine.open(tmp_path / "engine") as engine:
        assert registry(engine).subscriptions.statistics == learned
        assert registry(engine).subscriptions.there()[0].layout.known == learned


def test_a_reader_of_a_folder_learns_in_memory_alone(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "engine", create=True) as engine:
        engine.subscribe_many(subscriptions(300))
    files = {path: path.read_bytes() for path in sorted((tmp_path / "engine").iterdir())}
    with restless(), Engine.open(tmp_path / "engine", read_only=True) as reader:
        pass_by(reader, hot_sites(300, 2))
        reader.settle()

        assert reader.stats()["observed"]["moved"] > 0
        assert len(reader.match_many(hot_sites(10, 3))) == 10
    assert {path: path.read_bytes() for path in sorted((tmp_path / "engine").iterdir())} == files


def test_a_child_that_was_forked_learns_for_itself(tmp_path: Path) -> None:
    with restless(), Engine.open(tmp_path / "engine", create=True) as engine:
        engine.subscribe_many(subscriptions(300))
        pass_by(engine, hot_sites(200, 2))
        child = os.fork()
        if not child:
            status = 1
            try:
                pass_by(engine, hot_sites(200, 3))
                engine.settle()
                status = 0 if engine.stats()["observed"]["moved"] else 2
            finally:
                os._exit(status)

        assert os.waitpid(child, 0)[1] == 0
        engine.settle()
        engine.check()


def test_answers_are_those_of_naive_while_everything_moves() -> None:
    """Readers on three threads, a writer on a fourth; whatever is subscribed at the end is what naive has."""
    pairs, events = subscriptions(400), hot_sites(40, 2) + hot_paths(40, 3)
    engine, oracle = Engine(), Engine(algorithm="naive")
    engine.subscribe_many(pairs)
    oracle.subscribe_many(pairs)
    steady = [set(oracle.match(event)) for event in events]

    def write() -> None:
        draw = random.Random(4)
        for n in range(150):
            engine.subscribe(f"new-{draw.randrange(50)}", f"site = 's{n % VALUES}' and path != 'p1'")
            if n % 3 == 0:
                engine.subscribe_many([(f"batch-{k}", f"path = 'p{(n + k) % 5}'") for k in range(5)])

    def read(turn: int) -> int:
        seen = 0
        for _ in range(12):
            for ids, expected in zip(engine.match_many(events), steady, strict=True):
                assert {id for id in ids if isinstance(id, int)} == expected
            for event, expected in zip(events[turn::8], steady[turn::8], strict=True):
                assert {id for id in engine.match(event) if isinstance(id, int)} == expected
            engine.settle() if turn == 0 else None
            seen += 1
        return seen

    with restless(), ThreadPoolExecutor(4) as pool:
        work = [pool.submit(write), *(pool.submit(read, turn) for turn in range(3))]
        assert [one.result() for one in work] == [None, 12, 12, 12]
    assert engine.stats()["observed"]["moved"] > 0
    for id in engine.ids()[len(pairs) :]:
        oracle.subscribe(id, engine.expression(id))
    compare_answers(engine, oracle, events[:20])
    engine.check()


@pytest.mark.parametrize("options", [{"observe": 1}, {"seed": "x"}, {"observe": None}])
def test_options_of_another_kind_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"option '(observe|seed)': expected"):
        Engine(**options)
