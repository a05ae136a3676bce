"""Text → tokens, with the column of each kept."""

from __future__ import annotations

import re
from typing import NamedTuple

from tamis.errors import LanguageError, LimitError
from tamis.language.foreign import JOINTS, SIGNS
from tamis.model.values import MAX_DIGITS, show_raw

__all__ = ["KEYWORDS", "MAX_CHARACTERS", "Token", "tokenize"]

MAX_CHARACTERS = 65_536
"""Length of one expression; room for an `in (…)` of some thousand values."""

KEYWORDS = frozenset(
    ("and", "or", "not", "in", "between", "is", "missing", "present", "starts", "with", "contains", "true", "false")
)
"""Words that are never a name or a constant unless quoted, in whatever case."""

_INSTEAD = {
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not'",
    "[": "a list goes in parentheses",
    **dict.fromkeys("‘’“”„«»", "a text goes in straight single quotes"),
}
_SURROGATE = re.compile("[\ud800-\udfff]")

_TOKEN = re.compile(
    r"""(?:
      (?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))
    | (?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
    | (?P<string>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    | (?P<foreign>===|!==|=~|!~|[~≤≥≠])
    | (?P<joint>&&|\|\|)
    | (?P<operator><=|>=|!=|<>|==|=|<|>)
    | (?P<mark>[(),@:])
    )\s*""",
    re.VERBOSE,
)
"""One token and the space after it."""


class Token(NamedTuple):
    """`kind` is number, word, keyword, string, name, operator, mark or end; `text` is unquoted."""

    kind: str
    text: str
    column: int

    def show(self) -> str:
        return "the end" if self.kind == "end" else show_raw(self.text, 40)


def tokenize(text: str) -> list[Token]:
    """All tokens, the last of kind `end`."""
    if not isinstance(text, str):
        raise LanguageError(f"expected an expression as text, found {show_raw(text)}", 1, "")
    if len(text) > MAX_CHARACTERS:
        raise LimitError(
            f"expected an expression of at most {MAX_CHARACTERS:,} characters, found {len(text):,}",
            MAX_CHARACTERS,
            len(text),
        )
    _check_text(text)
    tokens: list[Token] = []
    at = len(text) - len(text.lstrip())
    stop = len(text.rstrip().removesuffix(";"))
    while at < stop:
        found = _TOKEN.match(text, at)
        if found is None:
            raise _stray(text, at)
        kind = found.lastgroup or ""
        tokens.append(_token(kind, found[kind], at + 1, text))
        at = found.end()
    tokens.append(Token("end", "", len(text) + 1))
    return tokens


def _check_text(text: str) -> None:
    surrogate = None if text.isascii() else _SURROGATE.search(text)
    if surrogate:
        found = f"U+{ord(surrogate.group()):04X}"
        raise LanguageError(f"expected text, found the lone surrogate {found}", surrogate.start() + 1, text)


def _token(kind: str, found: str, column: int, text: str) -> Token:
    if kind == "word" and found.lower() in KEYWORDS:
        return Token("keyword", found.lower(), column)
    if kind in ("string", "name"):
        quote = found[0]
        return Token(kind, found[1:-1].replace(quote * 2, quote), column)
    if kind == "number" and len(found) > MAX_DIGITS:
        raise LanguageError(f"expected a number of at most {MAX_DIGITS:,} digits, found {len(found):,}", column, text)
    if kind == "joint":
        return Token("keyword", JOINTS[found], column)
    if kind == "foreign":
        raise LanguageError(f"expected an operator, found {show_raw(found)}; {SIGNS[found]}", column, text)
    if kind == "operator":
        return Token(kind, {"<>": "!=", "==": "="}.get(found, found), column)
    return Token(kind, found, column)


def _stray(text: str, at: int) -> LanguageError:
    character = text[at]
    if character in "'\"`":
        return LanguageError(f"the quote {character} is never closed; inside a text it is written twice", at + 1, text)
    if character == "-" and at and (text[at - 1].isalnum() or text[at - 1] == "_"):
        before = re.search(r"[^\W\d][\w.]*$", text[:at])
        after = re.match(r"-[\w.-]*", text[at:])
        assert after is not None
        name = f"{before[0] if before else ''}{after[0]}"
        column = at + 1 - (len(before[0]) if before else 0)
        return LanguageError(
            f'expected an operator, found {show_raw(after[0])}; an odd name goes in double quotes: "{name}"',
            column,
            text,
        )
    if character.isdigit() or character in "+-.":
        return LanguageError(f"expected a number, found {show_raw(text[at:].split(None, 1)[0])}", at + 1, text)
    extra = f"; {_INSTEAD[character]}" if character in _INSTEAD else ""
    return LanguageError(f"expected an attribute, an operator or a constant, found {character!r}{extra}", at + 1, text)
