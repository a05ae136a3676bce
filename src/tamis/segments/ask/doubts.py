"""Candidates looked at again: one value of each attribute must satisfy all that a conjunction asks of it.

A segment settles each link for itself. Where an event has several values, `bid > @reserve and bid < 100` may have found
one bid for the link and another for the bound.
"""

from __future__ import annotations

from typing import NamedTuple

from tamis.language import parse
from tamis.matchers.naive import conjunction_holds
from tamis.model import COMPARISONS, Conjunction, Event, Schema
from tamis.model.bindings import Group, connected
from tamis.segments.segment import Segment

__all__ = ["Doubts"]

_MOST_KEPT = 300_000
"""Predicates kept of one segment's normal forms, some hundred bytes each; what comes later is parsed again."""


class _Form(NamedTuple):
    """A conjunction: what it asks of sets, and of attributes that it compares with each other."""

    sets: Conjunction
    groups: list[Group]


class Doubts:
    """Second looks at the subscriptions of one segment, for which it must not hold the segment itself."""

    def __init__(self, schema: Schema, segment: Segment) -> None:
        self._schema = schema
        self.rows = segment.compares
        """Which rows need them; the same however many are dead."""
        self._kept: dict[int, list[_Form]] = {}
        self._room = _MOST_KEPT

    def forms(self, segment: Segment, row: int) -> list[_Form]:
        """The normal form of a row's text."""
        known = self._kept.get(row)
        if known is None:
            conjunctions = parse(segment.texts[row].as_py(), self._schema)
            known = [self._form(one) for one in conjunctions]
            self._room -= sum(map(len, conjunctions))
            if self._room >= 0:
                self._kept[row] = known
        return known

    def holds(self, forms: list[_Form], event: Event) -> bool:
        """Whether the event satisfies one of the conjunctions."""
        return any(
            conjunction_holds(self._schema, form.sets, event) and all(group.find(event) for group in form.groups)
            for form in forms
        )

    def _form(self, conjunction: Conjunction) -> _Form:
        comparisons = [predicate for predicate in conjunction if predicate.operator in COMPARISONS]
        sets = tuple(predicate for predicate in conjunction if predicate.operator not in COMPARISONS)
        return _Form(sets, [Group.of(self._schema, group) for group in connected(comparisons)])
