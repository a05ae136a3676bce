"""The attributes that subscriptions name."""

from __future__ import annotations

from collections.abc import Iterable

from tamis.language import parse
from tamis.model import Among, Conjunction, Kind, Reference, Schema, Threshold

__all__ = ["Attributes", "attribute_names", "attributes_of"]

Attributes = dict[str, set[Kind]]
"""Names, and the kinds of values each is compared with."""


def attributes_of(conjunctions: Iterable[Conjunction], found: Attributes) -> None:
    """Add the attributes that conjunctions name to those found so far."""
    for predicate in (predicate for conjunction in conjunctions for predicate in conjunction):
        if isinstance(predicate.operand, Threshold):
            attributes_of((one for member in predicate.operand.members for one in member), found)
            continue
        if isinstance(predicate.operand, Among):
            fields: Attributes = {}
            attributes_of(predicate.operand.conjunctions, fields)
            for name, kinds in fields.items():
                found.setdefault(f"{predicate.attribute}.{name}", set()).update(kinds)
        found.setdefault(predicate.attribute, set()).update(constant.kind for constant in predicate.constants)
        if isinstance(predicate.operand, Reference):
            found.setdefault(predicate.operand.attribute, set())


def attribute_names(text: str, schema: Schema) -> list[str]:
    """The attributes that an expression names."""
    found: Attributes = {}
    attributes_of(parse(text, schema), found)
    return list(found)
