"""Normal form → text, such that reading the text gives the same normal form again."""

from __future__ import annotations

import re

from tamis.language.tokens import KEYWORDS
from tamis.model import COMPLEMENT, OPERATORS, TOTAL, Among, Conjunction, Predicate, Reference, Threshold, Value, show
from tamis.model.operators import IGNORING_CASE

__all__ = ["print_predicate", "print_subscription"]

_PLAIN = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def print_subscription(conjunctions: tuple[Conjunction, ...]) -> str:
    """The expression of a normal form. One that never matches is spelt as a contradiction on `event_type`."""
    if not conjunctions:
        return "event_type is missing and event_type is present"
    return " or ".join(" and ".join(print_predicate(one) for one in conjunction) for conjunction in conjunctions)


def print_predicate(predicate: Predicate) -> str:
    """One predicate as it would be written."""
    name = _name(predicate.attribute)
    operator, operand = predicate.operator, predicate.operand
    if isinstance(operand, Threshold):
        return f"at least {operand.least} of ({', '.join(print_subscription(member) for member in operand.members)})"
    if isinstance(operand, Among):
        return f"{operator.value}({name}: {print_subscription(operand.conjunctions)})"
    if operand is None:
        return f"{name} {operator.value}"
    if operator in TOTAL:
        return f"not {name} {COMPLEMENT[operator].value} {_operand(operand)}"
    if OPERATORS[operator].folded:
        return f"{name} {operator.value.removesuffix(IGNORING_CASE)} {_operand(operand)}{IGNORING_CASE}"
    return f"{name} {operator.value} {_operand(operand)}"


def _operand(operand: Value | Reference | tuple[Value, ...]) -> str:
    if isinstance(operand, Reference):
        return f"@{_name(operand.attribute)}"
    if isinstance(operand, Value):
        return show(operand)
    return "(" + ", ".join(show(value) for value in operand) + ")"


def _name(name: str) -> str:
    if _PLAIN.fullmatch(name) and name.lower() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'
