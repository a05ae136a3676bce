"""The threads: one writes, one matches and checkpoints. Each step can be taken without them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from tamis.service.matcher import Matcher
from tamis.service.writer import Writer
from tamis.store.derived import Derived
from tamis.store.sqlite import Touch, untouched

__all__ = ["Running"]

_AFTER_TROUBLE_SECONDS = 1.0

_log = logging.getLogger("tamis.service")


class Running:
    """Of one service."""

    def __init__(
        self, folder: Path, writer: Writer, matcher: Matcher, derived: Derived, clock: Callable[[], float]
    ) -> None:
        self._folder = folder
        self._writer = writer
        self._matcher = matcher
        self._derived = derived
        self._clock = clock
        self._settings = matcher.settings
        self.touch: Touch = untouched
        self.checkpoints = 0
        self._checkpointed_at = clock()
        self._threads: list[threading.Thread] = []
        self._wanted = threading.Condition()
        self._news = False
        self._stopping = False
        self.trouble: str | None = None
        """Why the matcher does not get on."""

    @property
    def alive(self) -> bool:
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def start(self) -> None:
        if not self._threads:
            self._threads = [
                threading.Thread(target=self._writer.run, name="tamis-writer", daemon=True),
                threading.Thread(target=self._match, name="tamis-matcher", daemon=True),
            ]
            for thread in self._threads:
                thread.start()

    def news(self) -> None:
        """There is something to be matched."""
        with self._wanted:
            self._news = True
            self._wanted.notify()

    def _match(self) -> None:
        while not self._stopping:
            try:
                self._until_dry()
                self.trouble = None
                patience = self._settings.checkpoint_seconds
            except Exception as error:  # noqa: BLE001 - a full disk, say: the log waits, and so do we
                if self._stopping:
                    return
                _log.exception("the matcher does not get on; it tries again")
                self.trouble = f"the matcher does not get on: {error}"
                patience = _AFTER_TROUBLE_SECONDS
            with self._wanted:
                self._wanted.wait_for(lambda: self._news or self._stopping, patience)
                self._news = False

    def _until_dry(self) -> None:
        while not self._stopping and self.match_once():
            pass
        if self._matcher.changes and self._due_by_time():
            self.checkpoint()

    def match_once(self) -> bool:
        found = self._matcher.match_once()
        many = self._matcher.changes >= self._settings.checkpoint_changes
        if found and (many or (self._matcher.changes and self._due_by_time())):
            self.checkpoint()
        return found

    def _due_by_time(self) -> bool:
        return self._clock() - self._checkpointed_at >= self._settings.checkpoint_seconds

    def checkpoint(self) -> None:
        """Blocks first, then handles, then segments: what lies here is never past what was reached."""
        matcher, mark = self._matcher, self._matcher.reached
        self._derived.sync()
        self.touch("handles")
        matcher.handles.save(self._folder / "handles.bin", matcher.made, mark)
        self.touch("checkpoint")
        matcher.registry.checkpoint_at(mark)
        self.touch("checkpointed")
        matcher.changes = 0
        self._checkpointed_at = self._clock()
        self.checkpoints += 1

    def finish(self) -> None:
        """Write and match what was accepted, checkpoint, and end the threads."""
        self._writer.close()
        started, self._threads = self._threads, []
        if started:
            started[0].join()
            self.stop()
            started[1].join()
        else:
            while self._writer.waiting:
                self._writer.write_once()
        while self._matcher.match_once():
            pass
        if self._matcher.changes:
            self.checkpoint()

    def stop(self) -> None:
        """End the threads at the next step."""
        with self._wanted:
            self._stopping = True
            self._wanted.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads = []
