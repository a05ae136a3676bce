"""A quick yes for the usual expression: is it surely right, and can it match?

`attribute operator constant and …`, each attribute once, plain whole numbers and strings. Whoever subscribes one at a
time only needs to know that much; what it means is worked out later, for many at once. No means "ask the parser".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from tamis.language.tokens import KEYWORDS, MAX_CHARACTERS
from tamis.model import OPERATORS, Integer, Number, Schema, String, Untyped

__all__ = ["QuickCheck"]

_SYMBOLS = "|".join(
    sorted((one.value for one, row in OPERATORS.items() if not one.value[0].isalpha() and not row.folded), reverse=True)
)
_TEST = re.compile(
    rf"\s*([A-Za-z_]\w*)\s*({_SYMBOLS})\s*(?:([0-9]{{1,18}})|'([^']*)')(?:\s+(and)(?=\s+\S)|\s*\Z)",
    re.ASCII | re.IGNORECASE,
)

_Check = Callable[[int | str], bool]


class QuickCheck:
    """For one schema; remembers how each attribute and operator is checked."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._check = lru_cache(4096)(self._find_check)

    def surely(self, text: str) -> bool:
        """Whether the expression is right beyond doubt and does not contradict itself."""
        if len(text) > MAX_CHARACTERS or not text.isascii():
            return False
        at, end = 0, len(text)
        seen: set[str] = set()
        more = None
        while at < end:
            found = _TEST.match(text, at)
            if found is None:
                return False
            name, operator, number, string, more = found.groups()
            if name in seen:
                return False
            check = self._check(name, operator, number is not None)
            if check is None or not check(int(number) if number is not None else string):
                return False
            seen.add(name)
            at = found.end()
        return bool(seen) and more is None

    def _find_check(self, name: str, operator: str, whole: bool) -> _Check | None:
        if name.lower() in KEYWORDS:
            return None
        domain = self._schema.domain(name)
        if isinstance(domain, Integer) and whole:
            return _whole_check(domain, operator)
        fits = (Number, Untyped) if whole else (String, Untyped)
        return _not_before_empty if isinstance(domain, fits) else None


def _not_before_empty(constant: int | str) -> bool:
    return constant != ""


def _whole_check(domain: Integer, operator: str) -> _Check:
    """Inside the domain, with room on the side the operator looks at."""
    low, high = domain.min, domain.max
    least = None if low is None else low + (operator in ("<", "!="))
    most = None if high is None else high - (operator in (">", "!="))

    def check(constant: int | str) -> bool:
        assert isinstance(constant, int)
        return (least is None or constant >= least) and (most is None or constant <= most)

    return check
