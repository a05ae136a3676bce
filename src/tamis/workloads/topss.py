"""ToPSS §5.1: W0 to W3 for predicate matching, W4 for subscription matching.

A subscription has between one and `most_predicates` predicates on distinct attributes; operator and constant are
uniform over `= != < >` and the attribute's domain. An event gives every attribute a uniform value. With W4 an event
matches 17.6 % of the subscriptions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.model import Integer, Schema
from tamis.model.schema import Attribute
from tamis.workloads.slices import Texts, Workload, choose

__all__ = ["TOPSS", "Topss"]

_OPERATORS = ("=", "!=", "<", ">")


@dataclass(frozen=True)
class Topss(Workload):
    """`bounds[i]` is the domain of attribute i."""

    name: str
    bounds: tuple[tuple[int, int], ...]
    most_predicates: int

    def schema(self) -> Schema:
        attributes = {f"a{at}": Attribute(f"a{at}", Integer(low, high)) for at, (low, high) in enumerate(self.bounds)}
        return Schema(attributes=attributes)

    def draw_expressions(self, random: np.random.Generator, count: int) -> Texts:
        attributes = random.random((count, len(self.bounds))).argsort(axis=1)[:, : self.most_predicates]
        operators = random.integers(0, len(_OPERATORS), attributes.shape)
        low, high = (np.array(side, dtype=np.int64)[attributes] for side in zip(*self.bounds, strict=True))
        constants = random.integers(low, high + 1)
        sizes = random.integers(1, self.most_predicates + 1, count)
        names, slots = list(self.schema().attributes), []
        for slot in range(self.most_predicates):
            name = choose(names, attributes[:, slot], slot < sizes)
            operator = pc.take(pa.array(_OPERATORS), pa.array(operators[:, slot]))
            constant = pa.array(constants[:, slot]).cast(pa.string())
            slots.append(pc.binary_join_element_wise(name, operator, constant, " "))
        return pc.binary_join_element_wise(*slots, " and ", null_handling="skip")

    def draw_events(self, random: np.random.Generator, count: int) -> pa.Table:
        return pa.table({f"a{at}": random.integers(low, high + 1, count) for at, (low, high) in enumerate(self.bounds)})


_SMALL, _MEDIUM, _BIG = (1, 250), (250, 10_000), (10_000, 100_000)

TOPSS = {
    "w0": Topss("w0", (_SMALL,) * 120, 20),
    "w1": Topss("w1", (_MEDIUM,) * 120, 20),
    "w2": Topss("w2", (_BIG,) * 120, 20),
    "w3": Topss("w3", (_SMALL, _MEDIUM, _BIG) * 40, 20),
    "w4": Topss("w4", ((1, 10),) * 10, 5),
}
