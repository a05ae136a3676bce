"""What the routes promise, asked of a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pyarrow as pa
import pytest

from tamis import Client
from tests.server.processes import ServerProcess


@pytest.fixture(scope="module")
def http(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60) as made:
        yield made


def arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
LINES = {"content-type": "application/x-ndjson"}


def test_integers_of_any_size_stay_exact_from_body_to_notification(http: httpx.Client) -> None:
    many = 10**40 + 1
    http.put("/v1/subscriptions/exact", json={"expression": f"big = {many}"})
    receipt = http.post("/v1/events?matches=counts", json={"big": many})

    page = http.get("/v1/feeds/exact/notifications?after=0&wait=30").json()

    assert receipt.json()["matches"] == [1]
    assert page["notifications"][0]["event"] == {"big": many}


def test_forms_of_one_publishing_are_matched_alike(http: httpx.Client) -> None:
    http.put("/v1/subscriptions/forms", json={"expression": "form = 7"})
    sent = [
        http.post("/v1/events?matches=counts", json={"form": 7}),
        http.post("/v1/events?matches=counts", json=[{"form": 7}, {"form": 8}]),
        http.post("/v1/events?matches=counts", content=b'{"form": 7}\n\n{"form": 8}\n', headers=LINES),
        http.post("/v1/events?matches=counts", content=arrow(pa.table({"form": [7, 8]})), headers=ARROW),
    ]

    assert [one.status_code for one in sent] == [202] * 4
    assert [one.json()["matches"] for one in sent] == [[1], [1, 0], [1, 0], [1, 0]]
    assert [one.json()["last"] - one.json()["first"] for one in sent] == [0, 1, 1, 1]


def test_an_event_that_is_refused_is_refused_alone(http: httpx.Client) -> None:
    some = http.post("/v1/events", content=b'{"a": 1}\n7\n{"a": 2}', headers=LINES)
    none = http.post("/v1/events", content=b"7", headers=LINES)
    nothing = http.post("/v1/events", json=[])

    assert (some.status_code, some.json()["accepted"]) == (202, 2)
    assert [one["index"] for one in some.json()["rejected"]] == [1]
    assert (none.status_code, none.json()["index"]) == (422, 0)
    assert len(none.json()["rejected"]) == 1
    assert (nothing.status_code, nothing.json()["detail"]) == (422, "expected an event at least, found none")


def test_a_key_is_one_publishing_and_one_receipt(http: httpx.Client) -> None:
    key = {"idempotency-key": "routes-1"}
    first = http.post("/v1/events", json={"k": 1}, headers=key)
    again = http.post("/v1/events", json={"k": 1}, headers=key)
    other = http.post("/v1/events", json={"k": 2}, headers=key)

    assert first.status_code == again.status_code == 202
    assert first.json() == again.json()
    assert other.status_code == 422
    assert other.json()["type"].endswith("KeyReused")


def test_an_etag_keeps_a_late_write_out(http: httpx.Client) -> None:
    body = {"expression": "price < 3"}
    made = http.put("/v1/subscriptions/tagged", json=body, headers={"if-none-match": "*"})
    twice = http.put("/v1/subscriptions/tagged", json=body, headers={"if-none-match": "*"})
    changed = http.put("/v1/subscriptions/tagged", json=body, headers={"if-match": made.headers["etag"]})
    late = http.put("/v1/subscriptions/tagged", json=body, headers={"if-match": made.headers["etag"]})
    kept = http.request("DELETE", "/v1/subscriptions/tagged", headers={"if-match": made.headers["etag"]})
    gone = http.request("DELETE", "/v1/subscriptions/tagged", headers={"if-match": changed.headers["etag"]})

    found = [one.status_code for one in (made, twice, changed, late, kept, gone)]
    assert found == [201, 412, 200, 412, 412, 200]


@pytest.mark.parametrize("id", ["a/b", "a b", "ü", "a..", "try", "delete", "%2F", "a/stream", "?", "#"])
def test_an_id_may_have_any_letters(http: httpx.Client, client: Client, id: str) -> None:
    client.subscribe(id, "odd = 1")

    assert client.subscription(id).id == id
    assert client.feed(id).subscriptions == 1
    client.publish({"odd": 1}, counts=True)
    assert id in next(client.listen(id)).subscriptions
    client.unsubscribe(id)


def test_a_mistake_in_an_expression_points_at_its_column(http: httpx.Client) -> None:
    answer = http.put("/v1/subscriptions/wrong", json={"expression": "price << 3"})

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["column"] == 8


def test_all_lines_of_a_bulk_load_count_or_none(http: httpx.Client) -> None:
    lines = [json.dumps({"id": f"bulk {n}", "expression": "x = 1"}) for n in range(3)]
    wrong = http.post(
        "/v1/subscriptions", content="\n".join([*lines, '{"id": "z", "expression": "x ="}']), headers=LINES
    )
    assert wrong.status_code == 422
    assert http.get("/v1/subscriptions/bulk%200").status_code == 404

    right = http.post("/v1/subscriptions", content="\n".join(lines), headers=LINES)

    assert (right.status_code, right.json()["accepted"]) == (200, 3)
    assert http.get("/v1/subscriptions/bulk%200").json()["position"] == right.json()["position"]


def test_an_export_is_a_load(http: httpx.Client) -> None:
    http.put("/v1/subscriptions/exported", json={"expression": "x = 2", "expires": "2099-01-01T00:00:00Z"})
    lines = http.get("/v1/subscriptions", headers={"accept": LINES["content-type"]}).content
    table = http.get("/v1/subscriptions", headers={"accept": ARROW["content-type"]}).content

    by_lines = http.post("/v1/subscriptions", content=lines, headers=LINES)
    by_table = http.post("/v1/subscriptions", content=table, headers=ARROW)

    assert by_lines.status_code == by_table.status_code == 200, by_lines.text
    assert by_lines.json()["accepted"] == by_table.json()["accepted"] == len(lines.splitlines())
    assert http.get("/v1/subscriptions/exported").json()["expires"].startswith("2099-01-01")


def test_a_subscription_that_is_past_its_time_is_gone(client: Client) -> None:
    client.subscribe("past", "x = 3", expires=datetime.now(UTC) - timedelta(seconds=1))

    assert client.publish({"x": 3}, counts=True).matches == [0]


def test_pages_of_subscriptions_are_whole(http: httpx.Client, client: Client) -> None:
    client.subscribe_many({f"page {n:03}": "x = 4" for n in range(25)})
    found: list[str] = []
    after = "page"
    while after is not None and after.startswith("page"):
        page = http.get("/v1/subscriptions", params={"limit": 10, "after": after}).json()
        found += [one["id"] for one in page["subscriptions"]]
        after = page["next"]

    assert [id for id in found if id.startswith("page ")] == [f"page {n:03}" for n in range(25)]


def test_an_expression_is_tried_on_what_was_published(http: httpx.Client) -> None:
    for n in range(8):
        http.post("/v1/events?matches=counts", json={"tried": n})

    answer = http.post("/v1/subscriptions/try", json={"expression": "tried < 6", "events": 1000}).json()

    assert answer["matched"] == 6
    assert len(answer["examples"]) == 5
    assert all(line["holds"] for one in answer["examples"] for line in one["lines"])


def test_a_leased_page_is_one_readers_until_it_is_acknowledged(http: httpx.Client) -> None:
    http.put("/v1/subscriptions/leased", json={"expression": "leased = 1"})
    positions = [http.post("/v1/events?matches=counts", json={"leased": 1}).json()["first"] for _ in range(3)]

    page = http.get("/v1/feeds/leased/notifications?limit=2&wait=30").json()
    other = http.get("/v1/feeds/leased/notifications?limit=2")
    past = http.post("/v1/feeds/leased/ack", json={"position": positions[2] + 100, "lease": page["lease"]})
    done = http.post("/v1/feeds/leased/ack", json={"position": page["next"], "lease": page["lease"]})

    assert [one["position"] for one in page["notifications"]] == positions[:2]
    assert other.status_code == past.status_code == 409
    assert done.json()["position"] == page["next"]
    assert [
        one["position"]
        for one in http.get("/v1/feeds/leased/notifications", params={"lease": page["lease"]}).json()["notifications"]
    ] == positions[2:]


def test_a_stream_goes_on_after_the_last_id(http: httpx.Client, client: Client) -> None:
    client.subscribe("resumed", "resumed > 0")
    positions = [client.publish({"resumed": n}).first for n in range(1, 5)]

    with http.stream("GET", "/v1/feeds/resumed/stream", headers={"last-event-id": f"{positions[1]}@resumed"}) as stream:
        frames = iter(stream.iter_text())
        text = ""
        while text.count("event: notification") < 2:
            text += next(frames)

    assert text.startswith(f"retry: 1000\n\nid: {positions[1]}@resumed\n\n")
    assert [f"id: {one}@resumed\nevent: notification\ndata: " in text for one in positions] == [
        False,
        False,
        True,
        True,
    ]


def test_a_stream_without_news_says_where_it_is(http: httpx.Client, client: Client) -> None:
    client.subscribe("quiet", "quiet = 1")
    there = client.publish({"loud": 1}, counts=True).first

    with http.stream("GET", "/v1/feeds/quiet/stream") as stream:
        text = ""
        for piece in stream.iter_text():
            text += piece
            if f"id: {there}@quiet\n\n" in text:
                break

    assert "event:" not in text


def test_matching_sees_what_was_written_before(http: httpx.Client, client: Client) -> None:
    for n in range(5):
        client.subscribe("seen", f"seen = {n}")
        assert client.match({"seen": n}) == ["seen"]

    stale = http.post("/v1/match", json={"events": [{}]}, headers={"tamis-position": str(2**52)})
    assert stale.status_code in (429, 503)


def test_stored_events_are_explained_by_their_position(client: Client) -> None:
    client.subscribe("why", "colour = 'red' and size > 3")
    at = client.publish({"colour": "red", "size": 2}, counts=True).first

    told = client.explain("why", at)

    assert not told.matches
    assert [line.holds for line in told.lines] == [True, False]


def test_the_schema_is_extended_while_events_flow(http: httpx.Client, client: Client) -> None:
    toml = 'open = true\n[domains.grade]\ntype = "enumerated"\nvalues = ["a", "b"]\n[attributes]\ngrade = "grade"\n'
    twin = 'open = true\n[domains.mark]\ntype = "enumerated"\nvalues = ["a", "b"]\n'
    first = http.post("/v1/schema", content=toml, headers={"content-type": "application/toml"})
    second = http.post("/v1/schema", json={"toml": twin})

    assert first.status_code == 200, first.text
    assert second.json()["version"] == first.json()["version"] + 1
    assert "'mark'" in second.json()["warnings"][0]
    assert "grade" in http.get("/v1/schema", headers={"accept": "application/toml"}).text
    assert http.put("/v1/subscriptions/graded", json={"expression": "grade = c"}).status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", "/nowhere", {}, b"", 404),
        ("PATCH", "/v1/events", {}, b"", 405),
        ("POST", "/v1/events", {"content-type": "application/x-www-form-urlencoded"}, b"{}", 415),
        ("POST", "/v1/events", {"content-type": "application/json", "content-encoding": "gzip"}, b"{}", 415),
        ("POST", "/v1/events?match=counts", {"content-type": "application/json"}, b"{}", 400),
        ("GET", "/v1/feeds?limit=0", {}, b"", 400),
        ("GET", "/healthz", {"host": "example.org"}, b"", 421),
        ("GET", "/v1/stream", {}, b"", 400),
        ("GET", "/v1/stream?where=price%20%3C", {}, b"", 422),
        ("GET", "/v1/feeds/nobody/stream", {}, b"", 404),
        ("GET", "/v1/feeds/nobody/notifications", {}, b"", 404),
        ("DELETE", "/v1/feeds/nobody", {}, b"", 404),
        ("POST", "/v1/explain", {"content-type": "application/json"}, b'{"id": "nobody"}', 400),
        ("POST", "/v1/explain", {"content-type": "application/json"}, b'{"id": "nobody", "event": {}}', 404),
        ("POST", "/v1/uploads/none/commit", {"content-type": "application/json"}, b'{"pieces": 1}', 409),
        ("PUT", "/v1/feeds/f", {"content-type": "application/json"}, b'{"channel": "pigeon"}', 400),
    ],
)
def test_mistakes_are_told_as_problems(
    http: httpx.Client, method: str, path: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    answer = http.request(method, path, headers=headers, content=body)

    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


def test_a_request_has_an_id(http: httpx.Client) -> None:
    assert http.get("/healthz", headers={"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert len(http.get("/healthz", headers={"x-request-id": "a b"}).headers["x-request-id"]) == 32


def test_numbers_are_told_as_prometheus_reads_them(http: httpx.Client) -> None:
    text = http.get("/metrics").text

    assert 'tamis_http_requests_total{method="GET",route="/healthz",status="200"}' in text
    assert "\ntamis_streams " in text
    for line in text.splitlines():
        assert line.startswith("#") or float(line.rsplit(" ", 1)[1]) >= 0
