"""Tokens: the values that readers find, one after another; then put together by attribute and kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import kernel

__all__ = [
    "CAREFUL",
    "ESCAPED",
    "GROUPS",
    "NUMBERS",
    "REAL",
    "REAL_TEXT",
    "SOUND",
    "STRING",
    "STRINGS",
    "TRUTH",
    "TRUTHS",
    "WHOLE",
    "Found",
    "Tokens",
    "distribute",
]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

STRING, ESCAPED, WHOLE, REAL, REAL_TEXT, TRUTH = range(6)
"""What a token is: text as it stands (from `data` on, `size` bytes), text with escapes, a whole number, the bits of a
double, a number that somebody else must read as a double, 0 or 1."""
STRINGS, NUMBERS, TRUTHS = range(3)
GROUPS = 3
SOUND, CAREFUL = 0, 1
"""States of an event: read, or to be read by somebody more careful. Larger ones say why it cannot be read at all."""


class Tokens(NamedTuple):
    """Values in the order in which they were found."""

    attribute: Ints
    row: Ints
    kind: Bytes
    data: Longs
    size: Ints


class Found(NamedTuple):
    """Events: where each begins and ends, its state, and where it went wrong if it did."""

    start: Longs
    stop: Longs
    state: Bytes
    wrong: Longs


@kernel
def _group(kind: int) -> int:
    if kind <= ESCAPED:
        return STRINGS
    return NUMBERS if kind <= REAL_TEXT else TRUTHS


@kernel
def distribute(tokens: Tokens, count: int, attributes: int, starts: Longs, to: Tokens) -> None:
    """The first `count` tokens, those of a group and attribute together, in order; the attributes are not written.

    `starts` has a place for each group and attribute and one more, with zeros: where they begin.
    """
    for at in range(count):
        starts[_group(tokens.kind[at]) * attributes + tokens.attribute[at] + 1] += 1
    for place in range(1, len(starts)):
        starts[place] += starts[place - 1]
    for at in range(count):
        place = _group(tokens.kind[at]) * attributes + tokens.attribute[at]
        into = starts[place]
        starts[place] += 1
        to.row[into], to.kind[into] = tokens.row[at], tokens.kind[at]
        to.data[into], to.size[into] = tokens.data[at], tokens.size[at]
    for place in range(len(starts) - 1, 0, -1):
        starts[place] = starts[place - 1]
    starts[0] = 0
