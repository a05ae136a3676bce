"""The writer: whatever queued during the last commit becomes the next one.

There is no timer: a lone write is committed at once, and under load commits grow by themselves. All writes of a commit
are answered after it. The log's time never goes back, and what is due by it expires before anything else is written.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tamis.errors import KeyReused, ServiceClosed, TamisError, TooBusy
from tamis.service.commit import Commit, Standing
from tamis.service.receipts import read_answer, written_answer
from tamis.service.requests import Done
from tamis.service.settings import Settings
from tamis.service.subscribing import expire_due
from tamis.service.writes import Publish, Write
from tamis.store.log import KeyRow, Log, Record

__all__ = ["Key", "Queued", "Writer"]

_log = logging.getLogger("tamis.service")

_RETRY_SECONDS = 1.0
_MOST_AT_ONCE = 10_000
"""Writes in one commit."""


@dataclass(frozen=True)
class Key:
    """An idempotency key, and what tells the request that came with it from others."""

    key: str
    digest: bytes


@dataclass(frozen=True)
class Queued:
    write: Write
    done: Done[Any]
    key: Key | None = None
    bytes: int = 0
    always: bool = False
    """Whether it is taken however much is waiting."""


class Writer:
    """The one who appends to the log. `written` is told the records of each commit."""

    def __init__(
        self,
        log: Log,
        standing: Standing,
        settings: Settings,
        clock: Callable[[], float],
        random: Callable[[int], bytes],
    ) -> None:
        self._log = log
        self.standing = standing
        self._settings = settings
        self._clock = clock
        self._random = random
        self.written: Callable[[list[Record]], None] = lambda records: None
        self._queue: deque[Queued] = deque()
        self._bytes = 0
        self._wanted = threading.Condition()
        self._closed = False
        self.commits = 0
        self.trouble: str | None = None
        """Why the last commit failed, if it did."""
        self._next_expiry = log.next_expiry()
        self._forgotten = 0

    # -- from any thread --------------------------------------------------------------------------------------

    def put(self, queued: Queued) -> None:
        with self._wanted:
            if self._closed:
                raise ServiceClosed("the service was closed; nothing was taken")
            if self._bytes + queued.bytes > self._settings.most_queued_bytes and self._queue and not queued.always:
                raise TooBusy(f"{self._bytes:,} bytes wait for the disk already; try again", _RETRY_SECONDS)
            self._queue.append(queued)
            self._bytes += queued.bytes
            self._wanted.notify()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def close(self) -> None:
        """Take no more; what was taken is still written."""
        with self._wanted:
            self._closed = True
            self._wanted.notify_all()

    def run(self) -> None:
        """Until closed and empty."""
        while True:
            with self._wanted:
                self._wanted.wait_for(lambda: self._queue or self._closed, self._patience())
                if self._closed and not self._queue:
                    return
            self.write_once()

    def _patience(self) -> float | None:
        """Seconds until something expires."""
        if self._next_expiry is None:
            return None
        least = 0.0 if self.trouble is None else _RETRY_SECONDS
        return min(max(self._next_expiry / 1e6 - self._clock(), least), threading.TIMEOUT_MAX)

    # -- one commit -------------------------------------------------------------------------------------------

    def write_once(self) -> int:
        """Write what waits, as one commit, and answer it. How many there were."""
        taken = self._take()
        try:
            commit, outcomes = self._commit(taken)
        except Exception as error:  # noqa: BLE001 - a full disk, say: told to everybody concerned, and one goes on
            outcomes = [error] * len(taken)
            self.trouble = f"the writer does not get on: {error}"
        else:
            self.trouble = None
            self.standing = commit.standing
            self.commits += 1
            if commit.records:
                self.written(commit.records)
        for queued, outcome in zip(taken, outcomes, strict=True):
            try:
                queued.done(outcome)
            except Exception:  # noqa: BLE001 - one who cannot be told is no reason not to tell the next
                _log.exception("a write was done, but who asked for it could not be told")
        return len(taken)

    def _take(self) -> list[Queued]:
        with self._wanted:
            taken = [self._queue.popleft() for _ in range(min(len(self._queue), _MOST_AT_ONCE))]
            self._bytes -= sum(one.bytes for one in taken)
        return taken

    def _commit(self, taken: list[Queued]) -> tuple[Commit, list[Any]]:
        time = max(self.standing.meta.time, int(self._clock() * 1e6))
        with self._log.writing() as log:
            standing = self.standing._replace(meta=self.standing.meta._replace(time=time))
            commit = Commit(log, standing, self._random)
            if self._next_expiry is not None and self._next_expiry <= time:
                expire_due(commit)
            outcomes = [self._one(commit, queued) for queued in taken]
            commit.flush()
            self._forget(commit)
            if commit.touched:
                log.move(commit.standing.meta)
        if any(record.codec == "change" for record in commit.records):
            self._next_expiry = self._log.next_expiry()
        return commit, outcomes

    def _one(self, commit: Commit, queued: Queued) -> Any:
        try:
            if queued.key is not None:
                there = self._known(commit, queued.key, queued.write.kind)
                if there is not None:
                    return there
            if isinstance(queued.write, Publish):
                outcome = queued.write.apply(commit)
                kept = outcome.accepted
            else:
                with commit.whole():
                    outcome = queued.write.apply(commit)
                kept = True
            if queued.key is not None and kept:
                row = KeyRow(queued.write.kind, queued.key.digest, written_answer(outcome), commit.time)
                commit.log.set_key(queued.key.key, row)
                commit.touched = True
            return outcome
        except TamisError as error:
            return error

    def _known(self, commit: Commit, key: Key, kind: str) -> Any:
        """The answer that a key was given before."""
        row = commit.log.key(key.key)
        if row is None or row.at < commit.time - int(self._settings.key_seconds * 1e6):
            return None
        if row.kind != kind or row.digest != key.digest:
            raise KeyReused(key.key)
        return read_answer(row.kind, row.answer)

    def _forget(self, commit: Commit) -> None:
        """Now and then, what is too old."""
        if commit.touched and commit.time - self._forgotten > 60_000_000:
            self._forgotten = commit.time
            commit.log.forget(
                commit.time - int(self._settings.key_seconds * 1e6),
                commit.time - int(self._settings.staging_seconds * 1e6),
            )
