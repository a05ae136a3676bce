"""Domains of named values: enumerated, with a partial order of their own, and hierarchical, with parents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from tamis.errors import SchemaError
from tamis.model.caching import cached_property
from tamis.model.domains import Domain, hint
from tamis.model.orders import PartialOrder
from tamis.model.values import Kind, Value, ValueRefused, is_text, show_raw, value_of

__all__ = ["Enumerated", "EventTypes", "Finite", "Hierarchical"]


class Finite(Domain):
    """Named values, listed, under a partial order."""

    kind = Kind.STRING

    @property
    @abstractmethod
    def order(self) -> PartialOrder: ...

    names: tuple[str, ...]
    """All names, in the order given."""

    grows = False
    """Whether an extension of the schema may add names. If so, `!= x` cannot be written as a list of the others."""

    @cached_property
    def rank(self) -> dict[str, int]:
        """Name → its place among the names."""
        return {name: at for at, name in enumerate(self.names)}

    @property
    def preorder(self) -> tuple[str, ...]:
        """All names, each before those below it where there are parents, so that most subtrees are one run."""
        return self.names

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Name → its number in `preorder`, from 1 on."""
        return {name: at for at, name in enumerate(self.preorder, 1)}

    def describe(self) -> str:
        if len(self.names) <= 6:
            return "one of " + ", ".join(show_raw(name) for name in self.names)
        first = ", ".join(show_raw(name) for name in self.names[:3])
        return f"one of the {len(self.names):,} names {first}, …"

    def value(self, raw: object) -> Value:
        found = value_of(raw)
        if found.kind is Kind.STRING and found.data in self.rank:
            return found
        raise self.refuse(raw, hint(str(found.data), self.names))

    def less(self, lower: Value, upper: Value) -> bool:
        return lower.data in self.rank and upper.data in self.rank and self.order.less(str(lower.data), str(upper.data))


def _check_names(names: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise SchemaError(f"expected names as values, found {show_raw(name)}")
        try:
            is_text(name)
        except ValueRefused as error:
            raise SchemaError(f"value {show_raw(name)}: {error}") from None
        if name in seen:
            raise SchemaError(f"the value {show_raw(name)} stands twice")
        seen.add(name)
    if not names:
        raise SchemaError("expected at least one value, found none")


def _check_order(order: PartialOrder, what: str) -> None:
    loop = order.cycle()
    if loop:
        shown = [show_raw(name) for name in loop]
        steps = shown if len(shown) <= 8 else [*shown[:4], f"… {len(shown) - 7:,} more …", *shown[-3:]]
        raise SchemaError(f"the {what} goes in a circle: {' < '.join(steps)}")


@dataclass(frozen=True)
class Enumerated(Finite):
    """Named values; `pairs` (lower, upper) generate their order, which may be partial."""

    names: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    type = "enumerated"

    def __post_init__(self) -> None:
        _check_names(self.names)
        for name in (name for pair in self.pairs for name in pair):
            if name not in self.rank:
                raise SchemaError(f"the order names {show_raw(name)}, which is no value{hint(name, self.names)}")
        _check_order(self.order, "order")

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
class EventTypes(Enumerated):
    """The domain of `event_type`. The fourth extension rule adds to it."""

    grows = True


@dataclass(frozen=True)
class Hierarchical(Finite):
    """Named values and the parents of each: `table < dining room` says a table is of the dining room."""

    parents: tuple[tuple[str, tuple[str, ...]], ...]
    type = "hierarchical"

    def __post_init__(self) -> None:
        _check_names(self.names)
        for name, above in self.parents:
            if len(set(above)) != len(above):
                raise SchemaError(f"the value {show_raw(name)} names the same parent twice")
            for parent in above:
                if parent not in self.rank:
                    raise SchemaError(
                        f"the value {show_raw(name)} has the parent {show_raw(parent)}, which is no value"
                        f"{hint(parent, self.names)}"
                    )
        _check_order(self.order, "hierarchy")

    @classmethod
    def of(cls, parents: Mapping[str, tuple[str, ...] | list[str]]) -> Hierarchical:
        return cls(tuple((name, tuple(above)) for name, above in parents.items()))

    @cached_property
    def names(self) -> tuple[str, ...]:  # computed here, given in its sibling
        return tuple(name for name, _ in self.parents)

    @property
    def preorder(self) -> tuple[str, ...]:
        children: dict[str, list[str]] = {name: [] for name in self.names}
        for name, above in self.parents:
            if above:
                children[above[0]].append(name)  # a name with several parents is numbered under its first
        found: list[str] = []
        stack = [name for name, above in reversed(self.parents) if not above]
        while stack:
            name = stack.pop()
            found.append(name)
            stack.extend(reversed(children[name]))
        return tuple(found)

    @cached_property
    def order(self) -> PartialOrder:
        return PartialOrder(dict(self.parents))
