"""What all routes share: the service, the settings, what is counted, and whether the server is on its way out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast
from weakref import WeakSet

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from tamis.errors import TooBusy
from tamis.server.metering import Meter
from tamis.server.settings import Settings
from tamis.service import Service

__all__ = ["Bell", "Desk", "desk_of"]

_T = TypeVar("_T")


class Desk:
    """Made on the server's loop, before the first request."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self.service = service
        self.settings = settings
        self.meter = Meter()
        self.streams = 0
        self.requests = 0
        self.bells: WeakSet[Bell] = WeakSet()
        self.stopping = False
        self._loop = asyncio.get_running_loop()
        self._outcomes: deque[tuple[asyncio.Future[Any], object]] = deque()
        self._waking = False

    def stop(self) -> None:
        """Streams and polls end now; all else is finished."""
        self.stopping = True
        for bell in list(self.bells):
            bell.end()

    async def written(self, write: Callable[..., None], *arguments: Any, **options: Any) -> Any:
        """A write of the service, awaited."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        write(*arguments, partial(self._done, answer), **options)
        return await answer

    async def written_elsewhere(self, write: Callable[..., None], *arguments: Any, **options: Any) -> Any:
        """The same for a write that takes a while to check: it is called in a thread."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        await run_in_threadpool(write, *arguments, partial(self._done, answer), **options)
        return await answer

    def _done(self, answer: asyncio.Future[Any], outcome: object) -> None:
        """Called by the writer's thread, for each write of a commit: the loop is woken once for all of them."""
        self._outcomes.append((answer, outcome))
        if not self._waking and not self._loop.is_closed():
            self._waking = True
            self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        self._waking = False  # before they are taken: what comes later wakes again
        while self._outcomes:
            answer, outcome = self._outcomes.popleft()
            if answer.done():  # whoever asked is gone
                continue
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    async def read(self, read: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
        """A read of the service, in a thread."""
        return await run_in_threadpool(read, *arguments, **options)

    async def reached(self, position: int, seconds: float) -> bool:
        """Wait until all up to a position is matched; False if it was not, in that time."""
        if self.service.reached >= position:
            return True
        bell = Bell(self)
        watch = self.service.when_reached(position, bell.ring)
        try:
            return await bell.wait(seconds) and self.service.reached >= position
        finally:
            watch.close()

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """One more stream, for as long as it is open."""
        most = self.settings.most_streams
        if self.streams >= most:
            raise TooBusy(f"expected at most {most:,} open streams, and there are as many; try again later", 5.0)
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1


class Bell:
    """Rung from any thread, heard on the loop, and stays rung until it is heard. When the server stops, or whoever
    listens is gone, it rings once more and has ended."""

    def __init__(self, desk: Desk) -> None:
        self._loop = asyncio.get_running_loop()
        self._heard = asyncio.Event()
        self._on_its_way = False
        self.ended = desk.stopping
        desk.bells.add(self)

    def ring(self) -> None:
        if not self._on_its_way and not self._loop.is_closed():  # one message, however often it is rung meanwhile
            self._on_its_way = True
            self._loop.call_soon_threadsafe(self._hear)

    def end(self) -> None:
        """Called on the loop."""
        self.ended = True
        self._hear()

    def _hear(self) -> None:
        self._on_its_way = False
        self._heard.set()

    async def wait(self, seconds: float) -> bool:
        """Whether it rang within that time."""
        if self.ended:
            return False
        try:
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        except TimeoutError:
            return False
        self._heard.clear()
        return True


def desk_of(request: Request) -> Desk:
    return cast(Desk, request.scope["desk"])
