"""Strings looked up among sorted ones: by hash, or by halving where between them an unknown one lies is asked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel
from tamis.kernels.numbering import MOST_PROBES
from tamis.kernels.spans import hash_span

__all__ = ["Strings", "fill_table", "find_places"]

Ints = npt.NDArray[np.int32]


class Strings(NamedTuple):
    """String i is `data[ends[i] : ends[i + 1]]`, as UTF-8, whose order is that of the strings."""

    ends: Ints
    data: npt.NDArray[np.uint8]


@inlined
def _order(left: Strings, one: int, right: Strings, other: int) -> Any:
    """Below zero if the one string comes before the other, zero if they are equal."""
    start, length = np.int64(left.ends[one]), np.int64(left.ends[one + 1] - left.ends[one])
    first, most = np.int64(right.ends[other]), np.int64(right.ends[other + 1] - right.ends[other])
    at, both = np.int64(0), min(length, most)
    while at < both and left.data[start + at] == right.data[first + at]:
        at += 1
    if at == both:
        return length - most
    return np.int64(left.data[start + at]) - np.int64(right.data[first + at])


@kernel
def fill_table(known: Strings, table: Ints) -> bool:
    """Put each string's number, plus one, where its hash leads, or in the next free place; the table is a power of two.

    False if a string finds too many places taken: then they were chosen for it, and the table is of no use.
    """
    mask = np.uint64(len(table) - 1)
    for number in range(len(known.ends) - 1):
        place = hash_span(known.data, known.ends[number], known.ends[number + 1]) >> np.uint64(32) & mask
        probes = 0
        while table[place] > 0 and probes < MOST_PROBES:
            place = (place + np.uint64(1)) & mask
            probes += 1
        if probes == MOST_PROBES:
            return False
        table[place] = number + 1
    return True


@kernel
def find_places(asked: Strings, chosen: Ints, known: Strings, table: Ints, ordered: bool, places: Ints) -> None:
    """The place of each chosen string among the known: twice its rank and one more, or twice the rank of the next if
    it is not among them; for such a string 0 unless `ordered`. An empty table is not asked.
    """
    mask = np.uint64(len(table) - 1)
    for i in range(len(chosen)):
        one = chosen[i]
        found = np.int64(0)
        if len(table) > 0:
            place = hash_span(asked.data, asked.ends[one], asked.ends[one + 1]) >> np.uint64(32) & mask
            probes = 0
            while found == 0 and table[place] > 0 and probes < MOST_PROBES:
                if _order(asked, one, known, table[place] - 1) == 0:
                    found = np.int64(2 * table[place] - 1)
                place = (place + np.uint64(1)) & mask
                probes += 1
        if found == 0 and (ordered or len(table) == 0):
            low, high = 0, len(known.ends) - 1
            while low < high:
                middle = (low + high) >> 1
                if _order(known, middle, asked, one) < 0:
                    low = middle + 1
                else:
                    high = middle
            hit = low < len(known.ends) - 1 and _order(known, low, asked, one) == 0
            found = np.int64(2 * low + (1 if hit else 0)) if ordered or hit else np.int64(0)
        places[i] = found
