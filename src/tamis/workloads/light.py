"""RAPIDMatch §6: 100 binary properties, sparse subscriptions, light events.

A subscription asks 0, 1 or nothing of each property with probability 0.05, 0.05 and 0.9. An event has t ones with
probability proportional to t ** -a (the Light Query Model, `a`), or each property is one with probability `p` (the
paper's "exponential" distribution). A subscription that asks nothing would be none; its first property asks for 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.model import Integer, Schema
from tamis.model.schema import Attribute
from tamis.workloads.slices import Texts, Workload, choose

__all__ = ["Light"]

_PROPERTIES = 100


@dataclass(frozen=True)
class Light(Workload):
    """Give `p` for the exponential distribution; else Zipf with exponent `a`."""

    a: float = 2.0
    p: float | None = None

    @property
    def name(self) -> str:  # type: ignore[override]  # the parameters are part of the seed
        return f"light a={self.a}" if self.p is None else f"light p={self.p}"

    def schema(self) -> Schema:
        names = [f"p{at}" for at in range(_PROPERTIES)]
        return Schema(attributes={name: Attribute(name, Integer(0, 1)) for name in names})

    def draw_expressions(self, random: np.random.Generator, count: int) -> Texts:
        asked = random.random((count, _PROPERTIES))
        asked[(asked >= 0.1).all(axis=1), 0] = 0.0
        slots = [
            choose([f"p{at} = 1", f"p{at} = 0"], (asked[:, at] >= 0.05).astype(np.int64), asked[:, at] < 0.1)
            for at in range(_PROPERTIES)
        ]
        return pc.binary_join_element_wise(*slots, " and ", null_handling="skip")

    def draw_events(self, random: np.random.Generator, count: int) -> pa.Table:
        if self.p is not None:
            ones = random.random((count, _PROPERTIES)) < self.p
        else:
            weights = np.arange(1, _PROPERTIES + 1, dtype=float) ** -self.a
            sizes = random.choice(_PROPERTIES, count, p=weights / weights.sum()) + 1
            ones = random.random((count, _PROPERTIES)).argsort(axis=1).argsort(axis=1) < sizes[:, None]
        return pa.table({f"p{at}": ones[:, at].astype(np.int64) for at in range(_PROPERTIES)})
