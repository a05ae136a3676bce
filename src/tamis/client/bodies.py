"""Events and subscriptions as bodies: JSON where it says all there is to say, Arrow for tables and for moments.

JSON has no moments: in an open schema a text that looks like one stays a text. So datetimes go as Arrow.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.batches.frames import Frame, as_table
from tamis.errors import EventError, OptionError
from tamis.model.values import show_raw

__all__ = ["ARROW", "JSON", "LINES", "TOML", "Body", "Events", "events_body", "json_body", "table_body"]

JSON = "application/json"
LINES = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
TOML = "application/toml"

Events: TypeAlias = Iterable[Mapping[str, object]] | pa.Table | pa.RecordBatch | Frame


class Body(NamedTuple):
    data: bytes
    media: str


class _Moment(Exception):
    """There is a value that JSON cannot say."""


def json_body(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def events_body(events: Mapping[str, object] | Events) -> Body:
    """One event, or many in whatever form, as JSON lines or Arrow."""
    if isinstance(events, Mapping):
        events = [events]
    table = as_table(events)
    if table is not None:
        return table_body(table)
    if isinstance(events, str | bytes) or not isinstance(events, Iterable):
        raise OptionError(f"expected events as mappings, a table or a frame, found {show_raw(events)}")
    listed = [_mapping(row, one) for row, one in enumerate(events)]
    try:
        lines = [_line(row, one) for row, one in enumerate(listed)]
    except _Moment:
        return _with_moments(listed)
    return Body(b"\n".join(lines), LINES)


def table_body(table: pa.Table) -> Body:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return Body(sink.getvalue().to_pybytes(), ARROW)


def _mapping(row: int, event: object) -> Mapping[str, object]:
    if not isinstance(event, Mapping):
        raise EventError(f"event {row}: expected a mapping of attributes to values, found {show_raw(event)}")
    return event


def _line(row: int, event: Mapping[str, object]) -> bytes:
    try:
        return json_body(_plain(event))
    except (TypeError, ValueError, UnicodeEncodeError, RecursionError) as error:
        raise EventError(f"event {row}: expected values that JSON can say: {error}") from None


def _plain(value: object) -> object:
    """A value as `json` takes it; Decimals as the numbers that they are, sets as lists."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | np.floating):
        return _number(float(value))
    if isinstance(value, Mapping):
        return {_key(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, date | datetime | np.datetime64):
        raise _Moment
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Decimal):
        return _decimal(value)
    raise TypeError(f"found {show_raw(value)}")


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"found the name {show_raw(name)}")
    return name


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"found {value}")
    return value


def _decimal(value: Decimal) -> int | float:
    """Whole ones exactly, the others as the nearest number, as everywhere in Tamis."""
    if not value.is_finite():
        raise ValueError(f"found {value}")
    return int(value) if value == value.to_integral_value() else float(value)


def _with_moments(events: list[Mapping[str, object]]) -> Body:
    try:
        return table_body(pa.Table.from_pylist([dict(one) for one in events]))
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise EventError(
            f"expected events whose moments and other values fit one table, since JSON has no moments: {error}; "
            "send those of one kind together"
        ) from None
