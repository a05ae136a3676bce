"""Many readers, one writer: every answer is that of a moment before or after a change, never of one in between."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest

from tamis import Engine
from tamis.matchers import Entry, MatcherStats, Rows
from tamis.matchers.naive import Naive
from tamis.model import Event

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


@pytest.mark.usefixtures("eager_switching")
def test_readers_see_all_of_a_replacement_or_nothing_of_it() -> None:
    engine = Engine()
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
            assert engine.stats()["conjunctions"] == len(IDS)
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


@pytest.mark.usefixtures("eager_switching")
def test_several_writers_lose_nothing() -> None:
    engine = Engine()

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

    def __init__(self, inner: Naive) -> None:
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
    engine = Engine()
    engine.subscribe_many([("ann", "v = 0"), ("bob", "v = 0")])
    matcher = Halting(engine._matcher)  # type: ignore[arg-type]
    engine._matcher = matcher
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
    engine = Engine()
    engine.subscribe("ann", "v = 0")
    together = threading.Barrier(3, timeout=30)
    inner = engine._matcher

    class Meeting(Halting):
        def match(self, event: Event) -> Sequence[int]:
            together.wait()  # passes only when three readers are inside at once
            return self.inner.match(event)

    engine._matcher = Meeting(inner)  # type: ignore[arg-type]

    with ThreadPoolExecutor(3) as pool:
        answers = [reading.result() for reading in [pool.submit(engine.match, {"v": 0}) for _ in range(3)]]

    assert answers == [["ann"]] * 3


def test_a_writer_interrupted_while_it_waits_does_not_lock_the_readers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.subscribe("ann", "v = 0")

    def interrupt(_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(engine._lock._condition, "wait_for", interrupt)
        with pytest.raises(KeyboardInterrupt):
            engine.subscribe("bob", "v = 0")

    assert engine.match({"v": 0}) == ["ann"]
