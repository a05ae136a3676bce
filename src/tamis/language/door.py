"""What new subscriptions may no longer say, though stored ones may and keep their reading.

The language has versions, which folders and indexes record. Each reads every text of those before it as they did: new
words are keywords only where a word was a mistake. What was right and became a mistake is told here, when somebody
subscribes, and nowhere else; texts that were stored before are read as ever.

    1    as first published
    2    `includes`, `like`, `ignoring case`, `at least`; on the right no attribute in double quotes, and no bare null
    3    `any(list: …)`
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tamis.errors import LanguageError
from tamis.language.foreign import NULLS
from tamis.language.grammar import Any, AtLeast, Group, Not, Operand, Syntax, Test, parse_syntax
from tamis.model import Finite, Schema

__all__ = ["LANGUAGE_VERSION", "SUSPECT", "check_new"]

LANGUAGE_VERSION = 3

SUSPECT = re.compile(r'"|\b(?:' + "|".join(sorted(NULLS)) + r")\b", re.IGNORECASE)
"""No text without this is refused here; few have it."""


def check_new(text: str, schema: Schema) -> None:
    """`LanguageError` for a text that only a stored subscription may have, or that does not parse."""
    if not isinstance(text, str) or SUSPECT.search(text) is None:
        return
    for test, operand in _operands(parse_syntax(text)):
        word = operand.text if len(operand.text) <= 40 else "…"
        if operand.kind == "reference" and text[operand.column - 1] == '"':
            raise LanguageError(
                f"double quotes name an attribute only left of an operator: write '{word}' for the text or "
                f"@{word if word.isidentifier() else _quoted(word)} for the attribute",
                operand.column,
                text,
            )
        if operand.kind == "word" and word.lower() in NULLS and not _has(schema, test.attribute, word):
            raise LanguageError(
                f"nothing equals {word}: write {test.attribute} is missing, or '{word}' for the text",
                operand.column,
                text,
            )


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _has(schema: Schema, attribute: str, word: str) -> bool:
    domain = schema.domain(attribute)
    return isinstance(domain, Finite) and word in domain.names


def _operands(tree: Syntax) -> Iterator[tuple[Test, Operand]]:
    match tree:
        case Not() | Any():
            yield from _operands(tree.part)
        case Group() | AtLeast():
            for part in tree.parts:
                yield from _operands(part)
        case Test():
            yield from ((tree, operand) for operand in tree.operands)
