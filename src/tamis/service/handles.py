"""What is known of each version of a subscription, by its handle: its feed, and where it was born and died.

Three arrays that grow, twenty bytes a handle. The matcher alone writes them, as it reads changes in the log's order.
A checkpoint keeps them in one file with the position they are of.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import xxhash

from tamis.store.atomic import write_atomically

__all__ = ["NEVER", "Handles"]

Longs = npt.NDArray[np.int64]

NEVER = (1 << 63) - 1
"""Where those who live die."""
_MAGIC = b"TAMHAND\1"
_HEADER = 40


def _head(made: str, mark: int) -> bytes:
    return _MAGIC + xxhash.xxh3_64_digest(made.encode()) + mark.to_bytes(8, "little")


class Handles:
    """`feed_of`, `born` and `died` have room for more than there are."""

    def __init__(self) -> None:
        self.count = 0
        self.feed_of = np.empty(0, np.int32)
        self.born = np.empty(0, np.int64)
        self.died = np.empty(0, np.int64)

    def _room(self, size: int) -> None:
        more = size - len(self.born)
        self.feed_of = np.concatenate([self.feed_of, np.zeros(more, np.int32)])
        self.born = np.concatenate([self.born, np.full(more, NEVER)])
        self.died = np.concatenate([self.died, np.full(more, NEVER)])

    def add(self, handles: Longs, feeds: Longs, born: int | Longs, died: int | Longs = NEVER) -> None:
        """Handles come in ascending order, each once; adding one again changes nothing."""
        if not len(handles):
            return
        top = int(handles.max()) + 1
        if top > len(self.born):
            self._room(max(top, 2 * len(self.born)))
        self.feed_of[handles] = feeds
        self.born[handles] = born
        self.died[handles] = died
        self.count = max(self.count, top)

    def end(self, handles: Longs, position: int) -> None:
        self.died[handles] = position

    def living(self, handles: Longs, positions: int | Longs) -> npt.NDArray[np.bool_]:
        """Which of them live at these positions."""
        found: npt.NDArray[np.bool_] = (self.born[handles] <= positions) & (positions < self.died[handles])
        return found

    def save(self, path: Path, made: str, mark: int) -> None:
        count = self.count
        body = self.feed_of[:count].tobytes() + self.born[:count].tobytes() + self.died[:count].tobytes()
        head = _head(made, mark) + self.count.to_bytes(8, "little")
        write_atomically(path, [head, xxhash.xxh3_64_digest(head + body), body])

    @classmethod
    def load(cls, path: Path, made: str, mark: int) -> Handles | None:
        """What was saved of that log with that mark, if it is there and whole."""
        try:
            content = path.read_bytes()
        except OSError:
            return None
        head, body = content[: _HEADER - 8], content[_HEADER:]
        count = int.from_bytes(head[-8:], "little")
        whole = xxhash.xxh3_64_digest(head + body) == content[_HEADER - 8 : _HEADER] and len(body) == 20 * count
        if not head.startswith(_head(made, mark)) or not whole:
            return None
        found = cls()
        feeds = np.frombuffer(body, np.int32, count)
        born, died = (np.frombuffer(body, np.int64, count, 4 * count + 8 * count * at) for at in (0, 1))
        found.add(np.arange(count), feeds.astype(np.int64), born, died)
        return found
