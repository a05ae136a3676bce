"""Events in any form, rejected alone, answered once by their key, and given back exactly as they were written."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tamis.errors import EventError, KeyReused, LimitError, TooBusy
from tamis.model import Schema
from tamis.service import Publishing, Service, Settings
from tests.service.steps import Steps

OFFERS = Schema.loads('[attributes]\nprice = "number"\n[event_types.offer]\nprice = "mandatory"\n')


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b'{"price": 1}', "json"),
        (b' {\n"price":\r\n 1 }\n', "json"),
        (b'[{"price": 1}, {"price": 2}]', "json"),
        (b'\xef\xbb\xbf[\n{"price":\n1}\n,{"price": 2}\n]', "json"),
        (b'{"price": 1}\n\n{"price": 2}\r\n', "jsonl"),
    ],
)
@pytest.mark.parametrize("schema", [None, OFFERS])
def test_json_in_any_form(body: bytes, form: str, schema: Schema | None, tmp_path: Path) -> None:
    with Steps(tmp_path, schema) as steps:
        steps.subscribe("low", "price < 2", "ann")

        receipt = steps.publish(body, form)  # type: ignore[arg-type]

        assert receipt.first == 2
        assert receipt.accepted == receipt.last - 1  # type: ignore[operator]
        assert steps.told("ann") == [(2, ["low"])]
        assert [json.loads(one.event) for one in steps.service.read_feed("ann", 0).notifications] == [{"price": 1}]


def test_integers_of_any_size_stay_exact(tmp_path: Path) -> None:
    huge = 2**200 + 1
    with Steps(tmp_path) as steps:
        steps.subscribe("exactly", f"n = {huge}", "ann")
        steps.subscribe("nearly", f"n = {huge - 1}", "bob")

        steps.publish(b'{"n": %d, "f": 1.10}' % huge)
        steps.reopen()

        (one,) = steps.service.read_feed("ann", 0).notifications
        assert one.event == b'{"n": %d, "f": 1.10}' % huge
        assert steps.told("bob") == []


def test_what_breaks_a_rule_is_rejected_alone_with_the_library_s_sentence(tmp_path: Path) -> None:
    events = [{"price": 1}, {"price": "x"}, {"colour": "red", "price": 1}, {}, {"price": 2}]
    with Steps(tmp_path, OFFERS) as steps:
        receipt = steps.publish(json.dumps(events).encode())

        assert (receipt.accepted, receipt.first, receipt.last) == (2, 1, 2)
        assert [(one.index, one.rule, one.attribute) for one in receipt.rejected] == [
            (1, "R2", "price"),
            (2, "R3", "colour"),
            (3, "R2", "price"),
        ]
        assert "expected a number" in receipt.rejected[0].detail


def test_a_line_that_is_no_json_is_rejected_alone_but_such_an_array_is_refused_whole(tmp_path: Path) -> None:
    with Steps(tmp_path) as steps:
        receipt = steps.publish(b'{"a": 1}\n{"a": \n[1]\n{"a": NaN}\n{"a": 2}', "jsonl")

        assert receipt.accepted == 2
        assert [one.index for one in receipt.rejected] == [1, 2, 3]
        with pytest.raises(EventError, match="line 1, column 11"):
            steps.publish(b'[{"a": 1} {"a": 2}]')
        for nothing in (b"", b"[]", b"3"):
            with pytest.raises(EventError):
                steps.publish(nothing)
        assert steps.publish(b'{"a": 1} {"a": 2}').accepted == 0
        nested = steps.publish(b'[[null, null], [1], [{"a": 1}]]')
        assert [one.index for one in nested.rejected] == [0, 1, 2]
        assert steps.service.tail == 2


def test_nothing_accepted_is_nothing_logged(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS) as steps:
        receipt = steps.publish(b"{}")

        assert (receipt.first, receipt.last, receipt.accepted) == (None, None, 0)
        assert [(one.index, one.rule) for one in receipt.rejected] == [(0, "R2")]
        assert steps.service.tail == 0


def test_too_many_events_are_a_limit(tmp_path: Path) -> None:
    with Steps(tmp_path, settings=Settings(most_events=2)) as steps, pytest.raises(LimitError) as caught:
        steps.publish(b"{}\n{}\n{}", "jsonl")

    assert (caught.value.limit, caught.value.found) == (2, 3)


def test_arrow_is_kept_as_arrow(tmp_path: Path) -> None:
    table = pa.table(
        {
            "price": [1, None, 2**60 + 1],
            "at": pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * 3),
            "tags": [["a", "b"], [], None],
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with Steps(tmp_path) as steps:
        steps.subscribe("all", "at is present", "ann")
        steps.subscribe("exact", f"price = {2**60 + 1}", "bob")

        receipt = steps.publish(sink.getvalue().to_pybytes(), "arrow")
        steps.publish(table.slice(0, 1), "arrow")
        steps.reopen()

        assert receipt.accepted == 3
        assert steps.told("ann") == [(position, ["all"]) for position in (3, 4, 5, 6)]
        assert steps.told("bob") == [(5, ["exact"])]
        events = [json.loads(one.event) for one in steps.service.read_feed("ann", 0).notifications]
        assert events[0] == {"price": 1, "at": "2026-01-01T00:00:00+00:00", "tags": ["a", "b"]}
        assert events[2]["price"] == 2**60 + 1
        assert steps.service.explain("all", 4).explanation.matches
        with pytest.raises(EventError, match="a stream of Arrow"):
            steps.publish(b"nonsense", "arrow")


def test_rows_of_arrow_are_rejected_alone(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS) as steps:
        steps.subscribe("low", "price < 5", "ann")
        receipt = steps.publish(pa.table({"price": [1.0, float("nan"), 2.0]}), "arrow")

        assert [one.index for one in receipt.rejected] == [1]
        assert steps.told("ann") == [(2, ["low"]), (3, ["low"])]


def test_one_key_one_publish_one_receipt(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS) as steps:
        first = steps.publish(b'[{"price": 1}, {"price": "x"}]', key="k")
        again = steps.publish(b'[{"price": 1}, {"price": "x"}]', key="k")
        steps.reopen()
        later = steps.publish(b'[{"price": 1}, {"price": "x"}]', key="k")

        assert first == again == later
        assert steps.service.tail == 1
        with pytest.raises(KeyReused, match="'k'"):
            steps.publish(b'[{"price": 2}]', key="k")
        steps.now += 25 * 3600
        assert steps.publish(b'[{"price": 2}]', key="k").first == 2


def test_writes_that_wait_together_share_a_commit_and_each_is_answered(tmp_path: Path) -> None:
    with Steps(tmp_path, OFFERS) as steps:
        answers: list[object] = []
        for price in range(5):
            body = json.dumps({"price": price}).encode()
            steps.service.publish(Publishing(body, key=f"k{price % 3}"), answers.append)  # type: ignore[arg-type]

        assert steps.service.write_once() == 5
        assert steps.service.writer.commits == 1
        assert [type(one).__name__ for one in answers] == ["Published"] * 3 + ["KeyReused"] * 2
        assert [one.first for one in answers[:3]] == [1, 2, 3]  # type: ignore[attr-defined]


def test_back_pressure_comes_before_anything_is_taken_and_deletes_pass(tmp_path: Path) -> None:
    with Steps(tmp_path, settings=Settings(most_lag=3, most_queued_bytes=100)) as steps:
        service: Service = steps.service
        steps.subscribe("a", "n > 0")
        answers: list[object] = []
        service.publish(Publishing(b'{"n": 1}\n' * 5, "jsonl"), answers.append)  # type: ignore[arg-type]
        with pytest.raises(TooBusy, match="wait for the disk"):
            service.publish(Publishing(b'{"n": 1}\n' * 9, "jsonl"), answers.append)  # type: ignore[arg-type]
        service.write_once()

        with pytest.raises(TooBusy, match="5 positions behind") as caught:
            service.publish(Publishing(b'{"n": 1}'), answers.append)  # type: ignore[arg-type]
        assert caught.value.retry_after > 0
        service.unsubscribe("a", answers.append)  # type: ignore[arg-type]
        service.write_once()

        assert len(answers) == 2
        assert service.tail == 7


def test_an_event_that_waits_while_the_schema_grows_is_read_by_the_new_one(tmp_path: Path) -> None:
    closed = Schema.loads('[attributes]\nprice = "number"\n[event_types.offer]\nprice = "optional"\n')
    more = Schema.loads('[attributes]\nprice = "number"\n[event_types.bid]\nprice = "optional"\n')
    with Steps(tmp_path, closed) as steps:
        answers: list[object] = []
        steps.service.extend(more, answers.append)  # type: ignore[arg-type]
        steps.service.publish(Publishing(b'[{"price": 1}, {"price": 2, "event_type": "offer"}]'), answers.append)  # type: ignore[arg-type]
        steps.service.write_once()

        receipt = answers[1]
        assert [(one.index, one.rule) for one in receipt.rejected] == [(0, "R1")]  # type: ignore[attr-defined]
        assert receipt.accepted == 1  # type: ignore[attr-defined]
