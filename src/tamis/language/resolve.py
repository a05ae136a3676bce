"""Tests → predicates: look up attributes, read constants in their domains, decide what a bare word means."""

from __future__ import annotations

import math

from tamis.errors import LanguageError
from tamis.language.grammar import Operand, Test
from tamis.model import Domain, Finite, Kind, Operator, Predicate, Reference, Schema, Untyped, Value
from tamis.model.domains import hint
from tamis.model.values import ValueRefused, boolean, number, show_raw, string, timestamp

__all__ = ["Resolver"]

_O = Operator
_ORDER = frozenset({_O.LT, _O.LE, _O.GT, _O.GE})


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
        if test.operator is _O.IN:
            return Predicate(test.attribute, _O.IN, self.members(test, domain))
        operand = test.operands[0]
        self.check_operator(test, domain)
        name = self.referred(test, operand, domain)
        if name is not None:
            return self.reference(test, operand, domain, name)
        value = self.constant(domain, operand, f"attribute {test.attribute!r}")
        if test.operator in _ORDER and value.kind is Kind.BOOLEAN:
            raise self.fail(f"{test.operator.value!r} needs an order, and booleans have none", operand.column)
        if test.operator is _O.STARTS and value.kind is not Kind.STRING:
            raise self.fail(f"'starts with' needs a string, found {show_raw(value.data)}", operand.column)
        return Predicate(test.attribute, test.operator, value)

    def domain(self, attribute: str, column: int) -> Domain:
        domain = self.schema.domain(attribute)
        if domain is None:
            known = self.schema.names()
            raise self.fail(f"no attribute is called {attribute!r}{hint(attribute, known)}", column)
        return domain

    def check_operator(self, test: Test, domain: Domain) -> None:
        if test.operator in _ORDER and not domain.ordered:
            raise self.fail(
                f"{test.operator.value!r} needs an order, and the {domain.type} domain of {test.attribute!r} has none",
                test.operands[0].column,
            )
        if test.operator is _O.STARTS and (isinstance(domain, Finite) or domain.kind not in (Kind.STRING, None)):
            raise self.fail(
                f"'starts with' needs a string attribute, and {test.attribute!r} is {domain.type}", test.column
            )

    def members(self, test: Test, domain: Domain) -> tuple[Value, ...]:
        place = f"attribute {test.attribute!r}"
        values: dict[Value, None] = {}
        for operand in test.operands:
            if operand.kind == "reference":
                raise self.fail("expected a constant in the list, found an attribute", operand.column)
            value = self.constant(domain, operand, place)
            if values and value.kind is not next(iter(values)).kind:
                raise self.fail("expected constants of one kind in the list, found another here", operand.column)
            values[value] = None
        return tuple(values)

    def referred(self, test: Test, operand: Operand, domain: Domain) -> str | None:
        """The attribute an operand means, or None where it is a constant."""
        if operand.kind == "reference":
            return operand.text
        if operand.kind != "word" or test.operator in (_O.CONTAINS, _O.STARTS):
            return None
        if isinstance(domain, Untyped):
            word = operand.text
            raise self.fail(f"the bare word {word!r} is unclear: write '{word}' for the text or @{word} for the attribute",
                            operand.column)  # fmt: skip
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
        if test.operator in (_O.CONTAINS, _O.STARTS):
            raise self.fail(f"{test.operator.value!r} takes a constant, found the attribute {name!r}", operand.column)
        if name == test.attribute:
            raise self.fail(f"the attribute {name!r} is compared with itself", operand.column)
        if None not in (domain.kind, other.kind) and domain.kind is not other.kind:
            raise self.fail(f"{test.attribute!r} is {domain.type} and {name!r} is {other.type}: they never compare",
                            operand.column)  # fmt: skip
        named = isinstance(domain, Finite) or isinstance(other, Finite)
        if test.operator in _ORDER and (not other.ordered or (named and domain != other)):
            raise self.fail(f"{test.attribute!r} and {name!r} have no order in common", operand.column)
        return Predicate(test.attribute, test.operator, Reference(name))

    def constant(self, domain: Domain, operand: Operand, place: str) -> Value:
        """The operand as a value of the domain."""
        try:
            if operand.kind == "timestamp":
                value = timestamp(operand.text)
                if domain.kind not in (None, Kind.TIMESTAMP):
                    raise domain.refuse(operand.text)
                return value
            return domain.value(_literal(operand).data)
        except ValueRefused as error:
            attribute = hint(operand.text, self.schema.names()) if operand.kind == "word" else ""
            raise self.fail(f"{place}: {error}{attribute}", operand.column) from None


def _literal(operand: Operand) -> Value:
    if operand.kind == "number":
        return number(_number(operand.text))
    if operand.kind == "boolean":
        return boolean(operand.text == "true")
    return string(operand.text)


def _number(text: str) -> int | float:
    """Whole numbers exactly; anything with a point or an exponent as the nearest double."""
    if text.lstrip("+-").isdecimal():
        return int(text)
    found = float(text)
    if math.isinf(found):
        raise ValueRefused(f"expected a number that a double can hold, found {text[:40]}")
    return found
