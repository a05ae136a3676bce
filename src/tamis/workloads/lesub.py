"""Le Subscribe §4: three string attributes of 200 values, three numbers of 5,000, each optional.

Each attribute is in a subscription, and in an event, with probability one half. The strings are compared by equality
only; a number by equality with probability `p`, else by one of `< <= > >=`. All values are uniform. A subscription
without any predicate would be none: the six coins are thrown again, that is, the set of attributes is uniform over
the 63 that are not empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.model import Integer, Schema, String
from tamis.model.schema import Attribute
from tamis.workloads.slices import Texts, Workload, choose

__all__ = ["LeSub"]

_STRINGS, _NUMBERS = ("s0", "s1", "s2"), ("n0", "n1", "n2")
_ORDER = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class LeSub(Workload):
    """The six-attribute workload with equality probability `p`; `words` values of a string, numbers up to `most`."""

    p: float = 0.5
    words: int = 200
    most: int = 5000

    @property
    def name(self) -> str:  # type: ignore[override]  # the parameters are part of the seed
        name = f"lesub p={self.p}"
        return name if (self.words, self.most) == (200, 5000) else f"{name} words={self.words} most={self.most}"

    def _values(self) -> list[str]:
        return [f"v{word}" for word in range(self.words)]

    def schema(self) -> Schema:
        domains = dict.fromkeys(_STRINGS, String()) | dict.fromkeys(_NUMBERS, Integer(1, self.most))
        return Schema(attributes={name: Attribute(name, domain) for name, domain in domains.items()})

    def draw_expressions(self, random: np.random.Generator, count: int) -> Texts:
        masks = random.integers(1, 64, count)
        slots = []
        for at, name in enumerate(_STRINGS):
            pieces = [f"{name} = '{value}'" for value in self._values()]
            slots.append(choose(pieces, random.integers(0, self.words, count), (masks >> at & 1).astype(bool)))
        for at, name in enumerate(_NUMBERS, len(_STRINGS)):
            equal = random.random(count) < self.p
            operator = np.where(equal, 0, random.integers(1, 5, count))
            pieces = [f"{name} {sign} {number}" for sign in ("=", *_ORDER) for number in range(1, self.most + 1)]
            codes = operator * self.most + random.integers(0, self.most, count)
            slots.append(choose(pieces, codes, (masks >> at & 1).astype(bool)))
        return pc.binary_join_element_wise(*slots, " and ", null_handling="skip")

    def draw_events(self, random: np.random.Generator, count: int) -> pa.Table:
        columns: dict[str, pa.Array] = {}
        for name in _STRINGS:
            columns[name] = choose(self._values(), random.integers(0, self.words, count), random.random(count) < 0.5)
        for name in _NUMBERS:
            columns[name] = pa.array(random.integers(1, self.most + 1, count), mask=random.random(count) < 0.5)
        return pa.table(columns)
