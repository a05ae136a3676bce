"""The ones of a bitmap, listed: sixteen at a time, four at a time, one at a time near the end."""

from __future__ import annotations

import numpy as np
import pytest

from tamis.kernels.segments.rows import writing_speed


@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.9, 1.0])
def test_exactly_the_ones_are_listed_and_nothing_past_the_end_is_touched(share: float) -> None:
    ones = np.random.default_rng(7).random(64 * 12) < share
    bits = np.packbits(ones, bitorder="little").view(np.uint64)
    room = np.full(int(ones.sum()) + 100, -7, np.int32)

    count = writing_speed(bits, room[:-100])

    assert room[:count].tolist() == np.nonzero(ones)[0].tolist()
    assert (room[count:] == -7).all()
