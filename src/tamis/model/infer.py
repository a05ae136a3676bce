"""A schema proposed from sample events: a starting point to read and edit, not a verdict.

- An attribute's type is the narrowest that holds all its samples; mixed kinds are `untyped`.
- Strings that are all ISO 8601 dates or times are timestamps.
- A string attribute becomes enumerated when it has few distinct values and each comes often enough that a new
  one would be a surprise: at most 20, seen on average at least 5 times.
- An attribute is mandatory for an event type when every sample of that type has it, multiple when some sample
  gives it several values.
- A list of records has the fields that its records have, each by the same rules.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from tamis.errors import EventError, LimitError, SchemaError
from tamis.model.domains import Boolean, Domain, Integer, Number, String, Timestamp, Untyped
from tamis.model.events import Event, event_type_name, read_event
from tamis.model.finite import Enumerated
from tamis.model.records import Records, cuts
from tamis.model.schema import EVENT_TYPE, Attribute, Schema, Use
from tamis.model.values import Kind, Value, ValueRefused, show_raw, timestamp

__all__ = ["infer_schema"]

_MOST_NAMES = 20
_OFTEN = 5


def infer_schema(events: Iterable[Mapping[str, object]]) -> Schema:
    """The schema that describes what was seen, and accepts every sample. Where no sample names an event type,
    all share the type `event`; where some do, all must."""
    read = [_read_sample(at, raw) for at, raw in enumerate(events, 1)]
    if not read:
        raise SchemaError("expected at least one sample event, found none")
    seen: dict[str, Counter[Value]] = defaultdict(Counter)
    for event in read:
        for name, values in event.values.items():
            seen[name].update(values)
    types = seen.pop(EVENT_TYPE, None)
    untyped = [at for at, event in enumerate(read, 1) if EVENT_TYPE not in event.values]
    if types and untyped:
        raise EventError(f"sample {untyped[0]}: expected event_type as in other samples, found none", "R1", EVENT_TYPE)
    lists = _lists(read)
    kept = [name for name in seen if not any(outer in lists for outer, _ in cuts(name))]
    attributes = {name: Attribute(name, _domain_of(name, seen[name], lists)) for name in kept}
    return Schema(attributes=attributes, event_types=_event_types(read, set(kept)))


def _lists(events: Iterable[Event]) -> dict[str, list[Event]]:
    """The records of each list, of all samples."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        for name, records in event.records.items():
            found[name] += records
    return found


def _domain_of(name: str, counts: Counter[Value], lists: Mapping[str, list[Event]]) -> Domain:
    if name not in lists:
        return _domain(counts)
    if any(value.kind is not Kind.RECORD for value in counts):
        raise EventError(
            f"attribute {show_raw(name)}: expected records or plain values, found both in samples", attribute=name
        )
    inner = _lists(lists[name])
    seen: dict[str, Counter[Value]] = defaultdict(Counter)
    for record in lists[name]:
        for field, values in record.values.items():
            seen[field].update(values)
    fields = [field for field in seen if not any(outer in inner for outer, _ in cuts(field))]
    return Records.of({field: _domain_of(field, seen[field], inner) for field in fields})


def _read_sample(at: int, raw: Mapping[str, object]) -> Event:
    try:
        event = read_event(Schema(open=True), raw)
        for value in event.values.get(EVENT_TYPE, ()):
            event_type_name(value.data)
    except EventError as error:
        raise EventError(f"sample {at}: {error}", attribute=error.attribute) from None
    except LimitError as error:
        raise error.placed(f"sample {at}") from None
    return event


def _domain(counts: Counter[Value]) -> Domain:
    kinds = {value.kind for value in counts}
    if len(kinds) > 1:
        return Untyped()
    match kinds.pop():
        case Kind.NUMBER:
            whole = all(isinstance(value.data, int) or float(value.data).is_integer() for value in counts)
            return Integer() if whole else Number()
        case Kind.BOOLEAN:
            return Boolean()
        case Kind.TIMESTAMP:
            return Timestamp()
    return _text_domain(counts)


def _text_domain(counts: Counter[Value]) -> Domain:
    names = sorted(str(value.data) for value in counts)
    if all(_is_timestamp(name) for name in names):
        return Timestamp()
    if len(names) <= _MOST_NAMES and counts.total() >= _OFTEN * len(names):
        return Enumerated(tuple(names))
    return String()


def _is_timestamp(text: str) -> bool:
    if not text[:4].isdigit() or "-" not in text:
        return False
    try:
        timestamp(text)
    except ValueRefused:
        return False
    return True


def _event_types(events: list[Event], kept: set[str]) -> dict[str, dict[str, Use]]:
    typed = [(_types(event), event) for event in events]
    carried: dict[str, dict[str, None]] = {}
    # Events of fewer types first: what they carry says which of an event's several types an attribute belongs to.
    for types, event in sorted(typed, key=lambda pair: (len(pair[0]), pair[0])):
        for name in types:
            carried.setdefault(name, {})
        for attribute in event.values:
            if attribute in kept and not any(attribute in carried[name] for name in types):
                for name in types:
                    carried[name][attribute] = None
    return {
        name: {
            attribute: _use(attribute, [event for types, event in typed if name in types]) for attribute in attributes
        }
        for name, attributes in carried.items()
    }


def _types(event: Event) -> tuple[str, ...]:
    return tuple(sorted(str(value.data) for value in event.values.get(EVENT_TYPE, ()))) or ("event",)


def _use(attribute: str, events: list[Event]) -> Use:
    choices = [event.values.get(attribute, ()) for event in events]
    return Use(all(choices), any(len(choice) > 1 for choice in choices))
