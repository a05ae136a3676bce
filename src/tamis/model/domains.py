"""Domains: the values an attribute may take, and how they compare (Le Subscribe §2.1, ToPSS §2).

    integer      whole numbers, optionally between two bounds
    number       whole numbers and doubles, compared by value
    string       text, ordered by code point
    boolean      true and false, without an order
    timestamp    instants
    enumerated   named values, optionally with a partial order of their own
    hierarchical named values under a DAG of parents; `<` and `<=` read "is a kind of"
    untyped      anything; what an attribute of an open schema has

Two questions are all that the rest of the system asks a domain: which value does this raw object stand for
(`value`), and is this value below that one (`less`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from tamis.errors import SchemaError
from tamis.model.orders import PartialOrder
from tamis.model.values import Kind, Value, ValueRefused, show_raw, string, timestamp, value_of

__all__ = [
    "Boolean",
    "Domain",
    "Enumerated",
    "Finite",
    "Hierarchical",
    "Integer",
    "Number",
    "String",
    "Timestamp",
    "Untyped",
    "hint",
]


def hint(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """A suffix that suggests the nearest known name, or nothing."""
    if len(name) > 100:
        return ""
    names = list(known)[:20_000]
    near = get_close_matches(name, names, n=1, cutoff=0.6) or [k for k in names if k.lower() == name.lower()]
    return f"; did you mean {near[0]!r}?" if near else ""


class Domain(ABC):
    """A set of values with an order that may be empty, partial or total."""

    type: str

    @property
    def ordered(self) -> bool:
        """Whether `<` means anything."""
        return True

    total = True
    """Whether of two different values one is always below the other."""

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
        whole = int(data)
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
    total = False

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


class Finite(Domain):
    """Named values, listed, under a partial order."""

    kind = Kind.STRING
    total = False

    @property
    @abstractmethod
    def order(self) -> PartialOrder: ...

    names: tuple[str, ...]
    """All names, in the order given."""

    @cached_property
    def members(self) -> frozenset[str]:
        return frozenset(self.names)

    def describe(self) -> str:
        if len(self.names) <= 6:
            return "one of " + ", ".join(repr(name) for name in self.names)
        return f"one of the {len(self.names)} names {self.names[0]!r}, {self.names[1]!r}, …"

    def value(self, raw: object) -> Value:
        found = value_of(raw)
        if found.kind is Kind.STRING and found.data in self.members:
            return found
        raise self.refuse(raw, hint(raw, self.names) if isinstance(raw, str) else "")

    def less(self, lower: Value, upper: Value) -> bool:
        return (
            lower.data in self.members
            and upper.data in self.members
            and self.order.less(str(lower.data), str(upper.data))
        )

    def _check_order(self, what: str) -> None:
        loop = self.order.cycle()
        if loop:
            steps = " < ".join(repr(name) for name in (loop if len(loop) <= 8 else [*loop[:4], "…", *loop[-3:]]))
            raise SchemaError(f"the {what} goes in a circle: {steps}")


def _check_names(names: tuple[str, ...], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise SchemaError(f"expected the values of an {what} domain to be strings, found {show_raw(name)}")
        if name in seen:
            raise SchemaError(f"the value {name!r} stands twice in an {what} domain")
        seen.add(name)
    if not names:
        raise SchemaError(f"an {what} domain needs at least one value")


@dataclass(frozen=True)
class Enumerated(Finite):
    """Named values; `pairs` (lower, upper) generate their order, which may be partial."""

    names: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    type = "enumerated"

    def __post_init__(self) -> None:
        _check_names(self.names, "enumerated")
        for name in (name for pair in self.pairs for name in pair):
            if name not in self.members:
                raise SchemaError(f"the order names {name!r}, which is no value of the domain{hint(name, self.names)}")
        self._check_order("order of an enumerated domain")

    @property
    def ordered(self) -> bool:
        return bool(self.pairs)

    @cached_property
    def order(self) -> PartialOrder:
        covers: dict[str, list[str]] = {name: [] for name in self.names}
        for lower, upper in self.pairs:
            covers[lower].append(upper)
        return PartialOrder(covers)


@dataclass(frozen=True)
class Hierarchical(Finite):
    """Named values and the parents of each: `table < dining room` says a table is of the dining room."""

    parents: tuple[tuple[str, tuple[str, ...]], ...]
    type = "hierarchical"

    def __post_init__(self) -> None:
        _check_names(self.names, "hierarchical")
        for name, above in self.parents:
            if len(set(above)) != len(above):
                raise SchemaError(f"the value {name!r} names the same parent twice")
            for parent in above:
                if parent not in self.members:
                    raise SchemaError(
                        f"{name!r} has the parent {parent!r}, which the hierarchy lacks{hint(parent, self.names)}"
                    )
        self._check_order("hierarchy")

    @classmethod
    def of(cls, parents: Mapping[str, tuple[str, ...] | list[str]]) -> Hierarchical:
        return cls(tuple((name, tuple(above)) for name, above in parents.items()))

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]  # computed here, given in its sibling
        return tuple(name for name, _ in self.parents)

    @cached_property
    def order(self) -> PartialOrder:
        return PartialOrder(dict(self.parents))

    def at_or_above(self, name: str) -> list[Value]:
        """The name and all it is a kind of."""
        return [string(name), *(string(upper) for upper in self.order.above(name))]
