"""Each call of the service as a value: what is sent, and how the answer is read. Both clients are made of these.

A call may be sent again when no answer came: it changes nothing, or says all there is to say, or carries a key.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import pyarrow as pa

from tamis.batches.frames import as_table
from tamis.batches.refusals import OnError, check_on_error
from tamis.client import answers
from tamis.client.answers import Answer, Feed, Page, Published, Subscribed, Tried
from tamis.client.bodies import ARROW, JSON, LINES, TOML, Body, Events, events_body, json_body, table_body
from tamis.client.matching import matches_of, raise_first
from tamis.errors import OptionError
from tamis.matches import Matches
from tamis.model import Schema
from tamis.model.values import show_raw
from tamis.registry.explaining import Explanation, Line

__all__ = ["Call", "checked_id"]

_T = TypeVar("_T")

_PIECE = 10_000
"""Subscriptions in one request; what is more goes in pieces, with one commit."""


@dataclass(frozen=True, slots=True)
class Call(Generic[_T]):
    """`text` is the expression that is sent, for an error to point into; `gone` says that a 404 to what was sent
    again means that it was done the first time."""

    method: str
    path: str
    read: Callable[[Answer], _T]
    body: bytes | None = None
    media: str = JSON
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    gone: bool = False


def checked_id(id: object, what: str = "id") -> str:
    """Over HTTP ids are texts: an integer would come back as another id than it was."""
    if not isinstance(id, str) or id in ("", ".", ".."):  # the last two are directions in an address
        raise OptionError(f"{what}: expected a text, since over HTTP ids are texts, found {show_raw(id)}")
    return id


def new_key() -> str:
    return secrets.token_urlsafe(18)


def _at(room: str, name: str, *more: str) -> str:
    return "/".join(("/v1", room, quote(checked_id(name, "name"), safe=""), *more))


def _nothing(answer: Answer) -> None:
    return None


def _position(answer: Answer) -> int:
    position: int = answer.json()["position"]
    return position


# -- publishing ---------------------------------------------------------------------------------------------------


def publish(events: Mapping[str, object] | Events, counts: bool, key: str | None) -> Call[Published]:
    body = events_body(events)
    query = {"matches": "counts"} if counts else {}
    headers = {"Idempotency-Key": key if key is not None else new_key()}
    return Call("POST", "/v1/events", answers.published, body.data, body.media, query, headers)


# -- subscribing --------------------------------------------------------------------------------------------------


def subscribe(
    id: str, expression: str, feed: str | None, expires: datetime | None, if_match: str | None
) -> Call[Subscribed]:
    told: dict[str, object] = {"expression": _expression(expression)}
    if feed is not None:
        told["feed"] = checked_id(feed, "feed")
    if expires is not None:
        told["expires"] = _moment(expires)
    tags = {} if if_match is None else {"If-None-Match": "*"} if if_match == "" else {"If-Match": _quoted(if_match)}
    path = _at("subscriptions", checked_id(id))
    headers = {"Idempotency-Key": new_key(), **tags}
    return Call("PUT", path, answers.subscribed, json_body(told), headers=headers, text=expression)


def _quoted(etag: str) -> str:
    return etag if etag == "*" else f'"{etag}"'


def _expression(text: object) -> str:
    if not isinstance(text, str):
        raise OptionError(f"expected an expression, which is a text, found {show_raw(text)}")
    return text


def _moment(when: datetime) -> str:
    if when.tzinfo is None:
        raise OptionError(f"expires: expected a datetime with its time zone, found {when.isoformat()}")
    return when.isoformat()


def subscription(id: str) -> Call[Subscribed]:
    return Call("GET", _at("subscriptions", checked_id(id)), answers.subscribed)


def unsubscribe(id: str) -> Call[None]:
    key = {"Idempotency-Key": new_key()}
    return Call("DELETE", _at("subscriptions", checked_id(id)), _nothing, headers=key, gone=True)


def unsubscribe_many(ids: Iterable[str]) -> Call[None]:
    body = json_body({"ids": [checked_id(id) for id in ids]})
    return Call("POST", "/v1/subscriptions/delete", _nothing, body, headers={"Idempotency-Key": new_key()})


def load(subscriptions: object) -> Iterator[Call[Any]]:
    """One request if it is enough; else the pieces, and last the commit, whose answer counts for all."""
    pieces = _pieces(subscriptions)
    first, second = next(pieces, None), next(pieces, None)
    if first is None:
        return
    if second is None:
        key = {"Idempotency-Key": new_key()}
        yield Call("POST", "/v1/subscriptions", answers.loaded, first.data, first.media, headers=key)
        return
    upload, count = new_key(), 0
    for piece in chain((first, second), pieces):
        yield _stage(upload, count, piece)
        count += 1
    yield Call("POST", _at("uploads", upload, "commit"), answers.loaded, json_body({"pieces": count}))


def _stage(upload: str, number: int, piece: Body) -> Call[None]:
    return Call("PUT", _at("uploads", upload, str(number)), _nothing, piece.data, piece.media)


def _pieces(given: object) -> Iterator[Body]:
    table = as_table(given)
    if table is not None:
        for first in range(0, len(table), _PIECE):
            yield table_body(table.slice(first, _PIECE))
        return
    pairs = iter(given.items()) if isinstance(given, Mapping) else _iterated(given)
    row = 0
    while some := list(islice(pairs, _PIECE)):
        lines = [json_body(_line(row + at, one)) for at, one in enumerate(some)]
        yield Body(b"\n".join(lines), LINES)
        row += len(some)


def _iterated(given: object) -> Iterator[object]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise OptionError(f"expected pairs (id, expression), a dictionary, a table or a frame, found {show_raw(given)}")
    return iter(given)


def _line(row: int, one: object) -> dict[str, object]:
    try:
        if isinstance(one, Mapping):
            found = {str(name): value for name, value in one.items()}
            if isinstance(found.get("expires"), datetime):
                found["expires"] = _moment(found["expires"])
        elif isinstance(one, tuple | list) and len(one) == 2:
            found = {"id": one[0], "expression": one[1]}
        else:
            raise OptionError(f"expected a pair (id, expression) or a mapping, found {show_raw(one)}")
        checked_id(found.get("id"))
        _expression(found.get("expression"))
    except OptionError as error:
        raise OptionError(f"row {row}: {error}") from None
    return found


def export() -> Call[pa.Table]:
    return Call("GET", "/v1/subscriptions", _table, headers={"Accept": ARROW})


def _table(answer: Answer) -> pa.Table:
    with pa.ipc.open_stream(answer.body) as reader:
        return reader.read_all()


def attempt(expression: str, events: int) -> Call[Tried]:
    body = json_body({"expression": _expression(expression), "events": events})
    return Call("POST", "/v1/subscriptions/try", answers.tried, body, text=expression)


# -- asking -------------------------------------------------------------------------------------------------------


def match(event: Mapping[str, object]) -> Call[list[str]]:
    if not isinstance(event, Mapping):
        raise OptionError(f"expected an event as a mapping, found {show_raw(event)}")
    body = events_body(event)
    return Call("POST", "/v1/match", _first, body.data, body.media)


def _first(answer: Answer) -> list[str]:
    found = answer.json()
    raise_first(answers.refusals(found["rejected"]))
    ids: list[str] = found["matches"][0]
    return ids


def match_many(events: Events, on_error: OnError, first: int = 0) -> Call[Matches[str]]:
    """`first` is the number of the first row, for what is told of those that are refused."""
    check_on_error(on_error)
    return _matching(events_body(events), on_error, first)


def match_json(data: bytes, on_error: OnError) -> Call[Matches[str]]:
    """JSON lines, or an array."""
    check_on_error(on_error)
    whole = data.lstrip().startswith(b"[")
    return _matching(Body(b'{"events":%s}' % data if whole else data, JSON if whole else LINES), on_error)


def _matching(body: Body, on_error: OnError, first: int = 0) -> Call[Matches[str]]:
    return Call(
        "POST",
        "/v1/match",
        lambda answer: matches_of(answer, on_error, first),
        body.data,
        body.media,
        headers={"Accept": ARROW},
    )


def explain(id: str, event: Mapping[str, object] | int) -> Call[Explanation]:
    """An event, or the position of a stored one."""
    if isinstance(event, int):
        return _explaining(json_body({"id": checked_id(id), "position": event}), JSON, {})
    body = events_body(event)
    if body.media == ARROW:
        return _explaining(body.data, ARROW, {"id": checked_id(id)})
    return _explaining(b'{"id":%s,"event":%s}' % (json_body(checked_id(id)), body.data), JSON, {})


def _explaining(body: bytes, media: str, query: Mapping[str, str]) -> Call[Explanation]:
    return Call("POST", "/v1/explain", _explanation, body, media, query)


def _explanation(answer: Answer) -> Explanation:
    found = answer.json()
    lines = (Line(*(one[name] for name in ("conjunction", "text", "holds", "reason"))) for one in found["lines"])
    return Explanation(found["matches"], tuple(lines))


# -- the schema, feeds --------------------------------------------------------------------------------------------


def schema() -> Call[Schema]:
    return Call("GET", "/v1/schema", lambda answer: Schema.loads(answer.json()["toml"]))


def extend(addition: Schema) -> Call[list[str]]:
    key = {"Idempotency-Key": new_key()}
    return Call("POST", "/v1/schema", _warnings, addition.dumps().encode(), TOML, headers=key)


def _warnings(answer: Answer) -> list[str]:
    warnings: list[str] = answer.json()["warnings"]
    return warnings


def put_feed(name: str, channel: str) -> Call[Feed]:
    key = {"Idempotency-Key": new_key()}
    return Call("PUT", _at("feeds", name), answers.feed, json_body({"channel": channel}), headers=key)


def feed(name: str) -> Call[Feed]:
    return Call("GET", _at("feeds", name), answers.feed)


def delete_feed(name: str) -> Call[None]:
    return Call("DELETE", _at("feeds", name), _nothing, gone=True)


def pull(name: str, after: int | None, limit: int, wait: float, lease: str | None) -> Call[Page]:
    query = {"limit": str(limit), "wait": str(wait)}
    query |= {} if after is None else {"after": str(after)}
    query |= {} if lease is None else {"lease": lease}
    return Call("GET", _at("feeds", name, "notifications"), answers.page, query=query)


def acknowledge(name: str, position: int, lease: str | None) -> Call[int]:
    body = json_body({"position": position, "lease": lease})
    return Call("POST", _at("feeds", name, "ack"), _position, body)


def listening(name: str) -> str:
    """The path of a feed's stream."""
    return _at("feeds", name, "stream")


def numbers() -> Call[dict[str, float]]:
    return Call("GET", "/metrics", _numbers)


def _numbers(answer: Answer) -> dict[str, float]:
    """Those with a name alone: what is told by route is for Prometheus."""
    lines = (line.split() for line in answer.body.decode().splitlines() if line.startswith("tamis_"))
    plain = (words for words in lines if len(words) == 2 and "{" not in words[0])
    return {name.removeprefix("tamis_"): json.loads(number) for name, number in plain}
