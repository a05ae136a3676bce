"""Events: what is published, and the edge where a mapping becomes one.

An event binds attributes to sets of values; a set offers a choice, any of its values may be bound. `None`, an
empty list and an absent key all mean *missing*. Nested mappings are flattened: `{"seller": {"rating": 5}}` has
the attribute `seller.rating`. Where the schema has a single event type, an event need not name it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tamis.errors import EventError, LimitError
from tamis.model.domains import hint
from tamis.model.names import MAX_DEPTH, flatten_mapping
from tamis.model.schema import EVENT_TYPE, Schema, View
from tamis.model.values import MAX_DIGITS, Kind, Value, ValueRefused, show_raw

__all__ = ["MAX_DEPTH", "MAX_VALUES", "Event", "event_type_name", "parse_json", "read_event", "read_validated"]

MAX_VALUES = 100_000
"""Values in one event, over all its attributes. Far past any real event; a bound on what one event may cost."""


@dataclass(frozen=True, slots=True)
class Event:
    """Attribute → its values, each once, in the order given."""

    values: Mapping[str, tuple[Value, ...]]
    lines: dict[str, Mapping[Kind, Sequence[Any]]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Kept by `bindings` as it sorts them."""


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
        raise EventError(f"expected an event as JSON: a number has more than {MAX_DIGITS:,} digits") from None
    if not isinstance(found, dict):
        raise EventError(f"expected an event as a JSON object, found {show_raw(found)}")
    return found


def read_event(schema: Schema, raw: Mapping[str, object]) -> Event:
    """The event that `raw` stands for, checked by R1, R2 and R3; `EventError` names the rule it breaks."""
    if not isinstance(raw, Mapping):
        raise EventError(f"expected an event as a mapping of attributes to values, found {show_raw(raw)}")
    given = _given(raw)
    if schema.open:
        return Event({name: _read_values(schema, name, choice) for name, choice in given.items()})
    view = schema.view(_type_names(schema, given)) if schema.event_types else None
    inside = schema.attributes if view is None else view.uses
    for name in given:
        if name not in inside and name != EVENT_TYPE:
            found = f"the attribute {show_raw(name)} is not in {_title(view)}"
            raise EventError(f"{found}{hint(name, inside)}", "R3", name)
    values = {name: _read_values(schema, name, choice) for name, choice in given.items()}
    if view is not None:
        _check_uses(view, values)
    return Event(values)


def read_validated(schema: Schema, raw: Mapping[str, object]) -> Event:
    """The event of a mapping that is known to keep the rules: nothing is asked but what reading its values needs."""
    given = _given(raw)
    if not schema.open:
        _add_only_type(schema, given)
    for name in given:
        if schema.domain(name) is None:
            raise EventError(f"the attribute {show_raw(name)} is not in the schema", "R3", name)
    return Event({name: _read_values(schema, name, choice) for name, choice in given.items()})


def _given(raw: Mapping[str, object]) -> dict[str, list[object]]:
    """Attribute → its raw values, for those that have any."""
    given: dict[str, list[object]] = {}
    count = 0
    for name, found in flatten_mapping(raw):
        if isinstance(found, list | tuple | set | frozenset):
            choice = [one for one in found if one is not None]
        elif found is not None:
            choice = [found]
        else:
            continue
        if name in given:
            raise EventError(f"the attribute {show_raw(name)} is given twice, nested and with a dot", attribute=name)
        count += len(choice)
        if choice:
            given[name] = choice
    if count > MAX_VALUES:
        raise LimitError(f"expected at most {MAX_VALUES:,} values in one event, found {count:,}", MAX_VALUES, count)
    return given


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
        rule = "R2" if name in schema.attributes else None
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
