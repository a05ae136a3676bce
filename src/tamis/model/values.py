"""Values: what an attribute may be bound to, and what a predicate may compare with.

A value is a kind and its data. Kinds never mix: `Value(NUMBER, 1)` and `Value(BOOLEAN, True)` are
different values although Python says `1 == True`. Within a kind Python's own comparison is exact:
integers of any size, integers with floats by value, strings by code point. A timestamp is a whole
number of nanoseconds since 1970-01-01T00:00:00Z, so it is an instant whatever zone it was written in.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tamis.errors import TamisError

__all__ = [
    "FIRST_INSTANT",
    "LAST_INSTANT",
    "MAX_BITS",
    "MAX_DIGITS",
    "Kind",
    "Value",
    "ValueRefused",
    "exact",
    "is_text",
    "show",
    "show_raw",
    "string",
    "timestamp",
    "value_of",
]

MAX_DIGITS = 4_000
"""Of a whole number. Python itself refuses to read or write more than 4,300."""

MAX_BITS = (10**MAX_DIGITS - 1).bit_length()

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FRACTION = re.compile(r"[^0-9:+-][0-9:]+[.,]([0-9]{7,})")

FIRST_INSTANT = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND * 1000
LAST_INSTANT = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND * 1000 + 999
"""The ends of time, as far as a date can be written with four digits of a year."""

_SHORT_BITS = LAST_INSTANT.bit_length()
"""Of whole numbers so short at most a few hundred share a hash."""


class Kind(IntEnum):
    """Which comparisons make sense at all: never across kinds."""

    NUMBER = 0
    STRING = 1
    BOOLEAN = 2
    TIMESTAMP = 3
    RECORD = 4
    """One of a list of records: it is there, and compares with nothing."""

    __hash__ = int.__hash__  # Enum's own hash is a Python call; values are hashed by the million

    @property
    def noun(self) -> str:
        return ("a number", "a string", "a boolean", "a timestamp", "a record")[self]


class Value(NamedTuple):
    """One value with its kind. Equal values hash equally, also 1 and 1.0."""

    kind: Kind
    data: int | float | str


class _Long(int):
    """A whole number past all instants. Python's own hash is the number modulo 2**61 - 1: of the multiples of that
    somebody may send as many as they like, and a dictionary of n of them would take n**2 steps."""

    __slots__ = ()

    def __hash__(self) -> int:
        length = self.bit_length()
        if length <= 1024 and length - (self & -self).bit_length() < 53:
            return int.__hash__(self)  # it may equal a double, of which no hundred share a hash
        return hash(self.to_bytes(length // 8 + 1, "little", signed=True))  # bytes are salted


def exact(raw: int) -> int:
    """A whole number as values have it, fit to be looked up whoever chose it: each that is made must come by here,
    for equal ones of the two sorts hash differently."""
    return _Long(raw) if raw.bit_length() > _SHORT_BITS else int(raw)


class ValueRefused(TamisError):
    """A raw value that is no value; the caller adds the place. Never leaves the package."""


def string(raw: str) -> Value:
    return Value(Kind.STRING, raw)


def timestamp(raw: datetime | date | str | int) -> Value:
    """An instant. Without a zone it is UTC; a date is its midnight; an int is nanoseconds."""
    if isinstance(raw, str):
        nanoseconds = _iso_nanoseconds(raw)
    elif isinstance(raw, datetime):
        nanoseconds = _nanoseconds(raw)
    elif isinstance(raw, date):
        nanoseconds = _nanoseconds(datetime.combine(raw, time(), UTC))
    else:
        nanoseconds = raw
    if not FIRST_INSTANT <= nanoseconds <= LAST_INSTANT:
        raise ValueRefused(f"expected a timestamp in the years 1 to 9999 of UTC, found {show_raw(raw)}")
    return Value(Kind.TIMESTAMP, nanoseconds)


def _nanoseconds(moment: datetime) -> int:
    if moment != moment:  # pandas' NaT is a datetime
        raise ValueRefused("expected a timestamp, found NaT")
    aware = moment.replace(tzinfo=UTC) if moment.utcoffset() is None else moment
    return int((aware - _EPOCH) // _MICROSECOND) * 1000 + int(getattr(moment, "nanosecond", 0))


def _iso_nanoseconds(text: str) -> int:
    # fromisoformat keeps microseconds only; digits seven to nine are added by hand.
    fraction = _FRACTION.search(text)
    extra = fraction[1][6:].ljust(3, "0") if fraction else "0"
    try:
        if len(extra) > 3:
            raise ValueError("finer than a nanosecond")
        return _nanoseconds(datetime.fromisoformat(text)) + int(extra)
    except ValueError:
        raise ValueRefused(f"expected a timestamp such as '2024-05-31T12:00:00Z', found {show_raw(text)}") from None


def value_of(raw: object) -> Value:
    """The value a Python object stands for, by its type alone; `ValueRefused` if for none."""
    match raw:
        case bool():
            return Value(Kind.BOOLEAN, raw)
        case int():
            return Value(Kind.NUMBER, _short(raw))
        case float():
            return Value(Kind.NUMBER, _finite(raw))
        case str():
            return Value(Kind.STRING, is_text(raw))
        case datetime() | date():
            return timestamp(raw)
        case Decimal():
            return Value(Kind.NUMBER, _from_decimal(raw))
        case bytes():
            raise ValueRefused(f"expected text, found the bytes {show_raw(raw)}; decode them first")
        case np.generic():
            return _from_numpy(raw)
    raise ValueRefused(f"expected a number, string, boolean or timestamp, found {show_raw(raw)}")


def _short(raw: int) -> int:
    if raw.bit_length() > MAX_BITS:
        raise ValueRefused(f"expected a number of at most {MAX_DIGITS:,} digits, found {show_raw(raw)}")
    return exact(raw)


def _finite(raw: float) -> float:
    if not math.isfinite(raw):
        raise ValueRefused(f"expected a finite number, found {raw}")
    return float(raw)


def _from_decimal(raw: Decimal) -> int | float:
    # A literal such as 19.99 is read as the nearest double; so is a decimal, or the two would never be equal.
    if not raw.is_finite():
        raise ValueRefused(f"expected a finite number, found {raw}")
    if raw and raw.adjusted() >= MAX_DIGITS:
        raise ValueRefused(f"expected a number of at most {MAX_DIGITS:,} digits, found one of {raw.adjusted() + 1:,}")
    if not raw or raw == raw.to_integral_value():
        return exact(int(raw)) if raw else 0
    return _finite(float(raw))


def _from_numpy(raw: np.generic) -> Value:
    match raw:
        case np.bool_():
            return Value(Kind.BOOLEAN, bool(raw))
        case np.integer() if not isinstance(raw, np.timedelta64):
            return Value(Kind.NUMBER, int(raw))
        case np.floating():
            return Value(Kind.NUMBER, _finite(float(raw)))
        case np.datetime64() if not np.isnat(raw):
            return _from_datetime64(raw)
    raise ValueRefused(f"expected a number, string, boolean or timestamp, found {show_raw(raw)}")


def _from_datetime64(raw: np.datetime64) -> Value:
    if np.datetime_data(raw.dtype)[0] in ("ns", "ps", "fs", "as"):  # too fine for Python, and never far from 1970
        return timestamp(int(raw.astype("M8[ns]").astype(np.int64)))
    if not np.datetime64("0001", "Y") <= raw.astype("M8[Y]") <= np.datetime64("9999", "Y"):
        raise ValueRefused(f"expected a timestamp in the years 1 to 9999 of UTC, found {raw}")
    return timestamp(raw.astype("M8[us]").item())


def is_text(raw: str) -> str:
    """The string itself, if it can be written as UTF-8 at all (a lone surrogate cannot)."""
    if not raw.isascii():
        try:
            raw.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueRefused(
                f"expected text, found the lone surrogate U+{ord(raw[error.start]):04X} at offset {error.start}"
            ) from None
    return raw if type(raw) is str else str.__str__(raw)  # a subclass may print itself as something else


def show(value: Value) -> str:
    """The value as it would be written in an expression."""
    if value.kind is Kind.STRING:
        return "'" + str(value.data).replace("'", "''") + "'"
    if value.kind is Kind.BOOLEAN:
        return "true" if value.data else "false"
    if value.kind is Kind.RECORD:
        return "a record"
    if value.kind is Kind.TIMESTAMP:
        return f"timestamp '{iso(int(value.data))}'"
    return repr(value.data)


def iso(nanoseconds: int) -> str:
    """The instant in UTC, with as many digits as it needs."""
    micros, rest = divmod(nanoseconds, 1000)
    moment = _EPOCH + micros * _MICROSECOND
    text = moment.replace(tzinfo=None).isoformat(timespec="microseconds" if rest else "auto")
    return f"{text}{rest:03d}Z" if rest else f"{text}Z"


def show_raw(raw: object, limit: int = 60) -> str:
    """Any object in a message: short, whatever it is."""
    match raw:
        case None:
            return "nothing"
        case bool():
            return "true" if raw else "false"
        case int() if raw.bit_length() > 200:
            return f"an integer of {raw.bit_length():,} bits"
        case str() | bytes():
            text = repr(raw[: limit + 1])
        case int() | float():
            text = repr(raw)
        case _:
            name = type(raw).__name__
            text = f"{'an' if name[:1].lower() in tuple('aeiou') else 'a'} {name}"
    return text if len(text) <= limit else text[: limit - 1] + "…"
