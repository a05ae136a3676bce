"""Subscriptions, feeds, bulk loads, expiry, leases: what the log's order decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tamis.errors import (
    Conflict,
    EtagMismatch,
    KeyReused,
    LanguageError,
    LimitError,
    OptionError,
    SchemaError,
    SegmentError,
    ServiceClosed,
    UnknownFeed,
    UnknownPosition,
    UnknownSubscription,
)
from tamis.model import Schema
from tamis.service import FeedSettings, NewSubscription, Publishing, Service, Settings
from tests.service.steps import START, Steps


def _items(*pairs: tuple[str, str]) -> list[NewSubscription]:
    return [NewSubscription(id, text) for id, text in pairs]


def test_an_event_meets_whoever_lived_at_its_position(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        answers: list[Any] = []
        service = steps.service
        service.publish(Publishing(b'{"n": 1}'), answers.append)
        service.subscribe(NewSubscription("a", "n = 1", "ann"), answers.append)
        service.publish(Publishing(b'{"n": 1}'), answers.append)
        service.subscribe(NewSubscription("a", "n = 2", "ann"), answers.append)
        service.publish(Publishing(b'[{"n": 1}, {"n": 2}]'), answers.append)
        service.unsubscribe("a", answers.append)
        service.publish(Publishing(b'{"n": 2}'), answers.append)
        service.write_once()
        steps.match()

        assert [service.counts(at, at)[0] for at in (1, 3, 5, 6, 8)] == [0, 1, 0, 1, 0]
        assert [one.created for one in (answers[1], answers[3])] == [True, False]


def test_a_feed_is_made_for_its_subscriptions_and_goes_with_the_last(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        assert steps.subscribe("a", "n = 1").subscription.feed == "a"
        steps.subscribe("b", "n = 1", "ann")
        steps.subscribe("b", "n = 2")

        assert steps.service.subscription("b").feed == "ann"
        assert [feed.name for feed in steps.service.feeds()] == ["a", "ann"]
        steps.subscribe("b", "n = 2", "bob")
        assert [feed.name for feed in steps.service.feeds()] == ["a", "bob"]
        steps.do(steps.service.put_feed, "bob", FeedSettings("pull"))
        steps.do(steps.service.unsubscribe_many, ["a", "b"])
        assert [(feed.name, feed.auto) for feed in steps.service.feeds()] == [("bob", False)]
        with pytest.raises(UnknownFeed):
            steps.service.read_feed("a")


def test_deleting_a_feed_ends_its_subscriptions_and_a_new_one_of_its_name_begins_afresh(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        steps.subscribe("a", "n > 0", "ann")
        steps.publish(b'{"n": 1}')
        woken: list[bool] = []
        steps.service.watch("ann", lambda: woken.append(True))

        steps.do(steps.service.delete_feed, "ann")

        assert woken == [True]
        with pytest.raises(UnknownSubscription):
            steps.service.subscription("a")
        steps.subscribe("a", "n > 0", "ann")
        last = steps.publish(b'{"n": 2}').last
        assert steps.told("ann") == [(last, ["a"])]
        with pytest.raises(UnknownFeed):
            steps.do(steps.service.delete_feed, "nobody")


def test_etags_tell_versions_apart(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        with pytest.raises(EtagMismatch) as caught:
            steps.subscribe("a", "n = 1", if_match="*")
        assert caught.value.etag is None
        first = steps.subscribe("a", "n = 1", if_match="").subscription.etag
        with pytest.raises(EtagMismatch) as caught:
            steps.subscribe("a", "n = 2", if_match="")
        assert caught.value.etag == first
        second = steps.subscribe("a", "n = 2", if_match=first).subscription.etag

        assert first != second == steps.service.subscription("a").etag
        with pytest.raises(EtagMismatch):
            steps.do(steps.service.unsubscribe, "a", if_match=first)
        steps.do(steps.service.unsubscribe, "a", if_match=second)


def test_mistakes_are_told_at_once_and_leave_nothing(tmp_path: Path) -> None:
    with Steps(tmp_path, settings=Settings(expression_characters=50, most_subscriptions=3)) as steps:
        with pytest.raises(LanguageError, match="column 4"):
            steps.subscribe("a", "n <<< 1")
        with pytest.raises(LimitError, match="50 characters"):
            steps.subscribe("a", "n = " + "1" * 60)
        with pytest.raises(OptionError, match="an id"):
            steps.subscribe("", "n = 1")
        with pytest.raises(OptionError, match="a zone"):
            steps.do(steps.service.subscribe, NewSubscription("a", "n = 1", None, datetime(2030, 1, 1)))  # noqa: DTZ001
        with pytest.raises(LanguageError, match="'b'"):
            steps.do(steps.service.subscribe_many, _items(("a", "n = 1"), ("b", "n <<< 1")))
        with pytest.raises(LimitError):
            steps.do(steps.service.subscribe_many, _items(*[(f"s{at}", "n = 1") for at in range(4)]))
        with pytest.raises(UnknownSubscription):
            steps.do(steps.service.unsubscribe_many, ["a"])

        assert steps.service.tail == 0
        assert not steps.subscribe("a", "n = 1").never_matching
        assert steps.subscribe("a", "n = 1 and n = 2").never_matching


def test_many_at_once_are_one_position_and_the_last_of_an_id_counts(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        many = [(f"s{at}", f"n = {at}") for at in range(100)]
        loaded = steps.do(steps.service.subscribe_many, _items(*many, ("s0", "n = 7")), key="k")

        assert (loaded.accepted, loaded.position, steps.service.tail) == (101, 1, 1)
        assert steps.do(steps.service.subscribe_many, _items(*many, ("s0", "n = 7")), key="k") == loaded
        with pytest.raises(KeyReused):
            steps.do(steps.service.subscribe_many, _items(("s0", "n = 7")), key="k")
        assert steps.service.match(b'{"n": 7}').matches == [["s7", "s0"]]
        with pytest.raises(LanguageError, match="'s50'"):
            steps.do(steps.service.subscribe_many, _items(*many[:50], ("s50", "n <<< 1"), *many[51:]))


def test_a_staged_load_takes_effect_at_one_position_or_not_at_all(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        service = steps.service
        assert steps.do(service.stage, "u", 1, _items(("b", "n = 1"), ("a", "n = 2"))).pieces == 1
        with pytest.raises(Conflict, match="expected pieces 0 to 1"):
            steps.do(service.commit, "u", 2)
        steps.do(service.stage, "u", 0, _items(("a", "n = 1")))
        staged = steps.do(service.stage, "u", 0, _items(("a", "n = 1")))
        with pytest.raises(Conflict, match="other content"):
            steps.do(service.stage, "u", 0, _items(("a", "n = 3")))

        assert (staged.pieces, staged.subscriptions, service.tail) == (2, 3, 0)
        steps.reopen()
        loaded = steps.do(steps.service.commit, "u", 2)
        assert loaded == steps.do(steps.service.commit, "u", 2)
        assert (loaded.accepted, steps.service.tail) == (3, 1)
        assert [(one.id, one.expression) for one in steps.service.subscriptions()] == [("a", "n = 2"), ("b", "n = 1")]


def test_what_expires_does_so_at_a_position(tmp_path: Path) -> None:
    soon = datetime.fromtimestamp(START, UTC) + timedelta(seconds=10)
    with Steps(tmp_path) as steps:
        steps.do(steps.service.subscribe, NewSubscription("a", "n > 0", "ann", soon))
        steps.publish(b'{"n": 1}')
        steps.now += 10
        last = steps.publish(b'{"n": 1}').last
        steps.now -= 60  # the log's time does not go back
        again = steps.publish(b'{"n": 1}').last

        assert (last, again) == (4, 5)
        assert steps.service.counts(1, 5) == [0, 1, 0, 0, 0]
        assert steps.service.feeds() == []


def test_pages_come_in_order_and_export_is_of_one_moment(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        steps.do(steps.service.subscribe_many, _items(*[(f"s{at:03}", "n = 1") for at in range(20)]))

        first = steps.service.subscriptions(limit=12)
        second = steps.service.subscriptions(first[-1].id, 12)
        export = steps.service.export()
        listed = [one.id for one in next(export)]

        assert [one.id for one in [*first, *second]] == listed == [f"s{at:03}" for at in range(20)]
        assert [one.id for one in steps.service.subscriptions(feed="s003")] == ["s003"]


# -- cursors ------------------------------------------------------------------------------------------------------


def test_one_reader_leases_a_feed_and_acknowledges_what_it_was_given(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        service = steps.service
        steps.subscribe("a", "n > 0", "ann")
        steps.publish(b'{"n": 1}\n{"n": 2}\n{"n": 3}', "jsonl")
        page = service.read_feed("ann", limit=2)
        lease = steps.do(service.lease, "ann", 30.0, page.next)

        assert (page.next, lease.cursor) == (3, 0)
        with pytest.raises(Conflict, match="leased to another reader until"):
            steps.do(service.lease, "ann", 30.0, page.next)
        with pytest.raises(Conflict, match="leased"):
            steps.do(service.acknowledge, "ann", 2)
        with pytest.raises(Conflict, match="not delivered"):
            steps.do(service.acknowledge, "ann", 4, token=lease.token)
        assert steps.do(service.acknowledge, "ann", 3, token=lease.token).position == 3
        assert steps.do(service.acknowledge, "ann", 2, token=lease.token).position == 3
        steps.reopen()
        service = steps.service
        renewed = steps.do(service.lease, "ann", 30.0, 4, token=lease.token)
        assert (renewed.token, renewed.cursor) == (lease.token, 3)
        assert [one.position for one in service.read_feed("ann").notifications] == [4]
        steps.now += 31
        other = steps.do(service.lease, "ann", 30.0, 4)
        assert other.token != lease.token
        with pytest.raises(Conflict):
            steps.do(service.acknowledge, "ann", 4, token=lease.token)
        with pytest.raises(UnknownPosition):
            steps.do(service.lease, "ann", 30.0, 99)


# -- the schema ---------------------------------------------------------------------------------------------------


def test_a_schema_grows_while_events_flow_and_tells_of_twins(tmp_path: Path) -> None:
    first = Schema.loads('[domains.room]\ntype = "enumerated"\nvalues = ["hall"]\n[attributes]\nprice = "number"\n')
    twin = Schema.loads('[domains.place]\ntype = "enumerated"\nvalues = ["hall"]\n[attributes]\nat = "place"\n')
    with Steps(tmp_path, first) as steps:
        steps.subscribe("a", "price > 0", "ann")
        extended = steps.do(steps.service.extend, twin, key="k")

        assert (extended.version, extended.position) == (2, 2)
        assert "'place' is equal to the existing domain 'room'" in extended.warnings[0]
        assert steps.do(steps.service.extend, twin, key="k") == extended
        assert steps.do(steps.service.extend, twin).position is None
        steps.subscribe("b", "at = hall", "ann")
        steps.publish(b'{"price": 1, "at": "hall"}')
        steps.reopen()
        assert list(steps.service.schema.attributes) == ["price", "at"]
        assert steps.told("ann") == [(4, ["a", "b"])]
        with pytest.raises(SchemaError):
            steps.do(steps.service.extend, Schema.loads('[attributes]\nprice = "string"\n'))


def test_an_extension_under_which_a_text_says_something_else_is_refused_with_its_id(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        steps.subscribe("a", "price = 'x'")
        with pytest.raises(Conflict) as caught:
            steps.do(steps.service.extend, Schema.loads('[attributes]\nprice = "number"\n'))

        assert caught.value.ids == ("a",)
        assert (steps.service.schema_version, steps.service.tail) == (1, 1)
        steps.subscribe("a", "any(variants: size = '3')", "ann")
        steps.publish(b'{"variants": [{"size": "3"}, {"size": 4}]}')
        assert steps.told("ann") == [(3, ["a"])]
        with pytest.raises(Conflict) as caught:
            steps.do(steps.service.extend, Schema.loads('[attributes]\n"variants.size" = "number"\n'))
        assert caught.value.ids == ("a",)


# -- the folder ---------------------------------------------------------------------------------------------------


def test_one_process_holds_the_folder_and_its_schema_is_its_own(tmp_path: Path) -> None:
    with Steps(tmp_path / "kept"), pytest.raises(SegmentError, match="another service"):
        Service.open(tmp_path / "kept")
    with pytest.raises(OptionError, match="another schema"):
        Service.open(tmp_path / "kept", Schema.loads('[attributes]\nprice = "number"\n'))
    service = Service.open(tmp_path / "kept")
    service.close()
    service.close()
    with pytest.raises(ServiceClosed):
        service.unsubscribe("a", lambda outcome: None)


def test_a_damaged_log_is_named_and_a_damaged_block_says_what_to_do(tmp_path: Path) -> None:
    with Steps(tmp_path / "kept") as steps:
        steps.subscribe("a", "n > 0", "ann")
        steps.publish(b'{"n": 1}')
    content = bytearray((tmp_path / "kept" / "log.db").read_bytes())
    content[:64] = b"x" * 64
    (tmp_path / "kept" / "log.db").write_bytes(content)

    with pytest.raises(SegmentError, match=r"log\.db"):
        Service.open(tmp_path / "kept")
