"""The matcher and its readers: failures set aside, watches, tails, questions, bounds on memory, threads."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tamis.errors import Conflict, LanguageError, LimitError, UnknownPosition, UnknownSubscription
from tamis.model import Schema
from tamis.service import NewSubscription, Published, Publishing, Service, Settings
from tests.service.simulation import _poison
from tests.service.steps import Steps

OFFERS = Schema.loads('[attributes]\nn = "number"\npoison = "integer"\n')


def _lines(count: int, first: int = 0) -> bytes:
    return b"\n".join(b'{"n": %d}' % at for at in range(first, first + count))


def test_an_event_that_cannot_be_matched_is_set_aside_and_never_in_the_way(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS) as steps:
        _poison(steps.service)
        steps.subscribe("a", "n >= 0", "ann")
        events = [{"n": at} | ({"poison": 1} if at in (3, 17) else {}) for at in range(20)]

        receipt = steps.publish(json.dumps(events).encode())

        assert (receipt.first, receipt.last) == (2, 21)
        assert steps.service.failures(0, 100) == {5: "MemoryError: poison", 19: "MemoryError: poison"}
        assert [at for at, _ in steps.told("ann")] == [at for at in range(2, 22) if at not in (5, 19)]
        assert steps.service.counts(4, 6) == [1, 0, 1]
        assert "could not be matched" in steps.service.explain("a", 5).notes[0]
        assert steps.service.metrics()["failed_events_total"] == 2


def test_a_reader_that_registers_between_its_read_and_the_commit_is_woken(tmp_path: Path) -> None:
    woken: list[int] = []
    watching: list[Service] = []

    def touch(what: str) -> None:
        if watching and what == "COMMIT":
            service = watching.pop()
            service.watch("ann", lambda: woken.append(len(service.read_feed("ann", 0).notifications)))
            assert not service.read_feed("ann", 0).notifications

    service = Service.open(tmp_path, OFFERS, touch=touch)
    answers: list[Any] = []
    service.subscribe(NewSubscription("a", "n > 0", "ann"), answers.append)
    service.write_once()
    while service.match_once():
        pass
    service.publish(Publishing(b'{"n": 1}'), answers.append)
    service.write_once()
    watching.append(service)

    service.match_once()

    assert woken == [1]
    service.close()


def test_only_those_who_wait_for_it_are_woken(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS) as steps:
        steps.subscribe("a", "n > 0", "ann")
        steps.subscribe("b", "n < 0", "bob")
        woken: list[str] = []
        watch = steps.service.watch("ann", lambda: woken.append("ann"))
        steps.service.watch("bob", lambda: woken.append("bob"))
        steps.service.when_reached(steps.service.tail, lambda: woken.append("now"))
        steps.service.when_reached(4, lambda: woken.append("later"))
        steps.service.when_reached(4, lambda: woken.append("not at all")).close()

        steps.publish(b'{"n": 1}')
        steps.publish(b'{"n": 1}')
        watch.close()
        steps.publish(b'{"n": 1}')

        assert woken == ["now", "ann", "ann", "later"]
        assert steps.service.metrics()["waiting_readers"] == 1


def test_a_live_tail_stores_nothing_and_drops_the_oldest(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS, Settings(tail_notifications=3, most_tails=2)) as steps:
        steps.publish(b'{"n": 1}')
        woken: list[bool] = []
        tail = steps.service.tail_live("n > 0", lambda: woken.append(True))
        other = steps.service.tail_live("n < 0", lambda: woken.append(False))

        steps.publish(_lines(5, 1), "jsonl")

        assert [one.event for one in tail.take()] == [b'{"n": 3}', b'{"n": 4}', b'{"n": 5}']
        assert (tail.dropped, tail.take(), other.take(), woken) == (2, [], [], [True])
        assert steps.service.counts(1, 6) == [0] * 6
        with pytest.raises(LimitError):
            steps.service.tail_live("n = 1", lambda: None)
        other.close()
        other.close()
        with pytest.raises(LanguageError):
            steps.service.tail_live("n <<", lambda: None)
        tail.close()
        steps.publish(b'{"n": 1}')
        assert tail.take() == []


def test_a_tail_whose_words_change_their_meaning_ends(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        woken: list[bool] = []
        tail = steps.service.tail_live("price = 'x'", lambda: woken.append(True))
        steps.do(steps.service.extend, Schema.loads('[attributes]\nprice = "number"\n'))

        assert tail.ended
        assert woken == [True]


def test_questions_change_nothing(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS) as steps:
        steps.subscribe("b", "n > 1")
        steps.subscribe("a", "n > 2")
        steps.publish(_lines(10), "jsonl")
        tail = steps.service.tail

        matched = steps.service.match(b'[{"n": 3}, {"n": "x"}, {"n": 2}]')
        tried = steps.service.try_expression("n > 3", 8)

        assert matched.matches == [["b", "a"], [], ["b"]]
        assert (matched.position, [one.index for one in matched.rejected]) == (tail, [1])
        assert (tried.matched, len(tried.examples)) == (6, 5)
        assert [one.position for one, _ in tried.examples] == [12, 11, 10, 9, 8]
        assert all(explanation.matches for _, explanation in tried.examples)
        assert not steps.service.explain("b", {"n": 0}).explanation.matches
        with pytest.raises(UnknownSubscription):
            steps.service.explain("nobody", {"n": 0})
        with pytest.raises(UnknownPosition):
            steps.service.explain("b", 1)
        assert steps.service.tail == tail


def test_why_an_event_did_not_reach_who_was_not_there_yet(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS) as steps:
        steps.publish(b'{"n": 5}')
        steps.subscribe("a", "n > 1")
        steps.publish(b'{"n": 5}')
        steps.subscribe("a", "n > 9")

        assert "did not live at position 1" in steps.service.explain("a", 1).notes[0]
        assert steps.service.explain("a", 3).explanation.matches
        assert steps.service.explain("a", 3).notes == ()


def test_an_event_is_read_by_the_schema_of_its_time(tmp_path: Path) -> None:
    one = Schema.loads('[attributes]\nn = "number"\n[event_types.a]\nn = "optional"\n')
    two = Schema.loads('[attributes]\nn = "number"\n[event_types.b]\nn = "optional"\n')
    with Steps(tmp_path, one) as steps:
        steps.publish(b'{"n": 5}')  # its type is implied
        steps.do(steps.service.extend, two)
        steps.publish(b'{"n": 5, "event_type": "b"}')
        steps.subscribe("a", "event_type = a")

        assert steps.service.explain("a", 1).explanation.matches
        assert steps.service.try_expression("event_type = a").matched == 1
        steps.service.abandon()
        (tmp_path / "derived.db").unlink()
        steps.service = Service.open(tmp_path)
        steps.match()
        assert steps.service.failures(0, 10) == {}


# -- memory -------------------------------------------------------------------------------------------------------


def test_memory_is_bounded_under_lag_wide_events_and_dead_readers(tmp_path: Path) -> None:
    settings = Settings(memory_bytes=2_000, cache_bytes=4_000, block_matches=50, batch_events=10, page_notifications=5)
    with Steps(tmp_path, OFFERS, settings) as steps:
        service, answers = steps.service, []
        many = [NewSubscription(f"s{at}", "n >= 0", f"f{at}") for at in range(40)]
        steps.do(service.subscribe_many, many)
        for _ in range(30):  # nobody matches, nobody reads
            service.publish(Publishing(_lines(20), "jsonl"), answers.append)
            service.write_once()

        assert service.matcher._inbox_bytes <= 2_000
        steps.match()
        assert service.metrics()["cached_bytes"] <= 4_000
        assert service.metrics()["block_matches"] == 40 * 600
        assert all(len(block.handles) <= 50 for block in service._reader.blocks(1, service.tail))
        after, found = 0, 0
        while (page := service.read_feed("f7", after, 1_000)).notifications:
            assert len(page.notifications) <= 5
            found, after = found + len(page.notifications), page.next
        assert found == 600
        assert service.metrics()["cached_bytes"] <= 4_000


def test_feeds_are_found_over_thousands_of_positions_and_after_a_start(tmp_path: Path) -> None:
    rare = [4_095, 4_096, 4_097, 8_190, 9_700]
    with Steps(tmp_path, OFFERS, Settings(batch_events=3_000, page_notifications=2)) as steps:
        steps.subscribe("rare", " or ".join(f"n = {at}" for at in rare), "rare")
        steps.subscribe("late", "n >= 9900", "late")
        steps.publish(_lines(10_000), "jsonl")  # event n has position n + 3

        def read(feed: str, after: int) -> list[int]:
            found: list[int] = []
            while (page := steps.service.read_feed(feed, after)).notifications:
                found += [one.position - 3 for one in page.notifications]
                after = page.next
            return found

        for _ in range(3):
            assert read("rare", 0) == rare
            assert read("rare", 4_099) == rare[2:]
            assert read("late", 0) == list(range(9_900, 10_000))
            steps.reopen()
        steps.service.abandon()
        (tmp_path / "derived.db").unlink()
        steps.service = Service.open(tmp_path)
        steps.match()
        assert read("rare", 0) == rare


def test_a_page_ends_before_it_is_too_large(tmp_path: Path) -> None:
    with Steps(tmp_path, settings=Settings(page_bytes=1_000)) as steps:
        steps.subscribe("a", "n is present", "ann")
        body = json.dumps([{"n": 1, "text": "x" * 700}] * 5).encode()
        steps.publish(body)

        assert len(steps.service.read_feed("ann", 0).notifications) == 2


# -- threads ------------------------------------------------------------------------------------------------------


def test_threads_do_the_steps_and_closing_finishes_what_was_accepted(tmp_path: Path) -> None:
    service = Service.open(tmp_path, OFFERS)
    assert not service.health()["ready"]
    service.start()
    receipts: list[Any] = []
    got = threading.Semaphore(0)

    def done(outcome: Any) -> None:
        receipts.append(outcome)
        got.release()

    def publish(number: int) -> None:
        for at in range(20):
            service.publish(Publishing(b'{"n": %d}' % at, key=f"{number} {at}"), done)

    service.subscribe(NewSubscription("a", "n >= 10", "ann"), done)
    threads = [threading.Thread(target=publish, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in range(81):
        assert got.acquire(timeout=60)
    assert service.health()["ready"]
    service.publish(Publishing(_lines(3), "jsonl"), done)

    service.close()

    assert len(receipts) == 82
    published = [one for one in receipts if isinstance(one, Published)]
    assert sorted(one.first for one in published if one.accepted == 1) == list(range(2, 82))
    again = Service.open(tmp_path)
    assert (again.reached, again.tail) == (84, 84)
    assert len(again.read_feed("ann", 0).notifications) == 40
    again.close()


def test_a_matcher_in_trouble_says_so_and_goes_on_when_it_is_over(tmp_path: Path) -> None:
    broken = threading.Event()
    told = threading.Event()

    def touch(what: str) -> None:
        if broken.is_set() and "INTO block" in what:
            told.set()
            raise OSError("no space left on device")

    service = Service.open(tmp_path, OFFERS, touch=touch)
    service.start()
    answered, reached = threading.Event(), threading.Event()
    broken.set()
    service.publish(Publishing(b'{"n": 1}'), lambda outcome: answered.set())
    assert answered.wait(60)
    assert told.wait(60)
    service.when_reached(1, reached.set)
    broken.clear()

    assert reached.wait(60)
    assert service.counts(1, 1) == [0]
    service.close()


def test_a_full_disk_is_told_to_its_writes_and_the_next_go_on(tmp_path: Path) -> None:
    full = [False]

    def touch(what: str) -> None:
        if full[0] and what == "COMMIT":
            raise OSError("no space left on device")

    service = Service.open(tmp_path, OFFERS, touch=touch)
    answers: list[Any] = []
    for broken in (False, True, False):
        full[0] = broken
        service.publish(Publishing(b'{"n": 1}', key=f"{broken}"), answers.append)
        service.write_once()
        assert (service.writer.trouble is not None) == broken
    service.publish(Publishing(b'{"n": 1}', key="True"), lambda outcome: answers.append(1 / 0))
    service.publish(Publishing(b'{"n": 1}', key="other"), answers.append)
    service.write_once()

    assert [type(one) for one in answers] == [Published, OSError, Published, Published]
    assert (answers[0], service.tail) == (answers[2], 3)
    service.close()


def test_a_conflict_is_handed_to_its_write_alone(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS) as steps:
        answers: list[Any] = []
        steps.service.publish(Publishing(b'{"n": 1}'), answers.append)
        steps.service.commit("nothing", 1, answers.append)
        steps.service.publish(Publishing(b'{"n": 2}'), answers.append)
        steps.service.write_once()

        assert [type(one) for one in answers] == [Published, Conflict, Published]
        assert (answers[0].first, answers[2].first) == (1, 2)
