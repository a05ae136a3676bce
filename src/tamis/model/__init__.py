"""WHAT we talk about: values, domains, schemas, events, predicates. Plain frozen values with their meaning."""

from tamis.model.domains import Boolean, Domain, Integer, Number, String, Timestamp, Untyped
from tamis.model.events import Event, parse_json, read_event
from tamis.model.finite import Enumerated, Finite, Hierarchical
from tamis.model.operators import COMPARISONS, COMPLEMENT, MIRROR, OPERATORS, TOTAL, Operator
from tamis.model.predicates import (
    Among,
    Conjunction,
    Predicate,
    Reference,
    Subscription,
    SubscriptionId,
    Threshold,
    compare,
)
from tamis.model.records import Records
from tamis.model.schema import EVENT_TYPE, Attribute, Schema, Use, View
from tamis.model.values import Kind, Value, show, value_of

__all__ = [
    "COMPARISONS",
    "COMPLEMENT",
    "EVENT_TYPE",
    "MIRROR",
    "OPERATORS",
    "TOTAL",
    "Among",
    "Attribute",
    "Boolean",
    "Conjunction",
    "Domain",
    "Enumerated",
    "Event",
    "Finite",
    "Hierarchical",
    "Integer",
    "Kind",
    "Number",
    "Operator",
    "Predicate",
    "Records",
    "Reference",
    "Schema",
    "String",
    "Subscription",
    "SubscriptionId",
    "Threshold",
    "Timestamp",
    "Untyped",
    "Use",
    "Value",
    "View",
    "compare",
    "parse_json",
    "read_event",
    "show",
    "value_of",
]
