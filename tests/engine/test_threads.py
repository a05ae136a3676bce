"""Many readers, one writer: every answer is that of a moment before or after a change, never of one in between."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from tamis import Engine
from tamis.matchers import Entry, Matcher, MatcherStats, Rows
from tamis.model import Event
from tamis.registry.plain_registry import PlainRegistry
from tamis.segments.subscriptions import Subscriptions
from tests.segments.histories import registry

IDS = tuple(f"id-{number}" for number in range(20))
EVENTS = [{"v": 0}, {"v": 1}]


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Threads take turns far more often than usual, so that a torn state would be met."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def everyone_wants(value: int) -> list[tuple[str, str]]:
    return [(id, f"v = {value}") for id in IDS]


def one_look(engine: Engine) -> tuple[tuple[str, ...], ...]:
    """The answers to both events from one batch: all ids and none, or none and all."""
    return tuple(tuple(sorted(map(str, ids))) for ids in engine.match_many(EVENTS))


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
@pytest.mark.usefixtures("eager_switching")
def test_readers_see_all_of_a_replacement_or_nothing_of_it(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)
    engine.subscribe_many(everyone_wants(0))
    everyone = tuple(sorted(IDS))
    done = threading.Event()

    def read() -> set[tuple[tuple[str, ...], ...]]:
        seen = set()
        while not done.is_set():
            seen.add(one_look(engine))
            assert engine.match({"v": [0, 1]}) == list(IDS)
            assert (len(engine), IDS[0] in engine, engine.ids()) == (len(IDS), True, list(IDS))
            assert engine.explain(IDS[0], {"v": [0, 1]}).matches
            assert engine.stats()["subscriptions"] == len(IDS)
        return seen

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        try:
            for turn in range(1, 101):
                engine.subscribe_many(everyone_wants(turn % 2))
        finally:
            done.set()

    seen = set().union(*(reader.result() for reader in readers))
    assert seen <= {(everyone, ()), ((), everyone)}
    assert one_look(engine) == (everyone, ())
    engine.check()


@pytest.mark.parametrize("algorithm", ["adaptive", "naive"])
@pytest.mark.usefixtures("eager_switching")
def test_several_writers_lose_nothing(algorithm: str) -> None:
    engine = Engine(algorithm=algorithm)

    def write(writer: int) -> None:
        for turn in range(30):
            engine.subscribe(f"{writer}-{turn}", f"v = {turn % 2}")
            if turn % 3 == 2:
                engine.unsubscribe(f"{writer}-{turn - 1}")

    with ThreadPoolExecutor(4) as pool:
        for finished in [pool.submit(write, writer) for writer in range(4)]:
            finished.result()

    assert len(engine) == 4 * 20
    assert sum(len(engine.match(event)) for event in EVENTS) == 4 * 20
    engine.check()


class Halting:
    """A matcher that stops in the middle of a replacement, after the new is added and before the old is removed."""

    def __init__(self, inner: Matcher) -> None:
        self.inner = inner
        self.halted, self.go_on = threading.Event(), threading.Event()

    def add(self, entries: Sequence[Entry]) -> None:
        self.inner.add(entries)

    def remove(self, keys: Sequence[int]) -> None:
        self.halted.set()
        assert self.go_on.wait(30)
        self.inner.remove(keys)

    def match(self, event: Event) -> Sequence[int]:
        return self.inner.match(event)

    def match_many(self, events: Sequence[Event]) -> Rows:
        return self.inner.match_many(events)

    def stats(self) -> MatcherStats:
        return self.inner.stats()

    def check(self) -> None:
        self.inner.check()


def plain(engine: Engine) -> PlainRegistry:
    assert isinstance(engine._registry, PlainRegistry)
    return engine._registry


READERS: dict[str, tuple[Callable[[Engine], Any], Any]] = {
    "match": (lambda engine: engine.match({"v": [0, 1]}), ["bob", "ann"]),
    "match_many": (lambda engine: sorted(engine.match_many([{"v": [0, 1]}]).for_event(0)), ["ann", "bob"]),
    "explain": (lambda engine: engine.explain("ann", {"v": 1}).matches, True),
    "expression": (lambda engine: engine.expression("ann"), "v = 1"),
    "ids": (lambda engine: engine.ids(), ["bob", "ann"]),
    "in": (lambda engine: "ann" in engine, True),
    "len": (len, 2),
    "stats": (lambda engine: engine.stats()["conjunctions"], 2),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_waits_for_a_replacement_in_progress(reader: str) -> None:
    engine = Engine(algorithm="naive")
    engine.subscribe_many([("ann", "v = 0"), ("bob", "v = 0")])
    held = plain(engine)
    held._matcher = matcher = Halting(held._matcher)
    read, expected = READERS[reader]

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(engine.subscribe, "ann", "v = 1")
        assert matcher.halted.wait(30)
        reading = pool.submit(read, engine)
        wait([reading], timeout=0.02)  # a chance for a reader that does not hold back to answer wrongly
        matcher.go_on.set()

    assert writing.result().replaced == 1
    assert reading.result() == expected


def test_readers_do_not_wait_for_each_other() -> None:
    engine = Engine(algorithm="naive")
    engine.subscribe("ann", "v = 0")
    together = threading.Barrier(3, timeout=30)
    held = plain(engine)

    class Meeting(Halting):
        def match(self, event: Event) -> Sequence[int]:
            together.wait()  # passes only when three readers are inside at once
            return self.inner.match(event)

    held._matcher = Meeting(held._matcher)

    with ThreadPoolExecutor(3) as pool:
        answers = [reading.result() for reading in [pool.submit(engine.match, {"v": 0}) for _ in range(3)]]

    assert answers == [["ann"]] * 3


def test_a_writer_interrupted_while_it_waits_does_not_lock_the_readers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(algorithm="naive")
    engine.subscribe("ann", "v = 0")

    def interrupt(_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(plain(engine)._lock._condition, "wait_for", interrupt)
        with pytest.raises(KeyboardInterrupt):
            engine.subscribe("bob", "v = 0")

    assert engine.match({"v": 0}) == ["ann"]


# -- the adaptive engine: readers have a snapshot, and nobody waits for them --------------------------------------


def adaptive(engine: Engine) -> Subscriptions:
    return registry(engine).subscriptions


@pytest.mark.usefixtures("eager_switching")
def test_an_id_that_is_replaced_is_seen_as_old_or_as_new_and_never_as_neither() -> None:
    engine = Engine()
    engine.subscribe_many(everyone_wants(0))
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            assert sorted(map(str, engine.match({"v": [0, 1]}))) == sorted(IDS)
            assert engine.count_many([{"v": [0, 1]}]).tolist() == [len(IDS)]
            assert engine.match_many([{"v": [0, 1]}]).counts().tolist() == [len(IDS)]
            assert (len(engine), all(id in engine for id in IDS)) == (len(IDS), True)
            assert engine.expression(IDS[0]) in ("v = 0", "v = 1")

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            for turn in range(300):
                engine.subscribe(IDS[turn % len(IDS)], f"v = {turn % 2}")
        finally:
            done.set()
        for reader in readers:
            reader.result()
    engine.check()


def test_a_snapshot_stays_as_it_was_whatever_is_written_after() -> None:
    engine = Engine()
    engine.subscribe_many([(id, "v = 0") for id in IDS])
    engine.subscribe("ann", "v = 0")
    subscriptions = adaptive(engine)
    before = subscriptions.snapshot()
    rows = [(segment.rows, segment.dead, segment.living.tolist()) for segment in before.segments]

    engine.subscribe("ann", "v = 1")
    engine.subscribe_many([(id, "v = 1") for id in IDS[:5]])
    engine.unsubscribe(IDS[6])
    subscriptions.flush()

    assert list(before.delta) == ["ann"]
    assert before.delta["ann"].text == "v = 0"
    assert [(segment.rows, segment.dead, segment.living.tolist()) for segment in before.segments] == rows


def hold_compiling(
    subscriptions: Subscriptions, patched: pytest.MonkeyPatch
) -> tuple[threading.Event, threading.Event]:
    """Compiling sets the first event and waits for the second."""
    compile_now, compiling, go_on = subscriptions._compile, threading.Event(), threading.Event()

    def slowly(*arguments: Any) -> Any:
        compiling.set()
        assert go_on.wait(30)
        return compile_now(*arguments)

    patched.setattr(subscriptions, "_compile", slowly)
    return compiling, go_on


def test_a_reader_is_not_held_up_by_a_large_batch_that_is_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.subscribe("ann", "v = 0")
    subscriptions = adaptive(engine)
    compiling, go_on = hold_compiling(subscriptions, monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(engine.subscribe_many, [(id, "v = 0") for id in IDS])
        assert compiling.wait(30)
        meanwhile = engine.match({"v": 0}), len(engine), IDS[0] in engine
        go_on.set()

        assert writing.result().subscribed == len(IDS)
    assert meanwhile == (["ann"], 1, False)
    assert len(engine.match({"v": 0})) == len(IDS) + 1


@pytest.mark.parametrize("durable", [False, True])
def test_nobody_is_held_up_while_everything_is_compiled_anew(
    durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine.open(tmp_path / "engine", create=True) if durable else Engine()
    engine.subscribe_many([(id, "v = 0") for id in IDS])
    subscriptions = adaptive(engine)
    merge, merging, go_on = subscriptions._merge, threading.Event(), threading.Event()

    def slowly(*segments: Any, **known: Any) -> Any:
        merging.set()
        assert go_on.wait(30)
        return merge(*segments, **known)

    monkeypatch.setattr(subscriptions, "_merge", slowly)
    with ThreadPoolExecutor(1) as pool:
        observing = pool.submit(engine.observe, [{"v": 0}, {"v": 1}])
        assert merging.wait(30)
        engine.subscribe("ann", "v = 0")
        engine.unsubscribe(IDS[3])
        engine.subscribe(IDS[4], "v = 1")
        meanwhile = engine.match({"v": 0})
        go_on.set()
        observing.result()

    expected = [*(id for id in IDS if id not in IDS[3:5]), "ann"]
    assert meanwhile == expected
    assert (engine.match({"v": 0}), engine.match({"v": 1})) == (expected, [IDS[4]])
    assert subscriptions.statistics is not None
    engine.check()
    engine.close()


def test_a_writer_is_not_held_up_by_a_large_batch_that_is_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    subscriptions = adaptive(engine)
    compiling, go_on = hold_compiling(subscriptions, monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(engine.subscribe_many, [(id, "v = 0") for id in IDS])
        assert compiling.wait(30)
        engine.subscribe("ann", "v = 0")
        engine.subscribe(IDS[0], "v = 1")  # returned before the batch did, so the batch replaces it
        engine.unsubscribe("ann")
        go_on.set()

        assert writing.result().replaced == 1
    assert sorted(map(str, engine.match({"v": 0}))) == sorted(IDS)
    engine.check()


def test_a_reader_may_keep_an_answer_while_its_ids_are_replaced() -> None:
    engine = Engine()
    engine.subscribe_many(everyone_wants(0))
    matches = engine.match_many(EVENTS)

    engine.subscribe_many(everyone_wants(1))
    adaptive(engine).flush()

    assert sorted(map(str, matches.for_event(0))) == sorted(IDS)
    assert matches.to_arrow().num_rows == len(IDS)
