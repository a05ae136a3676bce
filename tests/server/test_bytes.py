"""Whatever is thrown at a route, the answer is an answer: never 500, and whatever is wrong is told as a problem."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tamis.server.routes import ROUTES
from tests.server.processes import ServerProcess

VISIBLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMED = ("id", "expression", "feed", "expires", "events", "event", "position", "pieces", "channel", "ids", "toml")
OBJECTS = st.dictionaries(st.sampled_from(NAMED), VALUES | st.just("price < 3"), max_size=4)
MEDIA = sorted({media for route in ROUTES for media in route.takes} | {"text/plain", ""})
PARAMETERS = sorted({one.name for route in ROUTES for one in route.parameters if one.place == "query"})
HEADERS = sorted({one.name for route in ROUTES for one in route.parameters if one.place == "header"} | {"Accept"})


@st.composite
def requests(draw: st.DrawFn) -> httpx.Request:
    route = draw(st.sampled_from(ROUTES))
    path = re.sub(r"\{\w+\}", lambda _: quote(draw(st.text(min_size=1, max_size=5)), safe=""), route.path)
    query = draw(st.dictionaries(st.sampled_from(PARAMETERS), st.text(max_size=8) | st.just("3"), max_size=2))
    query.pop("wait", None)  # it would be waited for
    headers = draw(
        st.dictionaries(st.sampled_from(HEADERS), VISIBLE | st.sampled_from(["*", '"1"', "3@a"]), max_size=2)
    )
    media = draw(st.sampled_from([*route.takes, *MEDIA] if route.takes else MEDIA))
    body = draw(
        st.binary(max_size=40)
        | OBJECTS.map(lambda one: json.dumps(one).encode())
        | VALUES.map(lambda one: json.dumps(one).encode())
        | st.lists(OBJECTS, max_size=3).map(lambda some: "\n".join(map(json.dumps, some)).encode())
        | st.sampled_from([b"[" * 100_000, b'{"a":' * 5_000, b'{"price": NaN}', b'{"price": 1e999}', b"\xff\xfe"])
    )
    headers = {"content-type": media, "tamis-position": "0", **headers}
    method = draw(st.sampled_from([route.method] * 9 + ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH"]))
    return httpx.Request(method, f"http://127.0.0.1{path}", params=query, headers=headers, content=body)


@pytest.fixture(scope="module")
def sender(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60) as made:
        yield made


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=requests())
def test_no_bytes_make_the_server_fail(server: ServerProcess, sender: httpx.Client, request: httpx.Request) -> None:
    request.url = request.url.copy_with(port=server.port)
    answer = sender.send(request, stream=True)
    media = answer.headers.get("content-type", "")
    body = b"" if media.startswith("text/event-stream") else answer.read()
    answer.close()

    assert answer.status_code != 500, (request, request.content, server.log())
    if answer.status_code >= 400 and request.method != "HEAD":
        assert media == "application/problem+json"
        problem = json.loads(body)
        assert problem["status"] == answer.status_code
        assert {"type", "title", "detail"} <= problem.keys()


@pytest.mark.parametrize(
    "raw", [b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/events HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_http_ends_its_connection_alone(server: ServerProcess, sender: httpx.Client, raw: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(raw)
        line.shutdown(socket.SHUT_WR)
        while line.recv(1000):
            pass

    assert sender.get("/healthz").status_code == 200
