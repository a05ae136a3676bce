"""Tests → predicates: look up attributes, read constants in their domains, decide what a bare word means."""

from __future__ import annotations

import math

from tamis.errors import LanguageError
from tamis.language.grammar import Operand, Test
from tamis.language.texts import text_predicate
from tamis.model import OPERATORS, Domain, Finite, Kind, Operator, Predicate, Reference, Schema, String, Untyped, Value
from tamis.model.domains import hint
from tamis.model.operators import FOLDED, Needs
from tamis.model.patterns import PatternRefused
from tamis.model.values import ValueRefused, show_raw, timestamp

__all__ = ["Resolver"]

_O = Operator


class Resolver:
    """One expression's names against one schema."""

    def __init__(self, text: str, schema: Schema) -> None:
        self.text = text
        self.schema = schema

    def fail(self, message: str, column: int) -> LanguageError:
        return LanguageError(message, column, self.text)

    def predicate(self, test: Test) -> Predicate:
        domain = self.domain(test.attribute, test.column)
        if not test.operands:
            return Predicate(test.attribute, test.operator)
        if test.folding is not None:
            self.check_folding(test, domain, test.folding)
        if test.operator is _O.IN:
            return self.said(test, self.members(test, domain))
        operand = test.operands[0]
        self.check_operator(test, domain)
        name = self.referred(test, operand, domain)
        if name is not None:
            return self.reference(test, operand, domain, name)
        value = self.constant(test, domain, operand)
        needs, word = OPERATORS[test.operator].needs, test.operator.value
        if needs is Needs.ORDER and value.kind is Kind.BOOLEAN:
            raise self.fail(f"{word!r} needs an order, and booleans have none", operand.column)
        if needs is Needs.TEXT and value.kind is not Kind.STRING:
            raise self.fail(f"{word!r} needs a string, found {show_raw(value.data)}", operand.column)
        return self.said(test, value)

    def said(self, test: Test, found: Value | tuple[Value, ...]) -> Predicate:
        """The predicate of an operator and its constants."""
        first = found if isinstance(found, Value) else found[0]
        if test.folding is not None and first.kind is not Kind.STRING:
            raise self.fail(f"'ignoring case' needs strings, found {first.kind.noun}", test.operands[0].column)
        if test.folding is None and OPERATORS[test.operator].needs is not Needs.TEXT:
            return Predicate(test.attribute, test.operator, found)
        try:
            return text_predicate(test.attribute, test.operator, found, test.folding is not None)
        except PatternRefused as error:
            raise self.fail(str(error), test.operands[0].column) from None

    def check_folding(self, test: Test, domain: Domain, column: int) -> None:
        name = show_raw(test.attribute)
        if test.operator not in FOLDED:
            words = ", ".join(one.value for one in FOLDED if not OPERATORS[one].negated)
            raise self.fail(
                f"'ignoring case' goes with {words}, negated or not, and not with {test.operator.value!r}", column
            )
        if not isinstance(domain, String | Untyped):
            raise self.fail(f"'ignoring case' needs a string attribute, and {name} is {domain.type}", column)
        if test.operands[0].kind == "reference":
            raise self.fail("'ignoring case' needs a constant, found an attribute", column)

    def domain(self, attribute: str, column: int) -> Domain:
        domain = self.schema.domain(attribute)
        if domain is None:
            near = hint(attribute, self.schema.names())
            raise self.fail(f"no attribute is called {show_raw(attribute)}{near}", column)
        return domain

    def within(self, attribute: str, column: int) -> Resolver:
        """The names of a list's records."""
        domain = self.domain(attribute, column)
        inner = self.schema.records(attribute)
        if inner is None:
            raise self.fail(f"'any' needs a list of records, and {show_raw(attribute)} is {domain.type}", column)
        return Resolver(self.text, inner)

    def check_operator(self, test: Test, domain: Domain) -> None:
        needs, word, name = OPERATORS[test.operator].needs, test.operator.value, show_raw(test.attribute)
        if needs is Needs.ORDER and not domain.ordered:
            raise self.fail(
                f"{word!r} needs an order, and the {domain.type} attribute {name} has none", test.operands[0].column
            )
        if needs is Needs.TEXT and not isinstance(domain, String | Untyped):
            raise self.fail(f"{word!r} needs a string attribute, and {name} is {domain.type}", test.column)

    def members(self, test: Test, domain: Domain) -> tuple[Value, ...]:
        values: dict[Value, None] = {}
        for operand in test.operands:
            if operand.kind == "reference":
                raise self.fail("expected a constant in the list, found an attribute", operand.column)
            value = self.constant(test, domain, operand)
            first = next(iter(values), value)
            if value.kind is not first.kind:
                raise self.fail(
                    f"expected {first.kind.noun} as the first of the list is, found {value.kind.noun}", operand.column
                )
            values[value] = None
        return tuple(values)

    def referred(self, test: Test, operand: Operand, domain: Domain) -> str | None:
        """The attribute an operand means, or None where it is a constant."""
        if operand.kind == "reference":
            return operand.text
        if operand.kind != "word" or not OPERATORS[test.operator].relations:
            return None
        if isinstance(domain, Untyped):
            word = operand.text if len(operand.text) <= 40 else "…"
            raise self.fail(
                f"a bare word is unclear here: write '{word}' for the text or @{word} for the attribute", operand.column
            )
        if self.accepts(domain, operand.text):
            return None
        return operand.text if operand.text in self.schema.names() else None

    @staticmethod
    def accepts(domain: Domain, word: str) -> bool:
        try:
            domain.value(word)
        except ValueRefused:
            return False
        return True

    def reference(self, test: Test, operand: Operand, domain: Domain, name: str) -> Predicate:
        other = self.domain(name, operand.column)
        mine, theirs = show_raw(test.attribute), show_raw(name)
        if not OPERATORS[test.operator].relations:
            raise self.fail(f"{test.operator.value!r} takes a constant, found the attribute {theirs}", operand.column)
        if name == test.attribute:
            raise self.fail(f"the attribute {theirs} is compared with itself", operand.column)
        records = Kind.RECORD in (domain.kind, other.kind)
        if records or (None not in (domain.kind, other.kind) and domain.kind is not other.kind):
            raise self.fail(f"{mine} is {domain.type} and {theirs} is {other.type}: they never compare", operand.column)
        named = isinstance(domain, Finite) or isinstance(other, Finite)
        if OPERATORS[test.operator].needs is Needs.ORDER and (not other.ordered or (named and domain != other)):
            raise self.fail(f"{mine} and {theirs} have no order in common", operand.column)
        return Predicate(test.attribute, test.operator, Reference(name))

    def constant(self, test: Test, domain: Domain, operand: Operand) -> Value:
        """The operand as a value of the domain."""
        try:
            if operand.kind != "timestamp":
                return domain.value(_literal(operand))
            if domain.kind not in (None, Kind.TIMESTAMP):
                raise ValueRefused(f"expected {domain.describe()}, found a timestamp")
            return timestamp(operand.text)
        except ValueRefused as error:
            message = f"attribute {show_raw(test.attribute)}: {error}"
            if operand.kind == "word" and "did you mean" not in message:
                message += hint(operand.text, self.schema.names())
            raise self.fail(message, operand.column) from None


def _literal(operand: Operand) -> int | float | bool | str:
    if operand.kind == "number":
        return _number(operand.text)
    return operand.text == "true" if operand.kind == "boolean" else operand.text


def _number(text: str) -> int | float:
    """Whole numbers exactly; anything with a point or an exponent as the nearest double."""
    if text.lstrip("+-").isdecimal():
        return int(text)
    found = float(text)
    if math.isinf(found):
        raise ValueRefused(f"expected a number that a double can hold, found {text[:40]}")
    return found
