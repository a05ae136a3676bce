r"""Patterns of `like`: `%` is any text, `_` one code point, and `\` makes the next character plain.

    a%_b     what begins with a, has at least one code point more, and ends with b

A pattern is parsed into *stretches*, the parts between its `%`: each has a fixed length and literals at fixed places
in it. The first stretch stands at the start of the text, the last at its end; those between are found from left to
right, each as early as it can be, which leaves the most room for the others. So a text is gone through once, and no
pattern makes a search start over: at most its length times the literals of a stretch.

Of patterns that say the same one is written: no `%` beside another, `_` before `%`. `pattern.text` is that one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tamis.errors import LimitError

__all__ = ["MAX_WILDCARDS", "Literal", "Pattern", "PatternRefused", "Stretch", "escaped", "pattern"]

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
        """Its characters, if all are given."""
        return None if self.gaps else "".join(one.text for one in self.literals)


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
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


@lru_cache(1 << 16)
def pattern(text: str) -> Pattern:
    """Parse a pattern; `PatternRefused` says what is wrong with it."""
    stretches: list[list[str | None]] = [[]]  # a character, or None for any
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
            if at == len(text):
                raise PatternRefused(
                    r"expected a character behind '\', found the end of the pattern: write '\\' for one"
                )
            stretches[-1].append(text[at])
        elif character == "%":
            stretches.append([])
        else:
            stretches[-1].append(None if character == "_" else character)
        at += 1
    return _checked(Pattern(tuple(map(_stretch, _settled(stretches)))))


def _settled(stretches: list[list[str | None]]) -> list[list[str | None]]:
    """Of all ways to say the same, one: `_` goes left of `%`, and what is empty between two `%` goes."""
    for at in range(len(stretches) - 1, 0, -1):
        here = stretches[at]
        leading = next((n for n, character in enumerate(here) if character is not None), len(here))
        stretches[at - 1] += here[:leading]
        del here[:leading]
    return [one for at, one in enumerate(stretches) if one or at in (0, len(stretches) - 1)]


def _stretch(characters: list[str | None]) -> Stretch:
    literals: list[Literal] = []
    for at, character in enumerate(characters):
        if character is None:
            continue
        last = literals[-1] if literals else None
        if last is not None and last.offset + len(last.text) == at:
            literals[-1] = Literal(last.offset, last.text + character)
        else:
            literals.append(Literal(at, character))
    return Stretch(len(characters), tuple(literals))


def _checked(found: Pattern) -> Pattern:
    wildcards = len(found.stretches) - 1 + sum(one.gaps for one in found.stretches)
    if wildcards > MAX_WILDCARDS:
        raise LimitError(
            f"expected a pattern of at most {MAX_WILDCARDS} wildcards, runs of '_' as one, found {wildcards:,}",
            MAX_WILDCARDS,
            wildcards,
        )
    return found
