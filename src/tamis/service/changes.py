"""A change as the log keeps it: who was born, who died. All rows beside the log follow from these."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

__all__ = ["Birth", "Change", "FeedBirth"]

Birth = tuple[int, str, int, str, int | None]
"""Handle, id, the feed's number, expression, expiry."""
FeedBirth = tuple[int, str, str, bool]
"""Number, name, settings, whether it goes with its last subscription."""


@dataclass
class Change:
    """One record at one position. `kept` are feeds whose settings were replaced, and that stay from now on."""

    born: list[Birth] = field(default_factory=list)
    died: list[int] = field(default_factory=list)
    feeds: list[FeedBirth] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    kept: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.born) + len(self.died) + len(self.feeds) + len(self.ended) + len(self.kept)

    def dumps(self) -> bytes:
        return json.dumps(vars(self), ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def loads(cls, body: bytes) -> Change:
        return cls(**json.loads(body))
