"""Candidates looked at again: one value of each attribute must satisfy all that a conjunction asks of it.

A segment settles each link for itself. Where an event has several values, `bid > @reserve and bid < 100` may have found
one bid for the link and another for the bound.
"""

from __future__ import annotations

from typing import NamedTuple

from tamis.language import parse
from tamis.matchers.naive import conjunction_holds, connected
from tamis.model import COMPARISONS, Conjunction, Event, Predicate, Reference, Schema, Value, compare
from tamis.segments.ask.linking import Choice, some_pair
from tamis.segments.segment import Segment

__all__ = ["Doubts"]

_MOST_KEPT = 300_000
"""Predicates kept of one segment's normal forms, some hundred bytes each; what comes later is parsed again."""


class _Pair(NamedTuple):
    """A link whose attributes no other link compares, and what else is asked of the two."""

    link: Predicate
    other: str
    mine: list[Predicate]
    theirs: list[Predicate]


class _Form(NamedTuple):
    """A conjunction; `rest` is for the oracle."""

    pairs: list[_Pair]
    rest: Conjunction


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
            known = [_form(one) for one in conjunctions]
            self._room -= sum(map(len, conjunctions))
            if self._room >= 0:
                self._kept[row] = known
        return known

    def holds(self, forms: list[_Form], event: Event) -> bool:
        """Whether the event satisfies one of the conjunctions."""
        return any(
            conjunction_holds(self._schema, form.rest, event) and all(self._pair_holds(p, event) for p in form.pairs)
            for form in forms
        )

    def _pair_holds(self, pair: _Pair, event: Event) -> bool:
        """Each side on its own first, then the link between the values that are left."""
        domain = self._schema.domain(pair.link.attribute)
        assert domain is not None
        mine = self._left(pair.mine, event.values.get(pair.link.attribute, ()))
        theirs = self._left(pair.theirs, event.values.get(pair.other, ())) if mine else []
        return bool(mine and theirs) and some_pair(domain, pair.link.operator, Choice(mine), Choice(theirs))

    def _left(self, predicates: list[Predicate], values: tuple[Value, ...]) -> list[Value]:
        left = list(values)
        for predicate in predicates:
            domain = self._schema.domain(predicate.attribute)
            assert domain is not None
            left = [value for value in left if compare(domain, predicate.operator, value, predicate.constants)]
        return left


def _form(conjunction: Conjunction) -> _Form:
    pairs: list[_Pair] = []
    rest = [predicate for predicate in conjunction if predicate.operator not in COMPARISONS]
    for group in connected([predicate for predicate in conjunction if predicate.operator in COMPARISONS]):
        links = [predicate for predicate in group if isinstance(predicate.operand, Reference)]
        if len(links) == 1:
            pairs.append(_pair(links[0], group))
        else:
            rest += group
    return _Form(pairs, tuple(rest))


def _pair(link: Predicate, group: list[Predicate]) -> _Pair:
    assert isinstance(link.operand, Reference)
    other = link.operand.attribute
    mine = [one for one in group if one is not link and one.attribute == link.attribute]
    return _Pair(link, other, mine, [one for one in group if one.attribute == other])
