"""The attributes that subscriptions name."""

from __future__ import annotations

from collections.abc import Iterable

from tamis.model import Conjunction, Kind, Reference

__all__ = ["Attributes", "attributes_of"]

Attributes = dict[str, set[Kind]]
"""Names, and the kinds of values each is compared with."""


def attributes_of(conjunctions: Iterable[Conjunction], found: Attributes) -> None:
    """Add the attributes that conjunctions name to those found so far."""
    for predicate in (predicate for conjunction in conjunctions for predicate in conjunction):
        found.setdefault(predicate.attribute, set()).update(constant.kind for constant in predicate.constants)
        if isinstance(predicate.operand, Reference):
            found.setdefault(predicate.operand.attribute, set())
