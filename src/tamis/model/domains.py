"""Domains: the values an attribute may take, and how they compare (Le Subscribe §2.1, ToPSS §2).

    integer      whole numbers, optionally between two bounds
    number       whole numbers and doubles, compared by value
    string       text, ordered by code point
    boolean      true and false, without an order
    timestamp    instants
    untyped      anything; what an attribute of an open schema has
    enumerated   named values, optionally with a partial order of their own      (in `finite`)
    hierarchical named values under a DAG of parents; `<` reads "is a kind of"   (in `finite`)

Two questions are all that the rest of the system asks a domain: which value does this raw object stand for
(`value`), and is this value below that one (`less`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from tamis.errors import SchemaError
from tamis.model.values import MAX_BITS, MAX_DIGITS, Kind, Value, ValueRefused, exact, show_raw, timestamp, value_of

__all__ = ["Boolean", "Domain", "Integer", "Number", "String", "Timestamp", "Untyped", "hint"]

_MOST_NAMES = 1000
_LONGEST_NAME = 100


def hint(name: str, known: Iterable[str]) -> str:
    """A suffix that suggests the known name nearest to this one, or nothing."""
    near = _nearest(name, tuple(known)) if len(name) <= _LONGEST_NAME else None
    return f"; did you mean {show_raw(near)}?" if near is not None else ""


@lru_cache(256)  # a feed repeats its mistakes
def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    folded = name.casefold()
    if len(known) > _MOST_NAMES:  # a look at each of 100,000 would take seconds
        known = tuple(one for one in known if one[:1].casefold() == folded[:1])[:_MOST_NAMES]
    same = [one for one in known if one.casefold() == folded]
    near = same or get_close_matches(name, known, n=1)
    return near[0] if near else None


class Domain(ABC):
    """A set of values with an order that may be empty, partial or total."""

    type: str

    @property
    def ordered(self) -> bool:
        """Whether `<` means anything."""
        return True

    kind: Kind | None
    """The one kind of all its values; None where any kind may come."""

    @abstractmethod
    def describe(self) -> str:
        """What is expected, as a noun phrase for messages."""

    @abstractmethod
    def value(self, raw: object) -> Value:
        """The value `raw` stands for, or `ValueRefused` with a sentence."""

    def less(self, lower: Value, upper: Value) -> bool:
        """Strictly below. Values of different kinds are never ordered."""
        return lower.kind is upper.kind and lower.data < upper.data  # type: ignore[operator]  # one kind, one type

    def refuse(self, raw: object, extra: str = "") -> ValueRefused:
        return ValueRefused(f"expected {self.describe()}, found {show_raw(raw)}{extra}")


@dataclass(frozen=True)
class Integer(Domain):
    """Whole numbers, from `min` to `max` where given (ToPSS's fixed-range integer)."""

    min: int | None = None
    max: int | None = None
    type = "integer"
    kind = Kind.NUMBER

    def __post_init__(self) -> None:
        for bound in (self.min, self.max):
            if bound is not None and bound.bit_length() > MAX_BITS:
                raise SchemaError(f"expected bounds of at most {MAX_DIGITS:,} digits, found {show_raw(bound)}")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise SchemaError(f"expected min <= max for an integer domain, found {self.min} > {self.max}")

    def describe(self) -> str:
        if self.min is None and self.max is None:
            return "an integer"
        if self.min is None:
            return f"an integer up to {self.max}"
        return f"an integer from {self.min}" + (f" to {self.max}" if self.max is not None else " on")

    def value(self, raw: object) -> Value:
        found = value_of(raw)
        data = found.data
        if found.kind is not Kind.NUMBER or (isinstance(data, float) and not data.is_integer()):
            raise self.refuse(raw)
        whole = exact(int(data))
        if (self.min is not None and whole < self.min) or (self.max is not None and whole > self.max):
            raise self.refuse(raw)
        return Value(Kind.NUMBER, whole)


@dataclass(frozen=True)
class _Whole(Domain):
    """All values of one kind."""

    def describe(self) -> str:
        assert self.kind is not None
        return self.kind.noun

    def value(self, raw: object) -> Value:
        found = value_of(raw)
        if found.kind is not self.kind:
            raise self.refuse(raw)
        return found


@dataclass(frozen=True)
class Number(_Whole):
    type = "number"
    kind = Kind.NUMBER


@dataclass(frozen=True)
class String(_Whole):
    type = "string"
    kind = Kind.STRING


@dataclass(frozen=True)
class Boolean(_Whole):
    type = "boolean"
    kind = Kind.BOOLEAN
    ordered = False

    def less(self, lower: Value, upper: Value) -> bool:
        return False


@dataclass(frozen=True)
class Timestamp(_Whole):
    """Instants; ISO 8601 text is read as one, since JSON and CSV have no other way."""

    type = "timestamp"
    kind = Kind.TIMESTAMP

    def value(self, raw: object) -> Value:
        return timestamp(raw) if isinstance(raw, str) else super().value(raw)


@dataclass(frozen=True)
class Untyped(Domain):
    """Whatever comes, compared within its kind."""

    type = "untyped"
    kind = None

    def describe(self) -> str:
        return "a number, string, boolean or timestamp"

    def value(self, raw: object) -> Value:
        return value_of(raw)

    def less(self, lower: Value, upper: Value) -> bool:
        return lower.kind is not Kind.BOOLEAN and super().less(lower, upper)
