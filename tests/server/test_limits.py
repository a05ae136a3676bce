"""Past a limit the answer is 413 or 429 with a time to come back; SIGTERM finishes what was accepted."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tamis import Client, ServiceError
from tests.server.processes import ServerProcess

LIMITS = {"most_body_bytes": 2_000, "most_streams": 2, "most_requests": 1, "most_events": 5, "most_subscriptions": 3}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("limits") / "data", log="requests", **LIMITS) as running:
        yield running


@pytest.fixture
def http(small: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=small.url, timeout=60) as made:
        yield made


def test_a_body_that_is_too_long_is_not_read(http: httpx.Client) -> None:
    told = http.post("/v1/events", json={"a": "x" * 3_000})
    untold = http.post(
        "/v1/events", content=iter([b" " * 1_500, b" " * 1_500]), headers={"content-type": "application/json"}
    )

    assert told.status_code == untold.status_code == 413
    assert told.json()["limit"] == 2_000


def test_too_many_at_once_are_too_many(http: httpx.Client) -> None:
    lines = "\n".join(json.dumps({"id": f"{n}", "expression": "a = 1"}) for n in range(4))

    events = http.post("/v1/events", json=[{}] * 6)
    subscriptions = http.post("/v1/subscriptions", content=lines, headers={"content-type": "application/x-ndjson"})

    assert [events.status_code, subscriptions.status_code] == [413, 413]


def test_one_stream_too_many_is_told_when_to_come_back(http: httpx.Client, small: ServerProcess) -> None:
    with ExitStack() as stack:
        opened = [stack.enter_context(http.stream("GET", "/v1/stream?where=a=1")) for _ in range(2)]
        refused = http.get("/v1/stream?where=a=1")

        assert [one.status_code for one in opened] == [200, 200]
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0


def test_one_request_too_many_is_told_when_to_come_back(http: httpx.Client, small: ServerProcess) -> None:
    http.put("/v1/feeds/polled", json={})
    answers: list[int] = []

    def poll() -> None:
        while not answers:
            found = httpx.get(f"{small.url}/v1/feeds/polled/notifications?after=0&wait=3")
            if found.status_code == 429:
                answers.append(int(found.headers["retry-after"]))

    threads = [threading.Thread(target=poll) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert answers[0] > 0


def test_every_request_has_a_line_of_json_in_the_log(http: httpx.Client, small: ServerProcess) -> None:
    http.get("/nowhere", headers={"x-request-id": "look-at-me"})

    lines = [json.loads(line) for line in small.log().splitlines()]
    (mine,) = [line for line in lines if line.get("request") == "look-at-me"]
    assert (mine["event"], mine["method"], mine["path"], mine["status"]) == ("request", "GET", "/nowhere", 404)


def test_sigterm_finishes_what_was_accepted(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data").start()
    accepted: list[int] = []
    with Client(server.url) as client, Client(server.url, patience=0) as impatient:
        client.subscribe("all", "n >= 0", feed="all")
        heard = client.listen("all")
        client.publish({"n": 0})
        assert next(heard).event == {"n": 0}

        def publish() -> None:
            try:
                for n in range(100_000):
                    accepted.append(impatient.publish({"n": n}).first)
                    if n == 3:
                        server.signal(signal.SIGTERM)
            except ServiceError:
                pass

        threads = [threading.Thread(target=publish) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert server.wait() == 0
        heard.close()

    with ServerProcess(tmp_path / "data", port=server.port) as again, Client(again.url, patience=60) as client:
        last = client.publish({"n": 1}, counts=True).first
        found = []
        for one in client.listen("all", after=0):
            found.append(one.position)
            if one.position == last:
                break
    assert set(accepted) <= set(found)
    assert found == sorted(set(found))
    assert "failure" not in server.log()
