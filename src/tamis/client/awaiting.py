"""AsyncClient: the service, called and awaited. What its methods mean stands in `Client`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.edge import pieces_of
from tamis.batches.refusals import OnError
from tamis.client import calls
from tamis.client.answers import Feed, Loaded, Notification, Page, Published, Subscribed, Tried
from tamis.client.bodies import Events
from tamis.client.calls import Call
from tamis.client.streaming import Listening
from tamis.client.trying import Trying, checked_url, limits, request_of, times
from tamis.matches import Matches
from tamis.model import Schema
from tamis.registry.explaining import Explanation
from tamis.registry.given import Subscribing

__all__ = ["AsyncClient"]

_T = TypeVar("_T")


class AsyncClient:
    """A service at a URL. Any number of threads may use one; `close`, or the end of a `with`, ends its connections.

    A call that got no answer, or was told that the service is busy, is sent again for `patience` seconds; one answer
    may take `timeout` seconds.
    """

    def __init__(self, url: str, *, timeout: float = 30.0, patience: float = 30.0) -> None:
        self._url = checked_url(url)
        self._patience = patience
        self._timeout = timeout
        self._http = httpx.AsyncClient(base_url=self._url, timeout=times(timeout), limits=limits(), trust_env=False)

    def __repr__(self) -> str:
        return f"<AsyncClient: {self._url}>"

    async def _run(self, call: Call[_T]) -> _T:
        trying, sent = Trying(self._patience, call), request_of(call)
        while True:
            try:
                got = await self._http.request(**sent)
                found = trying.answered(got.status_code, got.headers, got.content)
            except httpx.TransportError as error:
                found = trying.lost(error)
            if not isinstance(found, float):
                return call.read(found)
            await asyncio.sleep(found)

    # -- publishing -------------------------------------------------------------------------------------------

    async def publish(
        self, events: Mapping[str, object] | Events, *, counts: bool = False, key: str | None = None
    ) -> Published:
        """One event or many onto the log, once, however often it must be sent; the answer comes when they are on disk.

        Events that break a rule are refused alone, and told in `errors`; if none is left, the first one's error is
        raised. With `counts`, wait for the matcher and tell how many subscriptions each accepted event met.
        """
        return await self._run(calls.publish(events, counts, key))

    # -- subscribing ------------------------------------------------------------------------------------------

    async def subscribe(
        self,
        id: str,
        expression: str,
        *,
        feed: str | None = None,
        expires: datetime | None = None,
        if_match: str | None = None,
    ) -> Subscribed:
        """Subscribe an id, or replace what it had. Its notifications go to `feed`, or to one named as the id.

        `if_match` is the etag that it must have, "*" for any, "" for none there yet.
        """
        return await self._run(calls.subscribe(id, expression, feed, expires, if_match))

    async def subscribe_many(self, subscriptions: Subscribing) -> Loaded:
        """Pairs, mappings with `id`, `expression` and perhaps `feed` and `expires`, a dictionary, a table or a frame,
        of any size: all take effect at one position, or on an error that says which is wrong, none."""
        done: Any = Loaded(0, 0)
        for call in calls.load(subscriptions):
            done = await self._run(call)
        loaded: Loaded = done
        return loaded

    async def unsubscribe(self, id: str) -> None:
        """Forget an id. `UnknownSubscription` if there is none."""
        await self._run(calls.unsubscribe(id))

    async def unsubscribe_many(self, ids: Iterable[str]) -> None:
        """Forget several. `UnknownSubscription`, and nothing is forgotten, if there is one nobody subscribed."""
        if listed := list(ids):
            await self._run(calls.unsubscribe_many(listed))

    async def subscription(self, id: str) -> Subscribed:
        """A subscription as it is kept."""
        return await self._run(calls.subscription(id))

    async def expression(self, id: str) -> str:
        """The text an id was subscribed with."""
        return (await self.subscription(id)).expression

    async def export(self) -> pa.Table:
        """All subscriptions as of one moment: columns `id`, `expression`, `feed`, `expires`."""
        return await self._run(calls.export())

    async def ids(self) -> list[str]:
        """All ids, in their own order."""
        listed: list[str] = (await self.export())["id"].to_pylist()
        return listed

    async def try_expression(self, expression: str, *, events: int = 1_000) -> Tried:
        """What the expression would have matched of the last stored events. Nothing is saved."""
        return await self._run(calls.attempt(expression, events))

    # -- matching ---------------------------------------------------------------------------------------------

    async def match(self, event: Mapping[str, object]) -> list[str]:
        """The ids that an event would meet, in the order of subscribing. Nothing is published."""
        return await self._run(calls.match(event))

    async def match_many(self, events: Events, *, on_error: OnError = "raise") -> Matches[str]:
        """The answers to a batch: mappings, an Arrow table or RecordBatch, a frame. `on_error` as for an engine."""
        return await self._run(calls.match_many(events, on_error))

    async def match_json(self, data: bytes, *, on_error: OnError = "raise") -> Matches[str]:
        """The answers to events in JSON, a line each or one array of them."""
        return await self._run(calls.match_json(data, on_error))

    async def count_many(self, events: Events, *, on_error: OnError = "raise") -> npt.NDArray[np.int64]:
        """How many subscriptions each event would meet."""
        return (await self.match_many(events, on_error=on_error)).counts()

    async def match_iter(
        self, events: Events, *, at_once: int = 1_000, on_error: OnError = "raise"
    ) -> AsyncIterator[Matches[str]]:
        """The answers piece by piece, in order; `events` may also be an iterator or a stream of Arrow."""
        first = 0
        for piece in pieces_of(events, at_once):
            found = await self._run(calls.match_many(piece, on_error, first))
            first += len(found)
            yield found

    async def explain(self, id: str, event: Mapping[str, object] | int) -> Explanation:
        """Why an event, or the stored one at a position, does or does not match."""
        return await self._run(calls.explain(id, event))

    # -- feeds ------------------------------------------------------------------------------------------------

    async def put_feed(self, name: str, *, channel: str = "stream") -> Feed:
        """Make a feed that stays when it is empty, or change how it is told: "stream" or "pull"."""
        return await self._run(calls.put_feed(name, channel))

    async def feed(self, name: str) -> Feed:
        """A feed as it is. `UnknownFeed` if there is none."""
        return await self._run(calls.feed(name))

    async def delete_feed(self, name: str) -> None:
        """Forget a feed, and its subscriptions with it."""
        await self._run(calls.delete_feed(name))

    async def pull(
        self, feed: str, *, after: int | None = None, limit: int = 100, wait: float = 0.0, lease: str | None = None
    ) -> Page:
        """A page of notifications after a position, waited for if need be; without one from the acknowledged cursor,
        with a lease that `acknowledge` and the next `pull` want to see."""
        return await self._run(calls.pull(feed, after, limit, min(wait, self._timeout / 2), lease))

    async def acknowledge(self, feed: str, position: int, *, lease: str | None = None) -> int:
        """All up to a position was taken care of. The cursor, which never goes back, is the answer."""
        return await self._run(calls.acknowledge(feed, position, lease))

    def listen(self, feed: str, *, after: int | str | None = None) -> AsyncIterator[Notification]:
        """Notifications as they come, for ever: from a position, from "now", or from the acknowledged cursor. A lost
        connection is made again and goes on where it was, so that none is missed and few are repeated."""
        return self._stream(calls.listening(feed), Listening(after))

    def tail(self, where: str) -> AsyncIterator[Notification]:
        """Events from now on that match an expression; nothing is kept for who loses the connection."""
        return self._stream("/v1/stream", Listening(None), where)

    async def _stream(self, path: str, listening: Listening, where: str | None = None) -> AsyncIterator[Notification]:
        trying = Trying(self._patience)
        while True:
            try:
                asked = listening.query if where is None else {"where": where}
                async with self._http.stream("GET", path, params=asked, headers=listening.headers) as got:
                    if got.status_code != 200:
                        found = trying.answered(got.status_code, got.headers, await got.aread())
                        await asyncio.sleep(found if isinstance(found, float) else 0.0)
                        continue
                    async for piece in got.aiter_raw():
                        trying = Trying(self._patience)
                        for one in listening.read(piece):
                            yield one
            except httpx.TransportError as error:
                await asyncio.sleep(trying.lost(error))
            listening.restart()

    # -- the schema, and the rest -----------------------------------------------------------------------------

    async def schema(self) -> Schema:
        """The schema as it is now."""
        return await self._run(calls.schema())

    async def extend(self, addition: Schema) -> list[str]:
        """Extend the schema by the four rules; the answer are warnings, as of a domain equal to another."""
        return await self._run(calls.extend(addition))

    async def stats(self) -> dict[str, float]:
        """The service's numbers."""
        return await self._run(calls.numbers())

    async def close(self) -> None:
        """End the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
