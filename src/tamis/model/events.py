"""Events: what is published, and the edge where a mapping becomes one.

An event binds attributes to sets of values; a set offers a choice, any of its values may be bound. `None`, an
empty list and an absent key all mean *missing*. Nested mappings are flattened: `{"seller": {"rating": 5}}` has
the attribute `seller.rating`. Where the schema has a single event type, an event need not name it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tamis.errors import EventError, LimitError
from tamis.model.domains import hint
from tamis.model.schema import EVENT_TYPE, Schema
from tamis.model.values import Value, ValueRefused, show_raw

__all__ = ["MAX_VALUES", "Event", "parse_json", "read_event"]

MAX_VALUES = 100_000
"""Values in one event, over all its attributes. Far past any real event; a bound on what one event may cost."""

_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Event:
    """Attribute → its values, each once, in the order given."""

    values: Mapping[str, tuple[Value, ...]]


def parse_json(text: str | bytes) -> dict[str, object]:
    """One event as JSON text → a mapping for `read_event`."""
    try:
        found = json.loads(text)
    except UnicodeDecodeError as error:
        raise EventError(f"expected an event as JSON in UTF-8: {error}") from None
    except RecursionError:
        raise EventError("expected an event as JSON, found brackets nested too deep to read") from None
    except ValueError as error:
        raise EventError(f"expected an event as JSON: {error}") from None
    if not isinstance(found, dict):
        raise EventError(f"expected an event as a JSON object, found {show_raw(found)}")
    return found


def read_event(schema: Schema, raw: Mapping[str, object]) -> Event:
    """The event that `raw` stands for, checked by R1, R2 and R3; `EventError` names the rule it breaks."""
    if not isinstance(raw, Mapping):
        raise EventError(f"expected an event as a mapping of attributes to values, found {show_raw(raw)}")
    given = {name: choice for name, choice in _flat(raw) if choice}
    count = sum(map(len, given.values()))
    if count > MAX_VALUES:
        raise LimitError(f"expected at most {MAX_VALUES:,} values in one event, found {count:,}", MAX_VALUES, count)
    if not schema.open:
        _check_rules(schema, given)
    return Event({name: _read_values(schema, name, choice) for name, choice in given.items()})


def _flat(raw: Mapping[str, object], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, list[object]]]:
    if depth > _MAX_DEPTH:
        raise EventError(f"expected at most {_MAX_DEPTH} nested objects", attribute=prefix[:200])
    for key, found in raw.items():
        if not isinstance(key, str):
            raise EventError(f"expected attribute names to be strings, found {show_raw(key)}")
        name = prefix + key
        if isinstance(found, Mapping):
            yield from _flat(found, name + ".", depth + 1)
        elif isinstance(found, list | tuple | set | frozenset):
            yield name, [one for one in found if one is not None]
        elif found is not None:
            yield name, [found]


def _check_rules(schema: Schema, given: dict[str, list[object]]) -> None:
    if not schema.event_types:
        for name in given:
            if name not in schema.attributes and name != EVENT_TYPE:
                raise _outside(schema, name, "the schema")
        return
    view = schema.view(_type_names(schema, given))
    of = "the view of " + ", ".join(view.event_types)
    for name, choice in given.items():
        use = view.uses.get(name)
        if use is None and name != EVENT_TYPE:
            raise _outside(schema, name, of)
        if use is not None and not use.multiple and len(choice) > 1 and len(set(map(repr, choice))) > 1:
            raise EventError(f"expected one value for the unique attribute {name!r}, found {len(choice)}", "R2", name)
    for name, use in view.uses.items():
        if use.mandatory and name not in given:
            raise EventError(f"the mandatory attribute {name!r} of {of} is missing", "R2", name)


def _type_names(schema: Schema, given: dict[str, list[object]]) -> list[str]:
    if EVENT_TYPE not in given and len(schema.event_types) == 1:
        given[EVENT_TYPE] = list(schema.event_types)  # no choice, so nothing to ask for
    names = given.get(EVENT_TYPE)
    if names is None:
        raise EventError("expected the attribute 'event_type' with the event's types, found none", "R1", EVENT_TYPE)
    for name in names:
        if not isinstance(name, str):
            raise EventError(f"expected event types to be names, found {show_raw(name)}", "R1", EVENT_TYPE)
    return [str(name) for name in names]


def _outside(schema: Schema, name: str, of: str) -> EventError:
    return EventError(f"the attribute {name!r} is not in {of}{hint(name, schema.attributes)}", "R3", name)


def _read_values(schema: Schema, name: str, choice: list[object]) -> tuple[Value, ...]:
    domain = schema.domain(name)
    assert domain is not None, "R3 lets only known attributes through"
    try:
        return tuple(dict.fromkeys([domain.value(one) for one in choice]))
    except ValueRefused as error:
        closed = None if schema.open and name not in schema.attributes else "R2"
        raise EventError(f"attribute {name!r}: {error}", closed, name) from None
