r"""Patterns of `like`: `%` is any text, `_` one code point, and `\` makes the next character plain.

    a%_b     what begins with a, has at least one code point more, and ends with b

A pattern is parsed into *stretches*, the parts between its `%`: each has a fixed length and literals at fixed places
in it. The first stretch stands at the start of the text, the last at its end; those between are found from left to
right, each as early as it can be, which leaves the most room for the others. So a text is gone through once, and no
pattern makes a search start over: at most its length times the literals of a stretch.

Of patterns that say the same one is written: no `%` beside another, `_` before `%`. `pattern.text` is that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tamis.errors import LimitError

__all__ = ["MAX_WILDCARDS", "Literal", "Pattern", "PatternRefused", "Stretch", "escaped", "pattern", "written"]

MAX_WILDCARDS = 256
"""Signs `%` and `_` in a pattern, runs of `_` as one: what a text may cost is its length times this."""


class PatternRefused(ValueError):
    """What is wrong with a pattern."""


class Literal(NamedTuple):
    """Plain characters at a place of a stretch."""

    offset: int
    text: str


class Stretch(NamedTuple):
    """What stands between two `%`: so many code points, some of them given."""

    length: int
    literals: tuple[Literal, ...]

    def stands(self, text: str, at: int) -> bool:
        return all(text.startswith(one.text, at + one.offset) for one in self.literals)

    def find(self, text: str, at: int, end: int) -> int:
        """The first place from `at` on where it stands and ends by `end`; -1 if there is none."""
        last = end - self.length
        if not self.literals:
            return at if at <= last else -1
        first = self.literals[0]
        at = text.find(first.text, at + first.offset, last + first.offset + len(first.text)) - first.offset
        while at >= 0 and not self.stands(text, at):
            at = text.find(first.text, at + first.offset + 1, last + first.offset + len(first.text)) - first.offset
        return max(at, -1)

    def show(self, *, folded: bool = False) -> str:
        if len(self.literals) == 1 and len(self.literals[0].text) == self.length and not folded:
            return escaped(self.literals[0].text)
        shown, at = "", 0
        for one in self.literals:
            shown += "_" * (one.offset - at) + escaped(one.text.casefold() if folded else one.text)
            at = one.offset + len(one.text)
        return shown + "_" * (self.length - at)

    def filled(self, gap: bytes) -> bytes:
        """Its characters as UTF-8, with something else for those that may be any."""
        found, at = b"", 0
        for one in self.literals:
            found += gap * (one.offset - at) + one.text.encode()
            at = one.offset + len(one.text)
        return found + gap * (self.length - at)

    @property
    def gaps(self) -> int:
        """Runs of code points that may be any."""
        ends = [0, *(one.offset + len(one.text) for one in self.literals)]
        return sum(
            end < start for end, start in zip(ends, [*(one.offset for one in self.literals), self.length], strict=True)
        )

    @property
    def plain(self) -> str | None:
        """Its characters, if all are given: literals that touch are one."""
        if not self.literals:
            return None if self.length else ""
        return self.literals[0].text if len(self.literals[0].text) == self.length else None


class Pattern(NamedTuple):
    """Stretches with any text between them; a single one is the whole text."""

    stretches: tuple[Stretch, ...]

    @property
    def text(self) -> str:
        """As it is written."""
        return "%".join(one.show() for one in self.stretches)

    def fits(self, text: str) -> bool:
        """Whether the whole text is as the pattern says."""
        first, *between = self.stretches
        if not between:
            return len(text) == first.length and first.stands(text, 0)
        last = between.pop()
        at, end = first.length, len(text) - last.length
        if end < at or not first.stands(text, 0) or not last.stands(text, end):
            return False
        for stretch in between:
            found = stretch.find(text, at, end)
            if found < 0:
                return False
            at = found + stretch.length
        return True

    def folded(self) -> Pattern:
        """The pattern for texts whose case is folded."""
        return pattern("%".join(one.show(folded=True) for one in self.stretches))


def escaped(text: str) -> str:
    r"""The text as a pattern that only it fits."""
    special = "%" in text or "_" in text or "\\" in text
    return _SPECIAL.sub(r"\\\g<0>", text) if special else text


def written(text: str) -> str:
    """A pattern in the one way in which `Pattern.text` writes it; `PatternRefused`, if it is none."""
    found = pattern(text)
    return found.text if "\\" in text else "%".join(_settled(text.split("%")))


_SPECIAL = re.compile(r"[\\%_]")


@lru_cache(1 << 16)
def pattern(text: str) -> Pattern:
    """Parse a pattern; `PatternRefused` says what is wrong with it."""
    plain: list[str] = []  # what stands behind a `\`, for which a character stands that no text has
    if "\\" in text:
        text = _ESCAPED.sub(lambda found: _kept(found[0], plain), text)
    following = iter(plain)
    return _checked(Pattern(tuple(_stretch(one, following) for one in _settled(text.split("%")))))


_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)
_KEPT = "\ud800"


def _kept(found: str, plain: list[str]) -> str:
    if len(found) == 1:
        raise PatternRefused(r"expected a character behind '\', found the end of the pattern: write '\\' for one")
    plain.append(found[1])
    return _KEPT


def _settled(stretches: list[str]) -> list[str]:
    """Of all ways to say the same, one: `_` goes left of `%`, and what is empty between two `%` goes."""
    for at in range(len(stretches) - 1, 0, -1):
        left = stretches[at].lstrip("_")
        stretches[at - 1] += "_" * (len(stretches[at]) - len(left))
        stretches[at] = left
    last = len(stretches) - 1
    return [one for at, one in enumerate(stretches) if one or at in (0, last)]


def _stretch(characters: str, plain: Iterator[str]) -> Stretch:
    literals: list[Literal] = []
    at = 0
    for run in characters.split("_"):
        if run:
            if _KEPT in run:
                run = "".join(next(plain) if one == _KEPT else one for one in run)
            literals.append(Literal(at, run))
        at += len(run) + 1
    return Stretch(len(characters), tuple(literals))


def _checked(found: Pattern) -> Pattern:
    wildcards = len(found.stretches) - 1
    if wildcards + sum(one.length for one in found.stretches) > MAX_WILDCARDS:
        wildcards += sum(one.gaps for one in found.stretches)
    if wildcards > MAX_WILDCARDS:
        raise LimitError(
            f"expected a pattern of at most {MAX_WILDCARDS} wildcards, runs of '_' as one, found {wildcards:,}",
            MAX_WILDCARDS,
            wildcards,
        )
    return found
