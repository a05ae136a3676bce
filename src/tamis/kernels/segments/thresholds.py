"""`at least k of (…)`: the members that events have, counted for whoever asks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel

__all__ = ["Asked", "count_thresholds"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Asked(NamedTuple):
    """Member m counts for the thresholds `of[start[m] : start[m + 1]]`; threshold t is reached at `least[t]`."""

    start: Longs
    of: Ints
    least: Ints


@kernel
def count_thresholds(offsets: Longs, members: Longs, asked: Asked, counts: Ints, rows: Ints, found: Ints) -> int:
    """For each event, the thresholds that are reached; event i has the members `members[offsets[i] : offsets[i + 1]]`.

    `counts` is scratch, a zero per threshold, and is left so. The value is how many pairs there are, also where `rows`
    and `found` have no room for them.
    """
    total = 0
    for event in range(offsets.shape[0] - 1):
        for at in range(offsets[event], offsets[event + 1]):
            for place in range(asked.start[members[at]], asked.start[members[at] + 1]):
                threshold = asked.of[place]
                counts[threshold] += 1
                if counts[threshold] == asked.least[threshold]:
                    if total < rows.shape[0]:
                        rows[total] = event
                        found[total] = threshold
                    total += 1
        for at in range(offsets[event], offsets[event + 1]):
            for place in range(asked.start[members[at]], asked.start[members[at] + 1]):
                counts[asked.of[place]] = 0
    return total
