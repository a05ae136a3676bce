"""Event → the predicates it satisfies: the first of two stages, shared by every predicate-first algorithm.

Each predicate goes where it can be found from a value, not tried one by one:

    = != < <= > >=  on numbers, strings, timestamps     a predicate index per attribute and kind (`tamis.indexes`)
    in, starts with, booleans, partial orders           postings (`postings.py`), negated too
    ends with, includes, like, whatever ignores case    one automaton over all needles (`text_tests.py`), negated too
    contains, not contains                              postings over all values of the attribute
    is present, is missing                              one predicate each per attribute
    attribute against attribute, at least               tried one by one

"Satisfied" is said of each predicate alone: some value of the event satisfies it. Where a conjunction asks for one
value to satisfy several, `Roster.answer` looks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from tamis.errors import TamisError
from tamis.indexes.base import SIX, IndexMaker, PredicateIndex
from tamis.matchers.naive import conjunction_holds
from tamis.matchers.parts.arrays import Ints
from tamis.matchers.parts.postings import Postings
from tamis.model import (
    COMPARISONS,
    COMPLEMENT,
    OPERATORS,
    TOTAL,
    Domain,
    Event,
    Finite,
    Kind,
    Number,
    Operator,
    Predicate,
    Schema,
    String,
    Timestamp,
    Untyped,
    Value,
)
from tamis.model.predicates import is_about_event

__all__ = ["Front", "as_six"]

_O = Operator
_BY_KIND: dict[Kind, Domain] = {Kind.NUMBER: Number(), Kind.STRING: String(), Kind.TIMESTAMP: Timestamp()}


def as_six(domain: Domain, predicate: Predicate) -> tuple[Operator, Value] | None:
    """The predicate as one of the six comparisons on a total order, or None if it is none."""
    operator, operand = TOTAL.get(predicate.operator, predicate.operator), predicate.operand
    if (
        isinstance(domain, Finite)
        or operator not in SIX
        or not isinstance(operand, Value)
        or operand.kind is Kind.BOOLEAN
    ):
        return None
    return operator, operand


class _Keeper(Protocol):
    """Where predicates of one sort are kept."""

    def insert(self, pid: int, predicate: Predicate) -> None: ...

    def delete(self, pid: int, predicate: Predicate) -> None: ...


class _Operands:
    """Predicates by id, with what they ask; looked at one by one."""

    def __init__(self) -> None:
        self.held: dict[int, object] = {}

    def insert(self, pid: int, predicate: Predicate) -> None:
        self.held[pid] = predicate.operand

    def delete(self, pid: int, predicate: Predicate) -> None:
        del self.held[pid]


class _Lacks:
    """Predicates that want a value to be in no event's set: those that none of its values names."""

    def __init__(self, domain: Domain) -> None:
        self.postings = Postings(domain)
        self._all: dict[int, None] = {}

    def insert(self, pid: int, predicate: Predicate) -> None:
        self.postings.insert(pid, _contained(predicate))
        self._all[pid] = None

    def delete(self, pid: int, predicate: Predicate) -> None:
        self.postings.delete(pid, _contained(predicate))
        del self._all[pid]

    def satisfied(self, values: tuple[Value, ...]) -> list[int]:
        if not self._all:
            return []
        named = {pid for value in values for pid in self.postings.search(value)}
        return [pid for pid in self._all if pid not in named]


def _contained(predicate: Predicate) -> Predicate:
    return Predicate(predicate.attribute, COMPLEMENT[predicate.operator], predicate.operand)


class _Attribute:
    """All predicates of one attribute but references and `is missing`."""

    def __init__(self, domain: Domain, make: IndexMaker) -> None:
        self.domain = domain
        self._make = make
        self.indexes: dict[Kind, PredicateIndex] = {}
        self.postings: dict[Kind, Postings] = {}
        self.contains = Postings(domain)
        self.lacks, self._present = _Lacks(domain), _Operands()

    def index(self, kind: Kind) -> PredicateIndex:
        if kind not in self.indexes:
            self.indexes[kind] = self._make(_BY_KIND[kind] if isinstance(self.domain, Untyped) else self.domain)
        return self.indexes[kind]

    def keeper(self, predicate: Predicate) -> _Keeper:
        operator = predicate.operator
        if operator in COMPARISONS:
            return self.postings.setdefault(predicate.constants[0].kind, Postings(self.domain))
        if operator is _O.PRESENT:
            return self._present
        return self.lacks if OPERATORS[operator].negated else self.contains

    def satisfied(self, values: tuple[Value, ...]) -> Iterator[Ints]:
        """Arrays of ids; for a single value each id is in one of them, once."""
        loose = list(self._present.held)
        for value in values:
            index = self.indexes.get(value.kind)
            if index is not None:
                yield index.search(value)
            postings = self.postings.get(value.kind)
            if postings is not None:
                loose.extend(postings.search(value))
            loose.extend(self.contains.search(value))
        loose.extend(self.lacks.satisfied(values))
        if loose:
            yield np.array(loose, np.int32)


class Front:
    """Predicates under their ids. `search` costs what its indexes cost, plus one try per reference predicate."""

    def __init__(self, schema: Schema, make: IndexMaker) -> None:
        self._schema = schema
        self._make = make
        self._attributes: dict[str, _Attribute] = {}
        self._references: dict[int, Predicate] = {}
        self._missing: dict[str, int] = {}
        self._tried = 0

    def insert(self, predicates: Iterable[tuple[int, Predicate]]) -> None:
        """All or, if an index cannot hold what it is given, none."""
        ordered: dict[tuple[str, Kind], list[tuple[int, Operator, Value]]] = {}
        others = []
        for pid, predicate in predicates:
            six = None if is_about_event(predicate) else as_six(self._domain(predicate), predicate)
            if six is None:
                others.append((pid, predicate))
            else:
                ordered.setdefault((predicate.attribute, six[1].kind), []).append((pid, *six))
        self._insert_ordered(ordered)
        for pid, predicate in others:
            self._insert_other(pid, predicate)

    def _insert_ordered(self, ordered: dict[tuple[str, Kind], list[tuple[int, Operator, Value]]]) -> None:
        done: list[tuple[PredicateIndex, list[tuple[int, Operator, Value]]]] = []
        try:
            for (name, kind), members in ordered.items():
                index = self._attribute(name).index(kind)
                index.insert_many(members)
                done.append((index, members))
        except TamisError:
            for index, members in done:
                for pid, _, _ in members:
                    index.delete(pid)
            raise

    def _insert_other(self, pid: int, predicate: Predicate) -> None:
        if is_about_event(predicate):
            self._references[pid] = predicate
        elif predicate.operator is _O.MISSING:
            self._missing[predicate.attribute] = pid
        else:
            self._attribute(predicate.attribute).keeper(predicate).insert(pid, predicate)

    def delete(self, predicates: Iterable[tuple[int, Predicate]]) -> None:
        for pid, predicate in predicates:
            if is_about_event(predicate):
                del self._references[pid]
            elif predicate.operator is _O.MISSING:
                del self._missing[predicate.attribute]
            elif (six := as_six(self._domain(predicate), predicate)) is not None:
                self._attributes[predicate.attribute].indexes[six[1].kind].delete(pid)
            else:
                self._attributes[predicate.attribute].keeper(predicate).delete(pid, predicate)

    def _domain(self, predicate: Predicate) -> Domain:
        domain = self._schema.domain(predicate.attribute)
        assert domain is not None
        return domain

    def _attribute(self, name: str) -> _Attribute:
        if name not in self._attributes:
            domain = self._schema.domain(name)
            assert domain is not None
            self._attributes[name] = _Attribute(domain, self._make)
        return self._attributes[name]

    def search(self, event: Event) -> Ints:
        """Ids of the predicates that hold, each once."""
        found: list[Ints] = []
        for name, values in event.values.items():
            attribute = self._attributes.get(name)
            if attribute is None or not values:
                continue
            if len(values) == 1:
                found.extend(attribute.satisfied(values))
            else:
                several = list(attribute.satisfied(values))
                found += [np.unique(np.concatenate(several))] if several else []
        loose = [pid for name, pid in self._missing.items() if not event.values.get(name)]
        loose += [pid for pid, one in self._references.items() if self._try(one, event)]
        if loose:
            found.append(np.array(loose, np.int32))
        return np.concatenate(found) if found else np.empty(0, np.int32)

    def _try(self, predicate: Predicate, event: Event) -> bool:
        self._tried += 1
        return conjunction_holds(self._schema, (predicate,), event)

    def evaluated(self) -> int:
        """Predicates looked at by all searches so far."""
        indexes = sum(index.visited for one in self._attributes.values() for index in one.indexes.values())
        postings = [
            p for one in self._attributes.values() for p in (one.contains, one.lacks.postings, *one.postings.values())
        ]
        return self._tried + indexes + sum(one.looked_up for one in postings)

    def bytes_used(self) -> int:
        return sum(index.bytes_used() for one in self._attributes.values() for index in one.indexes.values())

    def check(self) -> None:
        for attribute in self._attributes.values():
            for index in attribute.indexes.values():
                index.check()
