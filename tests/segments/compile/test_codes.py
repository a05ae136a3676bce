"""A value has one place among the constants, however it is looked for: alone or in a column, as an object or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.batches.batch import Column
from tamis.segments.compile import codes
from tamis.segments.compile.codes import Dictionary

HUGE = 2**53
CONSTANTS: dict[str, Column] = {
    "wholes": np.array([-5, 0, 3, 4, 100_000_000]),
    "wholes in a short range": np.array([-5, 0, 3, 4, 7]),
    "reals": np.array([-1e300, -0.5, 0.0, 0.1, 3.0]),
    "wholes that are no doubles": np.array([-HUGE - 1, 0, HUGE, HUGE + 1, 2**63 - 1]),
    "both, and larger": np.array([-(2**70), -0.5, HUGE + 1, 2**64], object),
    "strings": pa.array(["", "a", "ab", "é", "😀"]),
    "one": np.array([1]),
    "none": np.array([], np.int64),
}
NUMBERS = [
    -(2**71),
    -HUGE - 2,
    -HUGE - 1,
    -6,
    -5,
    -0.5,
    0,
    0.05,
    0.1,
    1,
    2.5,
    3,
    3.0,
    4,
    5,
    float(HUGE),
    HUGE + 1,
    HUGE + 2,
]
TEXTS = ["", "\0", "A", "a", "aa", "ab", "b", "è", "é", "ê", "😀", "😁"]


def expected(constants: list[Any], value: Any, ordered: bool) -> int:
    if value in constants:
        return 2 * constants.index(value) + 1
    return 2 * sum(one < value for one in constants) if ordered else 0


@pytest.mark.parametrize("most", [1 << 16, 0], ids=["with objects", "without"])
@pytest.mark.parametrize("name", CONSTANTS)
def test_a_value_has_the_same_place_alone_and_in_a_column(
    name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_MOST_OBJECTS", most)
    constants = CONSTANTS[name]
    for ordered in (True, False) if name == "strings" else (True,):
        dictionary = Dictionary(constants, ordered)
        values = TEXTS if name == "strings" else NUMBERS
        listed = constants.to_pylist() if isinstance(constants, pa.Array) else constants.tolist()
        for value in values:
            assert dictionary.place(value) == expected(listed, value, ordered), value
            column = pa.array([value]) if name == "strings" else np.array([value])
            assert dictionary.places(column).tolist() == [dictionary.place(value)], value
        assert (len(dictionary.known) == 0) == (most == 0 or name == "none")
