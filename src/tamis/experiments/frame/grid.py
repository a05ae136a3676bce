"""A workload with a handle for what matters to a matcher: selectivity, share of equalities, skew, dimensions.

Each of `dimensions` integer attributes has `values` values, by Zipf's law with exponent `skew` (0 is uniform), the
popular ones being the same for subscriptions and events; fewer values make every predicate less selective. A
subscription asks of one to four different attributes, each by equality with probability `equal`, else by `<` or `>`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.model import Integer, Schema
from tamis.model.schema import Attribute
from tamis.workloads.slices import Texts, Workload

__all__ = ["Grid"]

_MOST_PREDICATES = 4


@dataclass(frozen=True)
class Grid(Workload):
    values: int = 1_000
    equal: float = 0.5
    skew: float = 0.0
    dimensions: int = 8

    @property
    def name(self) -> str:  # type: ignore[override]  # the parameters are part of the seed
        return f"grid values={self.values} equal={self.equal} skew={self.skew} dimensions={self.dimensions}"

    def schema(self) -> Schema:
        names = [f"a{at}" for at in range(self.dimensions)]
        return Schema(attributes={name: Attribute(name, Integer(1, self.values)) for name in names})

    def _drawn(self, random: np.random.Generator, shape: tuple[int, int]) -> npt.NDArray[np.int64]:
        """Values; the popular ones are spread over the domain, so that `<` and `>` are as selective as ever."""
        weights = np.arange(1, self.values + 1, dtype=float) ** -self.skew
        places = np.random.default_rng(self.values).permutation(self.values) + 1
        found: npt.NDArray[np.int64] = places[random.choice(self.values, shape, p=weights / weights.sum())]
        return found

    def draw_expressions(self, random: np.random.Generator, count: int) -> Texts:
        most = min(_MOST_PREDICATES, self.dimensions)
        attributes = random.random((count, self.dimensions)).argsort(axis=1)[:, :most]
        signs = np.where(random.random((count, most)) < self.equal, 0, random.integers(1, 3, (count, most)))
        constants = self._drawn(random, (count, most))
        sizes = random.integers(1, most + 1, count)
        slots = []
        for slot in range(most):
            names = pc.take(pa.array([f"a{at}" for at in range(self.dimensions)]), pa.array(attributes[:, slot]))
            asked = pc.if_else(pa.array(slot < sizes), names, pa.scalar(None, pa.string()))
            sign = pc.take(pa.array(["=", "<", ">"]), pa.array(signs[:, slot]))
            slots.append(pc.binary_join_element_wise(asked, sign, pa.array(constants[:, slot]).cast(pa.string()), " "))
        return pc.binary_join_element_wise(*slots, " and ", null_handling="skip")

    def draw_events(self, random: np.random.Generator, count: int) -> pa.Table:
        drawn = self._drawn(random, (count, self.dimensions))
        return pa.table({f"a{at}": drawn[:, at] for at in range(self.dimensions)})
