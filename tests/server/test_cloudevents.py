"""CloudEvents, sent by the official package in each of the three modes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import httpx
import pytest
from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

from tamis import Client, EventError, Schema
from tamis.server.cloudevents import of_structured
from tests.server.processes import ServerProcess

DATA = {"price": 2**53 + 1, "tags": ["à", "b"]}


def event(id: str, **data: object) -> CloudEvent:
    named = {"id": id, "source": "/shop/é", "type": "furniture", "specversion": "1.0"}
    return CloudEvent(named | {"time": datetime.now(UTC), "datacontenttype": "application/json"}, {**DATA, **data})


def sent(server: ServerProcess, headers: dict[str, str], body: bytes) -> int:
    answer = httpx.post(f"{server.url}/v1/events", headers=headers, content=body)
    assert answer.status_code == 202, answer.text
    position: int = answer.json()["first"]
    return position


@pytest.mark.parametrize("mode", ["binary", "structured", "batch"])
def test_an_event_arrives_as_its_data_with_its_type(server: ServerProcess, client: Client, mode: str) -> None:
    client.subscribe(f"cloud {mode}", f"mode = '{mode}' and event_type contains furniture")
    if mode == "batch":
        one = json.loads(to_structured_event(event("1", mode=mode)).body)
        position = sent(server, {"content-type": "application/cloudevents-batch+json"}, json.dumps([one]).encode())
    else:
        message = (to_binary_event if mode == "binary" else to_structured_event)(event("1", mode=mode))
        position = sent(server, message.headers, message.body)

    told = next(client.listen(f"cloud {mode}"))

    assert told.position == position
    assert told.event == {"event_type": "furniture", **DATA, "mode": mode}


def test_an_event_that_names_its_type_keeps_it_and_a_schema_without_types_gets_none() -> None:
    envelope = {"specversion": "1.0", "id": "1", "source": "s", "type": "t"}

    named = of_structured(json.dumps({**envelope, "data": {"event_type": "mine"}}).encode(), Schema(open=True))
    plain = of_structured(json.dumps({**envelope, "data": {"a": 1}}).encode(), Schema())

    assert json.loads(named) == {"event_type": "mine"}
    assert json.loads(plain) == {"a": 1}


@pytest.mark.parametrize(
    ("envelope", "sentence"),
    [
        ({}, "found no id"),
        (
            {"id": "1", "source": "s", "type": "t", "specversion": "0.3", "data": {}},
            "of specversion 1.0",
        ),
        ({"id": "1", "source": "s", "type": "t", "specversion": "1.0", "data": 3}, "to be a JSON object"),
        ({"id": "1", "source": "s", "type": "t", "specversion": "1.0", "data_base64": "aGk="}, "found data_base64"),
    ],
)
def test_what_is_no_event_is_told(envelope: dict[str, object], sentence: str) -> None:
    with pytest.raises(EventError, match=sentence):
        of_structured(json.dumps(envelope).encode(), Schema(open=True))
