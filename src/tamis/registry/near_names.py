"""Attributes that nobody declared: does a new name differ from a known one only by case or a letter?

A name is filed under itself in lower case and under what is left of it when a letter goes; two names that differ by one
letter, or by case, meet under one of these. So a new name costs its length, however many are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

__all__ = ["NearNames"]

_SHORTEST = 3
"""Shorter names are near to everything."""
_LONGEST = 64
"""Longer ones are filed under themselves alone: under each letter left out, their length would be squared."""
_MOST = 10_000
"""Names kept: whoever has more has no hand-written ones."""
_WORD = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[^\W\d][\w.]*""")


class NearNames:
    """Names of attributes, as they are met."""

    def __init__(self, names: Iterable[str]) -> None:
        self._known: set[str] = set()
        self._words: set[str] = set()
        """Words of texts that named nothing new: most texts have no others, and need not be parsed."""
        self._filed: dict[str, str] = {}
        self.meet(names)

    def meet(self, names: Iterable[str]) -> list[str]:
        """Know these from now on; a sentence for each that is new where another one may have been meant."""
        return [note for name in names if name not in self._known and (note := self._learn(name)) is not None]

    def notes(self, text: str, named: Callable[[], Iterable[str]]) -> list[str]:
        """The same for the attributes that a text names; who they are is asked only if it has a new word."""
        words = {word for word in _WORD.findall(text) if word[0] != "'" and word not in self._words}
        if not words:
            return []
        found = self.meet(named())
        if len(self._words) < _MOST:
            self._words |= words
        return found

    def _learn(self, name: str) -> str | None:
        if len(self._known) >= _MOST:
            return None
        keys = _keys(name)
        near = next((self._filed[key] for key in keys if key in self._filed), None)
        self._known.add(name)
        for key in keys:
            self._filed.setdefault(key, name)
        if near is None:
            return None
        by = "by case alone" if near.lower() == name.lower() else "by one letter"
        return f"the attribute {name!r} is new and differs from {near!r} {by}: is that one meant?"


def _keys(name: str) -> list[str]:
    """What two names have in common that differ by case, or by a letter that is another, or is there and is not."""
    lower = name.lower()
    if not _SHORTEST <= len(lower) <= _LONGEST:
        return [lower]
    gone = [lower[:at] + lower[at + 1 :] for at in range(len(lower))]
    other = [f"{lower[:at]}\0{lower[at + 1 :]}" for at in range(len(lower))]
    return list(dict.fromkeys([lower, *other, *(one for one in gone if len(one) >= _SHORTEST)]))
