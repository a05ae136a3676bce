"""One mapping → the codes of one segment, value by value, with no event made of it.

Each name leads to a `_Target`, found out once; each type of its values has a reader. Of an open schema what the segment
does not look at is passed over; of a closed one every value is held against its domain. Which attributes go together,
and how many values each may have, is a matter of event types: events whose types and names were seen together before,
and were right, are right. `NotPlain` says that a mapping must be read as an event, which also has the words for what
is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tamis.model import EVENT_TYPE, Domain, Kind, Schema, Value
from tamis.model.names import MAX_DEPTH, Used, has_records
from tamis.segments.ask.plain_values import Reader, is_plain, plain_comparison, reader_of
from tamis.segments.compile.coding import Columns
from tamis.segments.compile.truths import FIRST_TRUTH, Teller

__all__ = ["Lists", "MappingCodes", "NotPlain"]

_MOST_SHAPES = 1000
"""Event types and names seen together that are kept of one segment; of others the schema is asked."""
_MOST_NAMES = 10_000
"""Kept of those that events have and nobody asks about."""
_LONG_NAME = 200
"""Longer ones are not kept."""
_MOST_VALUES = 1000
"""Of one attribute; whoever has more is read as an event."""

Lists: TypeAlias = dict[int, list[int]]
"""The codes of columns that have several, in order, each once."""
_MANY = frozenset((list, tuple, set, frozenset))


class NotPlain(Exception):
    """A mapping that must be read as an event."""


class _Target:
    """Where a name leads: to an attribute, to names within it, or to both."""

    __slots__ = ("codes", "column", "domain", "linked", "name", "noted", "readers", "teller", "within")

    def __init__(self, name: str, within: dict[object, _Target | None] | None) -> None:
        self.name = name
        self.within = within
        self.domain: Domain | None = None
        self.column = -1
        self.codes: Any = None
        self.readers: dict[type, Reader] = {}
        self.teller: Teller | None = None
        self.linked = False
        self.noted = False
        """Whether more must be known about its values than their codes."""

    def reader(self, of: type) -> Reader:
        """For values of a type; made when the first one comes."""
        assert self.domain is not None
        if (self.linked or (self.teller is not None and of is not bool)) and not is_plain(self.domain, of):
            raise NotPlain  # as it stands it is not what is compared
        found = reader_of(self.domain, of, self.codes)
        if not issubclass(of, Mapping):
            self.readers[of] = found
            return found
        raise NotPlain


class _Walk:
    """What is found on the way through one mapping."""

    __slots__ = ("codes", "dotted", "lists", "names", "raws")

    def __init__(self, codes: Any) -> None:
        self.codes = codes
        self.lists: Lists = {}
        self.names: list[object] = []
        self.raws: dict[str, Any] = {}
        self.dotted = False


class MappingCodes:
    """How mappings become codes of one segment."""

    def __init__(self, schema: Schema, columns: Columns, used: Used) -> None:
        self._schema = schema
        self._columns = columns
        self._known = schema.every if not schema.open else used
        self._targets: dict[object, _Target | None] = {}
        self._ignored = 0
        self._typed = bool(schema.event_types) and not schema.open
        self._shapes: set[object] = set()
        linked = columns.partners.items()
        self._linked = {name for mine, others in linked for name in (mine, *others)}
        self._links = [
            (column, plain_comparison(_domain(schema, name), operator), name, other)
            for name, others in columns.partners.items()
            for other, listed in others.items()
            for column, operator in listed
        ]

    def read(self, raw: dict[str, Any], codes: Any) -> Lists:
        """Write the codes of what the mapping has, over those of nothing; the value is those that are several."""
        walk = _Walk(codes)
        self._walk(walk, raw, self._targets, "", 0)
        if walk.dotted and len({*walk.names}) < len(walk.names):
            raise NotPlain  # perhaps a name that comes twice, nested and with a dot
        if self._typed:
            self._check_shape(walk, raw)
        for column, holds, name, other in self._links:
            if name in walk.raws and other in walk.raws:
                mine, theirs = walk.raws[name], walk.raws[other]
                if isinstance(mine, str) is isinstance(theirs, str) and holds(
                    mine, theirs
                ):  # across kinds all is false
                    codes[column] = FIRST_TRUTH
        return walk.lists

    def _walk(
        self, walk: _Walk, raw: dict[Any, Any], targets: dict[object, _Target | None], prefix: str, depth: int
    ) -> None:
        if depth > MAX_DEPTH:
            raise NotPlain
        for key, found in raw.items():
            try:
                target = targets[key]
            except KeyError:
                target = self._find(targets, prefix, key)
            if target is None or found is None:
                continue
            of = type(found)
            if of is dict:
                if target.within is not None:
                    self._walk(walk, found, target.within, f"{target.name}.", depth + 1)
                elif not self._schema.open:
                    raise NotPlain
                continue
            if target.domain is None:
                if self._schema.open and not isinstance(found, Mapping) and not (of in _MANY and has_records(found)):
                    continue
                raise NotPlain
            if of in _MANY:
                self._add_many(walk, target, key, found)
                continue
            read = target.readers.get(of) or target.reader(of)
            code = read(found)
            if code < 0:
                raise NotPlain
            if target.column >= 0:
                walk.codes[target.column] = code
            if target.noted:
                self._note(walk, target, key, found, False)

    def _find(self, targets: dict[object, _Target | None], prefix: str, key: object) -> _Target | None:
        if isinstance(key, str) and (type(key) is not str or self._schema.is_field(prefix + key)):
            raise NotPlain
        target = self._target(prefix + key) if isinstance(key, str) and key else None
        if target is None:
            if not self._schema.open:
                raise NotPlain
            if self._ignored >= _MOST_NAMES or (isinstance(key, str) and len(key) > _LONG_NAME):
                return None
            self._ignored += 1
        targets[key] = target
        return target

    def _target(self, name: str) -> _Target | None:
        named, outer = name in self._known.names, name in self._known.inside
        if not named and not outer:
            return None
        target = _Target(name, {} if outer else None)
        if named:
            target.column = self._columns.places.get(name, -1)
            target.codes = self._columns.attributes.get(name)
            target.teller = self._columns.tellers.get(name)
            target.linked = name in self._linked
            target.domain = _domain(self._schema, name)
            target.noted = self._typed or target.linked or target.teller is not None or "." in name
        return target

    def _note(self, walk: _Walk, target: _Target, key: str, found: Any, several: object) -> None:
        """What else must be known about a value, or about several of one attribute."""
        if "." in key:
            walk.dotted = True
        walk.names.append(target.name)
        if self._typed and several:
            walk.names.append(several)
        if target.linked:
            walk.raws[target.name] = found
        if target.teller is not None:
            text = isinstance(found, str)  # in a domain where it is text, or `reader` would not have let it pass
            told = target.teller.told(Value(Kind.STRING, str.__str__(found))) if text else target.teller.told_of_no_text
            _tell(walk, told)

    def _add_many(self, walk: _Walk, target: _Target, key: str, found: Iterable[Any]) -> None:
        values = [one for one in found if one is not None]
        if not values:
            if "." in target.name:
                raise NotPlain
            return
        if len(values) > _MOST_VALUES or (len(values) > 1 and (target.linked or target.teller is not None)):
            raise NotPlain
        codes = set()
        for one in values:
            if type(one) is dict or type(one) in _MANY:
                raise NotPlain
            code = (target.readers.get(type(one)) or target.reader(type(one)))(one)
            if code < 0:
                raise NotPlain
            codes.add(code)
        if target.column >= 0:
            walk.codes[target.column] = code
            if len(codes) > 1:
                walk.lists[target.column] = sorted(codes)
        self._note(walk, target, key, values[0], self._typed and _several(values))

    def _check_shape(self, walk: _Walk, raw: dict[str, Any]) -> None:
        """R1, the counts of R2, and R3, by what was right before."""
        types = raw.get(EVENT_TYPE)
        shape = (tuple(types) if isinstance(types, list | tuple) else types, *walk.names)
        try:
            known = shape in self._shapes
        except TypeError:
            raise NotPlain from None
        if not known:
            self._schema.event(raw)  # whatever is wrong with it is said here
            if len(self._shapes) < _MOST_SHAPES:
                self._shapes.add(shape)
        if EVENT_TYPE not in walk.names and len(self._schema.event_types) == 1:  # it need not be named
            self._walk(walk, dict.fromkeys((EVENT_TYPE,), *self._schema.event_types), self._targets, "", 0)


def _domain(schema: Schema, name: str) -> Domain:
    domain = schema.domain(name)
    assert domain is not None
    return domain


def _several(values: list[Any]) -> bool:
    """Whether there are several values for sure, or surely not."""
    if len(values) == 1:
        return False
    if len(set(map(type, values))) > 1:
        raise NotPlain
    try:
        return len(set(values)) > 1
    except TypeError:
        raise NotPlain from None


def _tell(walk: _Walk, told: list[tuple[int, int]]) -> None:
    for column, code in told:
        before = walk.lists.get(column)
        if before is not None:
            before.append(code)
            before.sort()
        elif walk.codes[column] >= FIRST_TRUTH:
            walk.lists[column] = sorted((walk.codes[column], code))
        else:
            walk.codes[column] = code
