"""New subscriptions that no segment has yet, and how a single event finds those it satisfies.

Compiling takes milliseconds however few there are, and so does reading an event by the model beside everything else.
So they are filed under one of their equalities, in dictionaries, and held against the mapping as it is, as far as they
compare plain values; what more they say is for the oracle, once all of that holds. An event that is not surely plain is
for the oracle, too: `NotPlain` says so.

A `Fresh` only grows, and lists more than a reader may see: whoever asks looks in its own snapshot who is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tamis.batches.checks import Between, OneOf, Text, plain_check
from tamis.language import parse
from tamis.model import EVENT_TYPE, Conjunction, Kind, Operator, Predicate, Schema, SubscriptionId, Value
from tamis.segments.ask.mapping_codes import NotPlain
from tamis.segments.ask.plain_values import is_plain, plain_comparison

__all__ = ["Delta", "Fresh"]

_MOST_KEYS = 100
"""Values of one `in` that a subscription is filed under."""
_MOST_VALUES = 100
"""Of one attribute in an event; whoever has more is read as an event."""
_TYPES: dict[Kind, tuple[type, ...]] = {Kind.STRING: (str,), Kind.NUMBER: (int, float)}
_COMPARED = (Operator.EQ, Operator.NE, Operator.LT, Operator.LE, Operator.GT, Operator.GE)


class Delta:
    """A subscription that no segment has yet; parsed when somebody needs to know what it says."""

    __slots__ = ("_conjunctions", "number", "text")

    def __init__(self, text: str, number: int, conjunctions: tuple[Conjunction, ...] | None) -> None:
        self.text = text
        self.number = number
        self._conjunctions = conjunctions

    def conjunctions(self, schema: Schema) -> tuple[Conjunction, ...]:
        if self._conjunctions is None:
            self._conjunctions = parse(self.text, schema)
        return self._conjunctions


class _Test(NamedTuple):
    """One comparison: `holds(value, constant)` of values that are text, or are not."""

    name: str
    holds: Callable[[Any, Any], bool]
    constant: Any
    text: bool
    keys: tuple[Any, ...]
    """The only values that satisfy it, if they are few."""


class _Plain(NamedTuple):
    """The plain comparisons of a conjunction, with whose it is."""

    id: SubscriptionId
    delta: Delta
    tests: tuple[_Test, ...]
    alone: bool
    """Whether no two are about one attribute: then any of several values may do for each."""
    sure: bool
    """Whether it says nothing else."""

    def holds(self, found: Mapping[str, Any]) -> bool:
        for name, holds, constant, text, _ in self.tests:
            value = found.get(name)
            if value is None:
                return False
            if type(value) is list:
                if not self.alone:
                    raise NotPlain
                if not any((type(one) is str) is text and holds(one, constant) for one in value):
                    return False
            elif (type(value) is str) is not text or not holds(value, constant):
                return False
        return True


class _Name:
    """An attribute: the way to it in a mapping, which values are plain, and who is filed under which."""

    __slots__ = ("checks", "filed", "path")

    def __init__(self, schema: Schema, name: str) -> None:
        domain = schema.domain(name)
        assert domain is not None
        self.path = tuple(name.split("."))
        self.checks = {of: _check(plain_check(domain, of)) for of in (str, int, float) if is_plain(domain, of)}
        self.filed: dict[Any, dict[int, _Plain]] = {}

    def plain(self, value: Any) -> bool:
        check = self.checks.get(type(value))
        return check is not None and check(value)


def _check(rule: object) -> Callable[[Any], bool]:
    match rule:
        case OneOf(known):
            return lambda value: value in known
        case Between(low, high):
            return lambda value: bool(low <= value <= high)
        case Text():
            return str.isascii  # others may hold half characters
    raise AssertionError(f"no check: {rule!r}")


class Fresh:
    """The subscriptions of a delta, as single events find them."""

    def __init__(self, schema: Schema, held: Mapping[SubscriptionId, Delta] | None = None) -> None:
        self._schema = schema
        self._added = list((held or {}).items())
        self._known = 0
        self._names: dict[str, _Name] = {}
        self._nested = False
        self._loose: dict[int, _Plain] = {}
        self._unsure = 0

    def add(self, id: SubscriptionId, held: Delta) -> None:
        """Before it is in the delta, lest a reader that sees it there miss it here."""
        self._added.append((id, held))

    @property
    def added(self) -> int:
        return len(self._added)

    @property
    def unread(self) -> int:
        """Those that nobody has parsed yet."""
        return len(self._added) - self._known

    @property
    def slow(self) -> int:
        """Those that every event is held against."""
        return len(self._loose) + 8 * self._unsure

    def catch_up(self) -> None:
        """Take note of those that were added. Two threads may do so at once: what is filed twice is there once."""
        if self._known == len(self._added):
            return
        at = self._known
        while at < len(self._added):
            self._file(*self._added[at])
            at += 1
        self._known = max(self._known, at)

    def _file(self, id: SubscriptionId, held: Delta) -> None:
        for at, conjunction in enumerate(held.conjunctions(self._schema)):
            one, number = self._plain(id, held, conjunction), held.number * 256 + at
            asked = [name for predicate in conjunction for name in predicate.attributes] if self._schema.open else ()
            for name in (*asked, *(test.name for test in one.tests)):  # a closed schema has looked at all of the event
                self._name(name)
            filed = min((test for test in one.tests if test.keys), key=self._crowd, default=None)
            if filed is None:
                self._unsure += not one.sure
                self._loose[number] = one
            else:
                for key in filed.keys:
                    self._names[filed.name].filed.setdefault(key, {})[number] = one

    def _crowd(self, test: _Test) -> tuple[int, int]:
        """Who is there already, and how many other values there are: the fewer and the more, the better a place."""
        filed = self._names[test.name].filed
        return sum(len(filed.get(key, _NOBODY)) for key in test.keys), -len(filed)

    def _name(self, name: str) -> _Name:
        if name not in self._names:
            self._names = self._names | {name: _Name(self._schema, name)}  # never changed: others walk through it
            self._nested = self._nested or "." in name
        return self._names[name]

    def _plain(self, id: SubscriptionId, held: Delta, conjunction: Conjunction) -> _Plain:
        found = tuple(test for predicate in conjunction if (test := self._test(predicate)) is not None)
        alone = len({test.name for test in found}) == len(found)
        return _Plain(id, held, found, alone, len(found) == len(conjunction))

    def _test(self, predicate: Predicate) -> _Test | None:
        """None if it takes more than a comparison of Python's."""
        name, operator, constants = predicate.attribute, predicate.operator, predicate.constants
        if not constants or name == EVENT_TYPE or constants[0].kind not in _TYPES:
            return None
        domain = self._schema.domain(name)
        if domain is None or not any(is_plain(domain, of) for of in _TYPES[constants[0].kind]):
            return None
        text, data = constants[0].kind is Kind.STRING, tuple(one.data for one in constants)
        if any(type(one) not in (str, int, float) for one in data):
            return None  # a number so long that Python and we hash it differently
        if operator is Operator.IN:
            return _Test(name, _is_in, frozenset(data), text, data[:_MOST_KEYS] if len(data) <= _MOST_KEYS else ())
        if operator is Operator.CONTAINS:
            operator = Operator.EQ
        if operator not in _COMPARED or not isinstance(predicate.operand, Value):
            return None
        return _Test(name, plain_comparison(domain, operator), data[0], text, data if operator is Operator.EQ else ())

    def holding(
        self, raw: dict[str, Any], there: Mapping[SubscriptionId, Delta]
    ) -> tuple[list[tuple[int, SubscriptionId]], list[tuple[SubscriptionId, Delta]]]:
        """Of those that are `there`: who is satisfied for sure, by number, and whom the oracle must be asked about."""
        self.catch_up()
        if self._nested and _dotted(raw):
            raise NotPlain
        found: dict[str, Any] = {}
        near: dict[int, _Plain] = dict(self._loose)
        for name, at in self._names.items():
            value = raw.get(name) if len(at.path) == 1 else _within(raw, at.path)
            if value is None:
                continue
            if type(value) in _SEVERAL:
                value = [one for one in value if one is not None]
                if len(value) > _MOST_VALUES or not all(map(at.plain, value)):
                    raise NotPlain
                for one in value:
                    near |= at.filed.get(one, _NOBODY)
            elif not at.plain(value):
                raise NotPlain
            elif value in at.filed:
                near |= at.filed[value]
            found[name] = value
        seen = [one for one in near.values() if there.get(one.id) is one.delta and one.holds(found)]
        held = {one.delta.number: one.id for one in seen if one.sure}
        asked = {one.id: one.delta for one in seen if not one.sure and one.delta.number not in held}
        return list(held.items()), list(asked.items())


_NOBODY: dict[int, _Plain] = {}
_SEVERAL = frozenset((list, tuple))


def _is_in(value: Any, constants: frozenset[Any]) -> bool:
    return value in constants


def _dotted(raw: dict[str, Any]) -> bool:
    """Whether a name is given with a dot, which may lead where nesting leads."""
    return any(type(key) is str and "." in key for key in raw)


def _within(raw: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = raw.get(path[0])
    for part in path[1:]:
        if value is None:
            return None
        if type(value) is not dict or _dotted(value):
            raise NotPlain
        value = value.get(part)
    return value
