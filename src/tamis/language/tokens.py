"""Text → tokens, with the column of each kept."""

from __future__ import annotations

import re
from typing import NamedTuple

from tamis.errors import LanguageError, LimitError
from tamis.model.values import ValueRefused, is_text

__all__ = ["KEYWORDS", "MAX_CHARACTERS", "Token", "tokenize"]

MAX_CHARACTERS = 65_536
"""Length of one expression; room for an `in (…)` of some thousand values."""

_MAX_DIGITS = 4_000

KEYWORDS = frozenset("and or not in between is missing present starts with contains true false timestamp".split())

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))
    | (?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
    | (?P<string>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    | (?P<operator><=|>=|!=|<>|==|=|<|>)
    | (?P<mark>[(),@])
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """`kind` is number, word, keyword, string, name, operator, mark or end; `text` is unquoted."""

    kind: str
    text: str
    column: int

    def show(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text[:40])


def tokenize(text: str) -> list[Token]:
    """All tokens, the last of kind `end`."""
    if len(text) > MAX_CHARACTERS:
        raise LimitError(
            f"expected an expression of at most {MAX_CHARACTERS:,} characters, found {len(text):,}",
            MAX_CHARACTERS,
            len(text),
        )
    _check_text(text)
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _stray(text, at)
        kind = found.lastgroup or ""
        if kind != "space":
            tokens.append(_token(kind, found.group(), at + 1, text))
        at = found.end()
    tokens.append(Token("end", "", len(text) + 1))
    return tokens


def _check_text(text: str) -> None:
    try:
        is_text(text)
    except ValueRefused as error:
        raise LanguageError(str(error), 1, text) from None


def _token(kind: str, found: str, column: int, text: str) -> Token:
    if kind == "word" and found.lower() in KEYWORDS:
        return Token("keyword", found.lower(), column)
    if kind in ("string", "name"):
        quote = found[0]
        return Token(kind, found[1:-1].replace(quote * 2, quote), column)
    if kind == "number" and len(found) > _MAX_DIGITS:
        raise LanguageError(f"expected a number of at most {_MAX_DIGITS:,} digits", column, text)
    if kind == "operator":
        return Token(kind, {"<>": "!=", "==": "="}.get(found, found), column)
    return Token(kind, found, column)


def _stray(text: str, at: int) -> LanguageError:
    character = text[at]
    if character in "'\"`":
        return LanguageError(f"the quote {character} opened here is never closed", at + 1, text)
    if character.isdigit() or character in "+-.":
        return LanguageError(f"expected a number, found {text[at : at + 20].split()[0]!r}", at + 1, text)
    return LanguageError(f"expected an attribute, an operator or a constant, found {character!r}", at + 1, text)
