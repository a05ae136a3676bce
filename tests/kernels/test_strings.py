"""Strings find their places among sorted ones as Python's bisect says, hashed or not."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.batches.letters import letters_of
from tamis.kernels.numbering import MOST_PROBES, new_table
from tamis.kernels.segments.strings import Strings, fill_table, find_places
from tamis.kernels.spans import hash_span

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["", "a", "ab", "abc", "\0", "é", "😀"])


def strings(texts: list[str]) -> Strings:
    return Strings(*letters_of(pa.array(texts, pa.string())))


def expected(known: list[str], text: str, ordered: bool) -> int:
    if text in known:
        return 2 * known.index(text) + 1
    return 2 * bisect_left(known, text) if ordered else 0


def places(known: list[str], asked: list[str], table: np.ndarray, ordered: bool) -> list[int]:
    found = np.empty(len(asked), np.int32)
    find_places(strings(asked), np.arange(len(asked), dtype=np.int32), strings(known), table, ordered, found)
    return found.tolist()


@settings(deadline=None)
@given(st.sets(TEXTS), st.lists(TEXTS), st.booleans(), st.booleans())
def test_a_place_is_twice_the_rank_and_one_more_for_what_is_known(
    chosen: set[str], others: list[str], ordered: bool, hashed: bool
) -> None:
    known = sorted(chosen)
    table = new_table(len(known))
    assert fill_table(strings(known), table)

    found = places(known, known + others, table if hashed else table[:0], ordered)

    assert found == [expected(known, text, ordered) for text in known + others]


@pytest.mark.parametrize("ordered", [False, True])
def test_strings_chosen_for_their_hashes_are_found_without_a_table(ordered: bool) -> None:
    count = MOST_PROBES + 1
    table = new_table(count)
    known: list[str] = []
    number = 0
    while len(known) < count:
        text = str(number).encode()
        if (int(hash_span(np.frombuffer(text, np.uint8), 0, len(text))) >> 32) % len(table) == 7:
            known.append(str(number))
        number += 1
    known.sort()

    assert not fill_table(strings(known), table)
    asked = [*known, "0x", "5", "~"]
    assert places(known, asked, table[:0], ordered) == [expected(known, text, ordered) for text in asked]


def test_letters_of_slices_and_of_nothing_are_theirs() -> None:
    column = pa.array(["ab", None, "", "cde"], pa.string())

    for texts in (column, column.slice(1), column.slice(3), column.slice(4), column.cast(pa.large_string()).slice(2)):
        ends, data = letters_of(texts)
        read = [bytes(data[start:stop]).decode() for start, stop in pairwise(ends)]
        assert read == [text or "" for text in texts.to_pylist()]
