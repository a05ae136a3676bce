"""Tokens → syntax tree. Names are not looked up here; `resolve` does that with the schema at hand.

expression := conjunct ('or' conjunct)*
conjunct   := negated ('and' negated)*
negated    := 'not' negated | '(' expression ')' | 'at' 'least' number 'of' '(' expression (',' expression)* ')'
            | 'any' '(' attribute ':' expression ')' | test
test       := attribute ( comparison operand folded?
                        | 'not'? 'in' '(' operand (',' operand)* ')' folded?
                        | 'not'? 'between' operand 'and' operand
                        | 'not'? worded operand folded?
                        | 'is' 'not'? ('missing' | 'present' | 'null') | 'is' ('true' | 'false') )
worded     := 'contains' | 'starts' 'with' | 'ends' 'with' | 'includes' | 'like' | 'ilike'
folded     := 'ignoring' 'case'
and, or    := also '&&' and '||'; a ';' at the end is passed over
attribute  := word | "name" | `name` | '@' (word | "name" | `name`)
operand    := number | 'string' | 'true' | 'false' | 'timestamp' 'string' | word | attribute
"""

from __future__ import annotations

from dataclasses import dataclass

from tamis.errors import LanguageError, LimitError
from tamis.language.foreign import SIGNS, TWISTED, hint_at_attribute, hint_at_operator, hint_behind_operand
from tamis.language.tokens import Token, tokenize
from tamis.model import OPERATORS, Operator
from tamis.model.domains import hint
from tamis.model.operators import Shape
from tamis.model.values import show_raw

__all__ = ["MAX_DEPTH", "MAX_MEMBERS", "Any", "AtLeast", "Group", "Not", "Operand", "Syntax", "Test", "parse_syntax"]

MAX_DEPTH = 64
"""Parentheses and `not` inside one another."""

_WORDED = {
    tuple(operator.value.split()): operator
    for operator, row in OPERATORS.items()
    if operator.value[0].isalpha()
    and not row.negated
    and not row.folded
    and row.shape not in (Shape.PRESENCE, Shape.COUNT, Shape.RECORDS)
    and operator is not Operator.IN
}
"""Operators that are words with one constant behind them. They are told by their place: `ends < 5` is an attribute."""

_SHORT = {"ilike": Operator.LIKE}
"""What ignores case by itself, as SQL says it."""

_HINTS = ("in", "between", "is missing", "is present", "not in", *map(" ".join, _WORDED))


@dataclass(frozen=True, slots=True)
class Operand:
    """What stands right of an operator: `kind` is number, string, boolean, timestamp, word or reference."""

    kind: str
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Test:
    """One attribute put to one test; `between` is a pair of tests already."""

    attribute: str
    operator: Operator
    operands: tuple[Operand, ...]
    column: int
    folding: int | None = None
    """The column of `ignoring case`, if it is written."""


@dataclass(frozen=True, slots=True)
class Not:
    part: Syntax


@dataclass(frozen=True, slots=True)
class Group:
    """Parts joined by `and` (every) or `or` (any)."""

    every: bool
    parts: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """So many of the parts."""

    least: int
    parts: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """One record of a list."""

    attribute: str
    part: Syntax
    column: int


Syntax = Test | Not | Group | AtLeast | Any

MAX_MEMBERS = 100
"""Expressions of which `at least` counts those that hold."""


def parse_syntax(text: str) -> Syntax:
    """The syntax tree of an expression; `LanguageError` points at the first token that does not fit."""
    parser = _Parser(text, tokenize(text))
    tree = parser.expression(0)
    parser.expect_end()
    return tree


class _Parser:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def fail(self, expected: str, extra: str = "") -> LanguageError:
        if self.token.text == ":" and self.token.kind == "mark":
            expected, extra = "an operator", f"; {SIGNS[':']}"
        return LanguageError(f"expected {expected}, found {self.token.show()}{extra}", self.token.column, self.text)

    def take(self, kind: str, *texts: str) -> Token | None:
        token = self.token
        if token.kind == kind and (not texts or token.text in texts):
            self.at += 1
            return token
        return None

    def need(self, kind: str, text: str, expected: str) -> None:
        if not self.take(kind, text):
            raise self.fail(expected)

    def behind_operand(self) -> str:
        before = self.tokens[self.at - 1]
        foreign = hint_behind_operand(before.text, self.token.text) if before.kind == "word" else ""
        plain = ("word", "number")
        if foreign:
            raise LanguageError(f"expected a constant, found {before.show()}{foreign}", before.column, self.text)
        if self.token.text.lower() == "escape" and before.kind == "string":
            return "; in a pattern \\ makes the next character plain, and no other does"
        several = self.token.kind in plain and before.kind in plain
        return "; a date or a constant of several words goes in single quotes" if several else ""

    def expect_end(self) -> None:
        if self.token.kind != "end":
            raise self.fail("'and', 'or' or the end", self.behind_operand())

    def expression(self, depth: int) -> Syntax:
        parts = [self.conjunct(depth)]
        while self.take("keyword", "or"):
            parts.append(self.conjunct(depth))
        return parts[0] if len(parts) == 1 else Group(False, tuple(parts))

    def conjunct(self, depth: int) -> Syntax:
        parts = [self.negated(depth)]
        while self.take("keyword", "and"):
            parts.append(self.negated(depth))
        return parts[0] if len(parts) == 1 else Group(True, tuple(parts))

    def negated(self, depth: int) -> Syntax:
        if depth > MAX_DEPTH:
            raise LimitError(
                f"column {self.token.column}: expected at most {MAX_DEPTH} levels of parentheses and 'not', found more",
                MAX_DEPTH,
                depth,
            )
        if self.take("keyword", "not"):
            return Not(self.negated(depth + 1))
        if self.take("mark", "("):
            inner = self.expression(depth + 1)
            if not self.take("mark", ")"):
                raise self.fail("')', 'and' or 'or'", self.behind_operand())
            return inner
        if self.token.kind == "word":
            first, following = self.token.text.lower(), self.tokens[self.at + 1]
            if first == "at" and following.text.lower() == "least":
                return self.at_least(depth)
            if first == "any" and following == ("mark", "(", following.column):
                return self.any(depth)
        return self.test()

    def any(self, depth: int) -> Syntax:
        self.at += 2
        column = self.token.column
        attribute = self.attribute("the name of a list")
        self.need("mark", ":", "':' and an expression")
        part = self.expression(depth + 1)
        if not self.take("mark", ")"):
            raise self.fail("')', 'and' or 'or'", self.behind_operand())
        return Any(attribute, part, column)

    def at_least(self, depth: int) -> Syntax:
        self.at += 2
        token = self.take("number")
        if token is None or not token.text.isdecimal():
            self.at -= token is not None
            raise self.fail("a whole number")
        if not self.take_word("of"):
            raise self.fail("'of'")
        self.need("mark", "(", "'(' and a list of expressions")
        parts = [self.expression(depth + 1)]
        while self.take("mark", ","):
            parts.append(self.expression(depth + 1))
        if not self.take("mark", ")"):
            raise self.fail("',', ')', 'and' or 'or'", self.behind_operand())
        if len(parts) > MAX_MEMBERS:
            message = (
                f"column {token.column}: expected 'at least' of at most {MAX_MEMBERS} expressions, found {len(parts)}"
            )
            raise LimitError(message, MAX_MEMBERS, len(parts))
        if not 1 <= int(token.text) <= len(parts):
            message = f"expected a number from 1 to {len(parts)}, as many as are listed, found {token.text}"
            raise LanguageError(message, token.column, self.text)
        return AtLeast(int(token.text), tuple(parts))

    def test(self) -> Syntax:
        column = self.token.column
        attribute = self.attribute("an attribute, 'not' or '('")
        if operator := self.take("operator"):
            return Test(attribute, Operator(operator.text), (self.operand(),), column, self.ignoring_case())
        if self.take("keyword", "is"):
            return self.presence(attribute, column)
        if self.token.kind in ("word", "name") and (foreign := hint_at_attribute(attribute, self.token.text)):
            raise LanguageError(
                f"expected an operator behind {attribute!r}, found {self.token.show()}{foreign}", column, self.text
            )
        negative = self.take("keyword", "not") is not None
        test = self.worded(attribute, column, negative)
        return Not(test) if negative else test

    def attribute(self, expected: str) -> str:
        self.take("mark", "@")
        token = self.take("word") or self.take("name")
        if token is None:
            raise self.fail(expected, self.instead_of_attribute())
        if not token.text:
            raise LanguageError(
                "expected an attribute's name between the quotes, found nothing", token.column, self.text
            )
        return token.text

    def instead_of_attribute(self) -> str:
        match self.token.kind:
            case "keyword":
                return f'; an attribute of this name goes in double quotes: "{self.token.text}"'
            case "string":
                return "; single quotes are for constants, and an odd attribute's name goes in double quotes"
            case "number":
                return "; the attribute stands left of its constant"
        return ""

    def presence(self, attribute: str, column: int) -> Syntax:
        negative = self.take("keyword", "not") is not None
        truth = None if negative else self.take("keyword", "true", "false")
        if truth is not None:
            return Test(attribute, Operator.EQ, (Operand("boolean", truth.text, truth.column),), column)
        word = self.take("keyword", "missing", "present") or self.take_null()
        if word is None:
            other = {"true": "; write = false", "false": "; write = true"}.get(self.token.text, "")
            if self.token.kind in ("string", "number"):
                constant = self.token.text if self.token.kind == "number" else show_raw(self.token.text)
                other = f"; write {'!=' if negative else '='} {constant}"
            raise self.fail("'missing' or 'present'", other)
        missing = (word.text != "present") is not negative
        return Test(attribute, Operator.MISSING if missing else Operator.PRESENT, (), column)

    def take_null(self) -> Token | None:
        """`is null` is how SQL says `is missing`."""
        null = self.token.kind == "word" and self.token.text.lower() == "null"
        return self.take("word") if null else None

    def worded(self, attribute: str, column: int, negative: bool) -> Syntax:
        if self.take("keyword", "in"):
            return Test(attribute, Operator.IN, self.list(), column, self.ignoring_case())
        for words, operator in _WORDED.items():
            if self.take_word(words[0]):
                for word in words[1:]:
                    self.need("keyword", word, repr(word))
                return Test(attribute, operator, (self.operand(),), column, self.ignoring_case())
        here = self.token.column
        for short, folded in _SHORT.items():
            if self.take_word(short):
                return Test(attribute, folded, (self.operand(),), column, self.ignoring_case() or here)
        if self.take("keyword", "between"):
            low = self.operand()
            self.need("keyword", "and", "'and' and the upper bound")
            high = self.operand()
            bounds = Test(attribute, Operator.GE, (low,), column), Test(attribute, Operator.LE, (high,), column)
            return Group(True, bounds)
        foreign = "" if negative or self.token.kind == "string" else hint_at_operator(self.token.text, attribute)
        near = foreign or (hint(self.token.text, _HINTS) if self.token.kind == "word" else "")
        if negative and self.token.kind == "operator" and self.token.text == "=":
            near = "; write !="
        after_not = ", ".join(map(repr, ("in", "between", *map(" ".join, _WORDED))))
        raise self.fail(" or ".join(after_not.rsplit(", ", 1)) if negative else "an operator", near)

    def take_word(self, word: str) -> bool:
        """A word of an operator, in whatever case, be it a keyword everywhere or only here."""
        token = self.token
        taken = token.kind in ("keyword", "word") and token.text.lower() == word
        self.at += taken
        return taken

    def ignoring_case(self) -> int | None:
        column = self.token.column
        if self.token.kind != "word" or not self.take_word("ignoring"):
            return None
        if not self.take_word("case"):
            raise self.fail("'case'")
        return column

    def list(self) -> tuple[Operand, ...]:
        self.need("mark", "(", "'(' and a list of constants")
        operands = [self.operand()]
        while self.take("mark", ","):
            operands.append(self.operand())
        self.need("mark", ")", "',' or ')'")
        return tuple(operands)

    def operand(self) -> Operand:
        token = self.token
        if token.kind in ("number", "string", "word"):
            self.at += 1
            moment = self.take("string") if token.kind == "word" and token.text.lower() == "timestamp" else None
            if moment is not None:
                return Operand("timestamp", moment.text, moment.column)
            return Operand(token.kind, token.text, token.column)
        if self.take("keyword", "true", "false"):
            return Operand("boolean", token.text, token.column)
        if token.kind == "name" or (token.kind == "mark" and token.text == "@"):
            return Operand("reference", self.attribute("an attribute's name"), token.column)
        before = self.tokens[self.at - 1]
        if before.kind == "operator" and (meant := TWISTED.get(before.text + token.text)):
            found = before.text + token.text
            raise LanguageError(f"expected an operator, found {found!r}; write {meant}", before.column, self.text)
        raise self.fail("a constant or an attribute")
