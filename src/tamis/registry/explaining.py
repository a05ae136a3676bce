"""Why did, or did not, this event match? One line per predicate, under the choice of values that comes closest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

from tamis.language import print_predicate
from tamis.matchers.base import Work
from tamis.matchers.naive import conjunction_holds, find_binding
from tamis.model import (
    COMPARISONS,
    Among,
    Conjunction,
    Event,
    Kind,
    Operator,
    Predicate,
    Reference,
    Schema,
    Threshold,
    Value,
    compare,
    show,
)
from tamis.model.bindings import connected

__all__ = ["Explanation", "Line", "explain"]

_MOST_BINDINGS = 1_000
"""Choices of values tried in search of the closest; past it the best so far is shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """One predicate: its text, whether it holds, and the value that decided it."""

    conjunction: int
    text: str
    holds: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """`matches` is the answer; `lines` are the predicates of all conjunctions, numbered from 0."""

    matches: bool
    lines: tuple[Line, ...]

    def __str__(self) -> str:
        shown = ["matches" if self.matches else "does not match"]
        if not self.lines:
            shown.append("  the subscription contradicts itself and never matches")
        last = 0
        for line in self.lines:
            if line.conjunction != last:
                shown.append("  or")
                last = line.conjunction
            shown.append(f"  {'✓' if line.holds else '✗'} {line.text:<44} {line.reason}")
        return "\n".join(shown)


def explain(schema: Schema, conjunctions: tuple[Conjunction, ...], event: Event) -> Explanation:
    """Each predicate of each conjunction against the event."""
    lines = [
        line
        for number, conjunction in enumerate(conjunctions)
        for line in _explain_conjunction(schema, number, conjunction, event)
    ]
    return Explanation(any(conjunction_holds(schema, one, event) for one in conjunctions), tuple(lines))


def _explain_conjunction(schema: Schema, number: int, conjunction: Conjunction, event: Event) -> Iterator[Line]:
    binding = _closest(schema, conjunction, event)
    for predicate in conjunction:
        yield Line(number, print_predicate(predicate), *_verdict(schema, predicate, binding, event))


def _closest(schema: Schema, conjunction: Conjunction, event: Event) -> dict[str, Value]:
    """A binding under which all comparisons hold, or else most; unconnected attributes are settled apart."""
    comparisons = [predicate for predicate in conjunction if predicate.operator in COMPARISONS]
    best: dict[str, Value] = {}
    for group in connected(comparisons):
        best |= find_binding(schema, group, event, Work()) or _nearly(schema, group, event)
    return best


def _nearly(schema: Schema, group: list[Predicate], event: Event) -> dict[str, Value]:
    """The binding of those tried under which most of the group holds; missing attributes are left out."""
    names = sorted({name for p in group for name in p.attributes if event.values.get(name)})
    choices = product(*(event.values[name] for name in names))
    bindings = [dict(zip(names, values, strict=True)) for values in islice(choices, _MOST_BINDINGS)]
    scores = [_score(schema, group, binding) for binding in bindings]
    return bindings[scores.index(max(scores))]


def _score(schema: Schema, group: list[Predicate], binding: dict[str, Value]) -> int:
    return sum(bool(_compared(schema, predicate, binding)) for predicate in group)


def _compared(schema: Schema, predicate: Predicate, binding: dict[str, Value]) -> bool | None:
    """Whether a comparison holds under the binding; None where a value it needs is not bound."""
    operand = predicate.operand
    if isinstance(operand, Reference):
        operand = binding.get(operand.attribute)
    value = binding.get(predicate.attribute)
    domain = schema.domain(predicate.attribute)
    if value is None or operand is None or domain is None or isinstance(operand, Threshold | Among):
        return None
    return compare(domain, predicate.operator, value, operand)


def _verdict(schema: Schema, predicate: Predicate, binding: dict[str, Value], event: Event) -> tuple[bool, str]:
    if predicate.operator in COMPARISONS:
        reasons = ", ".join(_bound(name, binding, event) for name in predicate.attributes)
        return bool(_compared(schema, predicate, binding)), reasons
    holds = conjunction_holds(schema, (predicate,), event)
    if isinstance(predicate.operand, Threshold):
        members = predicate.operand.members
        count = sum(any(conjunction_holds(schema, one, event) for one in member) for member in members)
        return holds, f"{count} of {len(members)} hold"
    if isinstance(predicate.operand, Among):
        return holds, _records(schema, predicate.attribute, predicate.operand, event)
    values = event.values.get(predicate.attribute, ())
    if predicate.operator in (Operator.PRESENT, Operator.MISSING) and values:
        return holds, f"{predicate.attribute} is present"
    return holds, f"{predicate.attribute} is {_show_all(values)}"


def _records(schema: Schema, name: str, among: Among, event: Event) -> str:
    """How many records of a list satisfy what is asked of one."""
    inner, records = schema.records(name), event.records.get(name, ())
    if inner is None or not records:
        return f"{name} is {_show_all(event.values.get(name, ()))}"
    count = sum(any(conjunction_holds(inner, one, record) for one in among.conjunctions) for record in records)
    return f"{count} of {len(records)} {'record does' if len(records) == 1 else 'records do'}"


def _bound(name: str, binding: dict[str, Value], event: Event) -> str:
    if name not in binding:
        return f"{name} is missing"
    others = len(event.values[name]) - 1
    return f"{name} is {show(binding[name])}" + (f" (the closest of {others + 1} values)" if others else "")


def _show_all(values: tuple[Value, ...]) -> str:
    if not values:
        return "missing"
    if values[0].kind is Kind.RECORD:
        return f"a list of {len(values)} {'record' if len(values) == 1 else 'records'}"
    shown = ", ".join(show(value) for value in values[:5])
    return f"{{{shown}{', …' if len(values) > 5 else ''}}}"
