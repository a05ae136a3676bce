"""Values as integers that compare as the values do: one column per attribute and kind.

The constants in use have even *labels* in ascending order, with gaps; a value that is no constant has the odd code just
past the greatest constant below it. A new constant takes a label from the gap where it falls. When a gap is used up,
or many constants come at once, the column is labelled anew: O(constants of the column), and rare.

    constants 10, 20 labelled 100, 200:   5 → 1    10 → 100    15 → 101    20 → 200    99 → 201
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tamis.model.regions import Data

__all__ = ["HIGHEST", "LOWEST", "LabelColumn"]

LOWEST, HIGHEST = 0, 2**62
_FEW = 8
"""Fewer new constants than this are labelled one by one."""


class LabelColumn:
    """Sorted constants, their labels and how many tests use each."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pids: dict[int, None] = {}
        self._constants: list[Data] = []
        self._labels: list[int] = []
        self._uses: Counter[Data] = Counter()

    def code(self, data: Data) -> int:
        """The code of any value of the column's kind."""
        at = bisect_left(self._constants, data)
        if at < len(self._constants) and self._constants[at] == data:
            return self._labels[at]
        return self._labels[at - 1] + 1 if at else 1

    def add(self, constants: Sequence[Data]) -> bool:
        """Count these constants in; True if all labels changed."""
        fresh = [data for data in dict.fromkeys(constants) if not self._uses[data]]
        self._uses.update(constants)
        if len(fresh) < _FEW:
            return bool(sum(self._squeeze(data) for data in fresh))
        self._constants = sorted([*self._constants, *fresh])
        self._label_anew()
        return True

    def remove(self, constants: Sequence[Data]) -> None:
        self._uses.subtract(constants)
        for data in dict.fromkeys(constants):
            if not self._uses[data]:
                del self._uses[data]
                at = bisect_left(self._constants, data)
                del self._constants[at], self._labels[at]

    def _squeeze(self, data: Data) -> bool:
        at = bisect_left(self._constants, data)
        lower = self._labels[at - 1] if at else LOWEST
        upper = self._labels[at] if at < len(self._labels) else HIGHEST
        label = (lower + upper) // 4 * 2
        self._constants.insert(at, data)
        self._labels.insert(at, label)
        if lower < label < upper:
            return False
        self._label_anew()
        return True

    def _label_anew(self) -> None:
        step = HIGHEST // (len(self._constants) + 1) // 2 * 2
        self._labels = [step * place for place in range(1, len(self._constants) + 1)]

    def __len__(self) -> int:
        return len(self._constants)

    def check(self) -> None:
        assert sorted(self._uses) == self._constants, "constants in use and constants kept differ"
        bounds = [LOWEST, *self._labels, HIGHEST]
        assert all(low < high for low, high in pairwise(bounds)), "labels out of order"
        assert all(label % 2 == 0 for label in self._labels), "the label of a constant is odd"
