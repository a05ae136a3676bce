"""Events: what is published, and the edge where a mapping becomes one.

An event binds attributes to sets of values; a set offers a choice, any of its values may be bound. `None`, an
empty list and an absent key all mean *missing*. Nested mappings are flattened: `{"seller": {"rating": 5}}` has
the attribute `seller.rating`; of a list of records, `variants`, the attribute `variants.size` has the values of all.
Where the schema has a single event type, an event need not name it.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tamis.errors import EventError
from tamis.model.domains import Untyped, hint
from tamis.model.given import MAX_VALUES, Given
from tamis.model.names import MAX_DEPTH, Used
from tamis.model.records import Records, cuts
from tamis.model.schema import EVENT_TYPE, Schema, View
from tamis.model.values import MAX_BITS, Kind, Value, ValueRefused, show_raw

__all__ = ["MAX_DEPTH", "MAX_VALUES", "Event", "event_type_name", "parse_json", "read_event", "read_validated"]


@dataclass(frozen=True, slots=True)
class Event:
    """Attribute → its values, each once, in the order given."""

    values: Mapping[str, tuple[Value, ...]]
    records: Mapping[str, tuple[Event, ...]] = field(default_factory=lambda: _NO_RECORDS)
    """Of lists that somebody asks about, each record as an event of its own."""
    lines: dict[str, Mapping[Kind, Sequence[Any]]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Kept by `bindings` as it sorts them."""


_NO_RECORDS: Mapping[str, tuple[Event, ...]] = {}


def parse_json(text: str | bytes) -> dict[str, object]:
    """One event as JSON text → a mapping for `read_event`."""
    try:
        found = json.loads(text)
    except UnicodeDecodeError as error:
        found_byte = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise EventError(f"expected an event as JSON in UTF-8, found {found_byte}") from None
    except RecursionError:
        raise EventError("expected an event as JSON, found brackets nested too deep to read") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise EventError(f"expected an event as JSON: {error.msg} at {place}") from None
    except ValueError:  # Python reads no integer of more than 4,300 digits
        found = json.loads(text, parse_int=_whole)
    if not isinstance(found, dict):
        raise EventError(f"expected an event as a JSON object, found {show_raw(found)}")
    return found


def _whole(digits: str) -> int:
    """The number, or one that has too many digits as well: whoever uses it will refuse it."""
    try:
        return int(digits)
    except ValueError:
        return int(1 << MAX_BITS)


def read_event(schema: Schema, raw: Mapping[str, object], used: Used | None = None) -> Event:
    """The event that `raw` stands for, checked by R1, R2 and R3; `EventError` names the rule it breaks.

    Of an open schema, whose rules ask for nothing, only what is `used` is read, and refused, where that is given.
    """
    if not isinstance(raw, Mapping):
        raise EventError(f"expected an event as a mapping of attributes to values, found {show_raw(raw)}")
    used = used if schema.open else None
    given = Given(raw, used)
    if given.lists or schema.has_lists:
        _check_lists(schema, given)
    if schema.open:
        return _event(schema, given, used)
    view = schema.view(_type_names(schema, given.values)) if schema.event_types else None
    inside = schema.attributes if view is None else view.uses
    for name in given.values:
        known = name in inside or (name == EVENT_TYPE and schema.typed)
        if not known and (name not in given.spread or not _is_field(schema, name, inside)):
            raise _outside(schema, name, view)
    for name in given.lists:
        if name not in inside and not _is_field(schema, name, inside) and name not in schema.every.inside:
            raise _outside(schema, name, view)
    event = _event(schema, given, None)
    if view is not None:
        _check_uses(view, event.values)
    return event


def read_validated(schema: Schema, raw: Mapping[str, object], used: Used | None = None) -> Event:
    """The event of a mapping that is known to keep the rules: nothing is asked but what reading its values needs.

    Only what is `used` is read, where that is given.
    """
    given = Given(raw, used)
    if not schema.open:
        _add_only_type(schema, given.values)
    for name in given.values:
        if schema.domain(name) is None:
            raise EventError(f"the attribute {show_raw(name)} is not in the schema", "R3", name)
    return _event(schema, given, used)


def _event(schema: Schema, given: Given, used: Used | None) -> Event:
    """The values of an event whose names are right, and the records that are asked about."""
    values = {name: _read_values(schema, name, choice) for name, choice in given.values.items()}
    if not given.lists:
        return Event(values)
    records: dict[str, tuple[Event, ...]] = {}
    for name, listed in given.lists.items():
        inner = schema.records(name)
        if inner is not None and (used is None or name in used.names):
            within = None if used is None else used.within(name)
            values[name] = tuple([Value(Kind.RECORD, at) for at in range(len(listed))])
            records[name] = tuple([_record(inner, one, within) for one in listed])
    return Event(values, records)


def _record(schema: Schema, given: Given, used: Used | None) -> Event:
    """Read once, however many lists around it name it: its own list, and dotted ones."""
    if given.event is None:
        given.event = _event(schema, given, used)
    return given.event


def _check_lists(schema: Schema, given: Given) -> None:
    """Where records may be, and where nothing else may."""
    for name in given.lists:
        domain = schema.domain(name)
        if domain is not None and schema.records(name) is None:
            raise EventError(f"attribute {show_raw(name)}: expected {domain.describe()}, found a record", "R2", name)
    for name in given.values.keys() - given.spread if schema.has_lists else ():
        if schema.is_field(name):
            outer = next(outer for outer, _ in cuts(name) if isinstance(schema.domain(outer), Records))
            message = f"attribute {show_raw(outer)}: expected a list of records, found {show_raw(name)} outside of one"
            raise EventError(message, "R2", outer)


def _is_field(schema: Schema, name: str, inside: Container[str]) -> bool:
    """Whether a name is that of a field of records that may be there."""
    if name in schema.attributes or not schema.has_lists:
        return False
    return any(outer in inside for outer, _ in cuts(name)) and schema.domain(name) is not None


def _outside(schema: Schema, name: str, view: View | None) -> EventError:
    inside = schema.attributes if view is None else view.uses
    known = inside if "." not in name else [one for one in schema.names() if _is_field(schema, one, inside)] or inside
    found = f"the attribute {show_raw(name)} is not in {_title(view)}"
    return EventError(f"{found}{hint(name, known)}", "R3", name)


def _add_only_type(schema: Schema, given: dict[str, list[object]]) -> None:
    if EVENT_TYPE not in given and len(schema.event_types) == 1:
        given[EVENT_TYPE] = list(schema.event_types)  # no choice, so nothing to ask for


def _type_names(schema: Schema, given: dict[str, list[object]]) -> list[str]:
    _add_only_type(schema, given)
    names = given.get(EVENT_TYPE)
    if names is None:
        known = ", ".join(map(show_raw, islice(schema.event_types, 6)))
        raise EventError(f"expected event_type with types such as {known}, found none", "R1", EVENT_TYPE)
    return [event_type_name(name) for name in names]


def event_type_name(raw: object) -> str:
    """The name itself, if it is one."""
    if not isinstance(raw, str):
        raise EventError(f"expected an event type's name, found {show_raw(raw)}", "R1", EVENT_TYPE)
    return raw


def _read_values(schema: Schema, name: str, choice: list[object]) -> tuple[Value, ...]:
    domain = schema.domain(name)
    assert domain is not None, "R3 lets only known attributes through"
    try:
        return tuple(dict.fromkeys([domain.value(one) for one in choice]))
    except ValueRefused as error:
        field = schema.has_lists and name != EVENT_TYPE and not isinstance(domain, Untyped)
        rule = "R2" if name in schema.attributes or field else None
        raise EventError(f"attribute {show_raw(name)}: {error}", rule, name) from None


def _check_uses(view: View, values: Mapping[str, tuple[Value, ...]]) -> None:
    """Costs what the event has and the view's mandatory names, however many others the view has."""
    several = [name for name, found in values.items() if len(found) > 1 and name in view.uses]
    wrong = [name for name in several if not view.uses[name].multiple]
    if not values.keys() >= view.mandatory:
        wrong += view.mandatory - values.keys()
    if wrong:
        raise _misuse(view, min(wrong, key=view.rank.__getitem__), values)


def _misuse(view: View, name: str, values: Mapping[str, tuple[Value, ...]]) -> EventError:
    if name not in values:
        return EventError(f"the mandatory attribute {show_raw(name)} of {_title(view)} is missing", "R2", name)
    count = len(values[name])
    return EventError(f"expected one value for the unique attribute {show_raw(name)}, found {count}", "R2", name)


def _title(view: View | None) -> str:
    if view is None:
        return "the schema"
    types = ", ".join(map(show_raw, view.event_types))
    return f"the event type {types}" if len(view.event_types) == 1 else f"the view of the event types {types}"
