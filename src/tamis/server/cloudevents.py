"""CloudEvents 1.0 over HTTP → events: structured, batched and binary mode (decision 0031).

The event is `data`, which must be a JSON object. `type` is its event type if it names none itself and the schema knows
event types, or is open; the other context attributes are the envelope's, and stay behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from tamis.errors import EventError
from tamis.model import EVENT_TYPE, Schema
from tamis.server.json_bodies import decode

__all__ = ["BATCH", "STRUCTURED", "is_binary", "of_batch", "of_binary", "of_structured"]

STRUCTURED: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
_NEEDED: Final = ("id", "source", "specversion", "type")
_PREFIX: Final = "ce-"


def is_binary(headers: Mapping[str, str]) -> bool:
    return f"{_PREFIX}specversion" in headers


def of_binary(headers: Mapping[str, str], body: bytes, schema: Schema) -> bytes:
    """Context attributes from the headers, the data as the body."""
    told = {name[len(_PREFIX) :]: unquote(found) for name, found in headers.items() if name.startswith(_PREFIX)}
    return msgspec.json.encode(_event(told, decode(body), schema, ""))


def of_structured(body: bytes, schema: Schema) -> bytes:
    return msgspec.json.encode(_unwrapped(decode(body), schema, ""))


def of_batch(body: bytes, schema: Schema) -> bytes:
    found = decode(body)
    if not isinstance(found, list):
        raise EventError("expected a JSON array of CloudEvents")
    return msgspec.json.encode([_unwrapped(one, schema, f"event {at}: ") for at, one in enumerate(found)])


def _unwrapped(found: object, schema: Schema, place: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise EventError(f"{place}expected a CloudEvent, which is a JSON object")
    if "data_base64" in found:
        raise EventError(f"{place}expected the data of a CloudEvent as JSON, found data_base64")
    return _event(found, found.get("data"), schema, place)


def _event(told: Mapping[str, Any], data: object, schema: Schema, place: str) -> dict[str, Any]:
    missing = [name for name in _NEEDED if not isinstance(told.get(name), str) or not told[name]]
    if missing:
        raise EventError(f"{place}expected a CloudEvent with {', '.join(_NEEDED)} as texts, found no {missing[0]}")
    if told["specversion"] != "1.0":
        raise EventError(f"{place}expected a CloudEvent of specversion 1.0, found {told['specversion']!r}")
    if not isinstance(data, dict):
        raise EventError(f"{place}expected the data of a CloudEvent to be a JSON object: it is the event")
    if EVENT_TYPE in data or not (schema.open or schema.event_types):
        return data
    return {EVENT_TYPE: told["type"], **data}
