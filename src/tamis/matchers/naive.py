"""Naive matching (Le Subscribe, figure 1): test every subscription, one by one, against each event.

This is the oracle. It defines what every other algorithm must answer, so it is written to be obviously right and
imports nothing but the model. A conjunction holds when *some* choice of one value per attribute satisfies all its
comparisons at once; `contains`, `not contains` and presence look at the whole set of values.

We deviate from the figure in that predicates on unconnected attributes are tried apart, not in one product over all
attributes: a choice for one cannot help or hurt another. Attributes that are compared with each other are tried in
all combinations, unless these are very many: then `model.bindings` finds one, or that there is none, without that.

Cost: match O(all predicates of all subscriptions × values), add and remove O(1), memory O(subscriptions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from sys import getsizeof
from typing import assert_never

from tamis.matchers.base import Entry, Keys, MatcherStats, Rows, Work
from tamis.model import (
    COMPARISONS,
    OPERATORS,
    Among,
    Conjunction,
    Event,
    Predicate,
    Reference,
    Schema,
    Threshold,
    Value,
    compare,
)
from tamis.model.bindings import Group, connected
from tamis.model.operators import Shape
from tamis.model.predicates import folded
from tamis.model.values import Kind

__all__ = ["FEW_CHOICES", "Naive", "conjunction_holds", "find_binding", "threshold_holds"]

FEW_CHOICES = 1_000
"""Choices of values, times what each is compared with, that are tried one by one."""


class Naive:
    """A dictionary of subscriptions."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._subscriptions: dict[int, tuple[Conjunction, ...]] = {}
        self._work = Work()

    def add(self, entries: Sequence[Entry]) -> None:
        self._subscriptions.update(entries)

    def remove(self, keys: Sequence[int]) -> None:
        for key in keys:
            del self._subscriptions[key]

    def match(self, event: Event) -> list[int]:
        self._work.events += 1
        return [
            key
            for key, conjunctions in self._subscriptions.items()
            if any(conjunction_holds(self._schema, one, event, self._work) for one in conjunctions)
        ]

    def match_many(self, events: Sequence[Event]) -> Rows[Keys]:
        return Rows.of(self.match(event) for event in events)

    def stats(self) -> MatcherStats:
        return MatcherStats(
            subscriptions=len(self._subscriptions),
            conjunctions=sum(map(len, self._subscriptions.values())),
            bytes=getsizeof(self._subscriptions),
            work=MatcherStats.work_of(self._work),
        )

    def check(self) -> None:
        for key, conjunctions in self._subscriptions.items():
            assert all(conjunctions), f"subscription {key} has an empty conjunction"


def conjunction_holds(schema: Schema, conjunction: Conjunction, event: Event, work: Work | None = None) -> bool:
    """Whether the event satisfies the conjunction. This function is the meaning of a subscription."""
    work = work or Work()
    comparisons = []
    for predicate in conjunction:
        if predicate.operator in COMPARISONS:
            comparisons.append(predicate)
        elif not _set_holds(schema, predicate, event, work):
            return False
    return all(find_binding(schema, group, event, work) is not None for group in connected(comparisons))


def _set_holds(schema: Schema, predicate: Predicate, event: Event, work: Work) -> bool:
    work.predicates_evaluated += 1
    values = event.values.get(predicate.attribute, ())
    row = OPERATORS[predicate.operator]
    match row.shape:
        case Shape.PRESENCE:
            return bool(values) is not row.negated
        case Shape.COUNT:
            assert isinstance(predicate.operand, Threshold)
            return threshold_holds(schema, predicate.operand, event, work)
        case Shape.RECORDS:
            there = predicate.attribute in event.records
            return there and _some_record(schema, predicate, event, work) is not row.negated
        case Shape.POINTS:
            if row.folded:
                values = tuple(folded(value) if value.kind is Kind.STRING else value for value in values)
            return bool(values) and (predicate.operand in values) is not row.negated
        case Shape.BELOW | Shape.UP_TO | Shape.ABOVE | Shape.FROM | Shape.PREFIX:
            raise AssertionError(f"{predicate.operator.value!r} is about one value, not about the set")
        case Shape.SUFFIX | Shape.SUBSTRING | Shape.PATTERN:
            raise AssertionError(f"{predicate.operator.value!r} is about one value, not about the set")
        case never:
            assert_never(never)


def threshold_holds(schema: Schema, threshold: Threshold, event: Event, work: Work) -> bool:
    """Whether so many of the members hold, each as if it were a subscription."""
    left = threshold.least
    for member in threshold.members:
        left -= any(conjunction_holds(schema, one, event, work) for one in member)
        if left == 0:
            return True
    return False


def _some_record(schema: Schema, predicate: Predicate, event: Event, work: Work) -> bool:
    """Whether a record of the list, judged as an event of its own, satisfies one of the conjunctions."""
    inner = schema.records(predicate.attribute)
    assert isinstance(predicate.operand, Among)
    return inner is not None and any(
        conjunction_holds(inner, one, record, work)
        for record in event.records.get(predicate.attribute, ())
        for one in predicate.operand.conjunctions
    )


def find_binding(schema: Schema, group: list[Predicate], event: Event, work: Work) -> dict[str, Value] | None:
    """A choice of one value per attribute under which all comparisons of the group hold; None if there is none.

    One attribute is bound after another, by name, and each comparison is tried with the last it names.
    """
    ripe: dict[str, list[Predicate]] = {name: [] for predicate in group for name in predicate.attributes}
    names = sorted(ripe)
    choices = prod(len(event.values.get(name, ())) for name in names)
    if choices > 1 and choices * sum(len(one.constants) or 1 for one in group) > FEW_CHOICES:
        work.predicates_evaluated += len(group)
        return Group.of(schema, group).find(event)
    for predicate in group:
        ripe[max(predicate.attributes)].append(predicate)
    binding: dict[str, Value] = {}

    def bind(at: int) -> bool:
        if at == len(names):
            return True
        for value in event.values.get(names[at], ()):
            binding[names[at]] = value
            if all(_holds(schema, predicate, binding, work) for predicate in ripe[names[at]]) and bind(at + 1):
                return True
        return False

    return binding if bind(0) else None


def _holds(schema: Schema, predicate: Predicate, binding: Mapping[str, Value], work: Work) -> bool:
    work.predicates_evaluated += 1
    domain = schema.domain(predicate.attribute)
    operand = predicate.operand
    if isinstance(operand, Reference):
        operand = binding[operand.attribute]
    assert domain is not None
    assert operand is not None
    assert not isinstance(operand, Threshold | Among)
    return compare(domain, predicate.operator, binding[predicate.attribute], operand)
