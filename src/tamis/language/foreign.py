"""Spellings of other languages: some are taken, the others get a hint at their column.

Nothing here changes what a right expression means: a hint is only ever asked for where reading has failed, or at the
door, for what was read in an earlier version of the language and is now refused (`tamis.language.door`).
"""

from __future__ import annotations

from tamis.model.values import show_raw

__all__ = ["JOINTS", "NULLS", "SIGNS", "TWISTED", "hint_at_attribute", "hint_at_operator", "hint_behind_operand"]

JOINTS = {"&&": "and", "||": "or"}
"""Taken as the words they stand for."""

SIGNS = {
    "===": "write =",
    "!==": "write !=",
    "=~": "there are no regular expressions: write like 'a%_b', includes or starts with",
    "!~": "there are no regular expressions: write not like 'a%_b' or not includes",
    "~": "there are no regular expressions: write like 'a%_b', includes or starts with",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    ":": "write = for a value, includes for some text in it",
}
"""Signs that are no operators here."""

TWISTED = {"=<": "<=", "=>": ">=", "<=>": "="}
"""Read as two operators."""

NULLS = frozenset({"null", "none", "nil"})

_NO_REGULAR = SIGNS["~"]
_WORDS = {
    "exists": "write is present",
    "has": "write contains for a value of a set, includes for some text in a value",
    "icontains": "write includes '…' ignoring case",
    "iexact": "write = '…' ignoring case",
    "istartswith": "write starts with '…' ignoring case",
    "iendswith": "write ends with '…' ignoring case",
    "startswith": "did you mean 'starts with'?",
    "endswith": "did you mean 'ends with'?",
    **dict.fromkeys(("eq", "equals", "equal"), "write ="),
    "ne": "write !=",
    "gt": "write >",
    **dict.fromkeys(("gte", "ge"), "write >="),
    "lt": "write <",
    **dict.fromkeys(("lte", "le"), "write <="),
    "glob": "write like 'a%_b'",
    **dict.fromkeys(("regexp", "rlike", "regex", "matches", "match", "similar"), _NO_REGULAR),
}
_FUNCTIONS = {
    **dict.fromkeys(("exists", "has"), "; write … is present"),
    **dict.fromkeys(("lower", "upper"), "; there are no functions: write '…' ignoring case behind the operator"),
    "any": "",
}


def hint_at_operator(word: str, attribute: str) -> str:
    """What may have been meant where an operator was expected; nothing if nobody knows."""
    if word.lower() in _WORDS:
        return f"; {_WORDS[word.lower()]}"
    if word in ("", ")", "and", "or"):
        return f"; that a boolean is true is written {attribute} = true"
    if word == "(":
        return _FUNCTIONS.get(attribute.lower(), "; there are no functions")
    if word == "-":
        return f'; an odd name goes in double quotes: "{attribute}-…"'
    return ""


def hint_at_attribute(word: str, following: str) -> str:
    """What may have been meant where an expression begins."""
    if word.lower() in ("exists", "has") and following:
        return f"; write {following} is present"
    return ""


def hint_behind_operand(operand: str, found: str) -> str:
    """What may have been meant by a word right of an operator and what follows it."""
    if found == "(":
        return "; there are no functions, and no clock: write a constant such as timestamp '2024-05-31T12:00:00Z'"
    if operand.lower() in ("date", "datetime", "time"):
        return f"; write timestamp {show_raw(found)}"
    return ""
