"""Memory of a large answer is used again, but never while anybody can see it."""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa

from tamis.segments.ask import buffers
from tamis.segments.ask.buffers import answer_buffer

LARGE = buffers._LARGE


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_memory_comes_back_when_nobody_holds_it() -> None:
    buffers._spare.clear()
    first = answer_buffer(LARGE)
    where = address(first)
    del first
    gc.collect()

    assert address(answer_buffer(LARGE)) == where


def test_memory_that_a_view_or_arrow_holds_is_not_given_out() -> None:
    buffers._spare.clear()
    first = answer_buffer(LARGE)
    first[:] = 7
    view, column = first[10:20], pa.array(first)
    del first
    gc.collect()
    second = answer_buffer(LARGE)
    second[:] = 8
    del view
    gc.collect()
    third = answer_buffer(LARGE)
    third[:] = 9

    assert column[15].as_py() == 7
    assert second[0] == 8
    assert len({address(second), address(third)}) == 2


def test_a_block_far_too_large_or_too_small_goes() -> None:
    buffers._spare.clear()
    answer_buffer(10 * LARGE)
    gc.collect()
    small = answer_buffer(LARGE)

    assert not buffers._spare
    assert small.base is not None
    assert len(answer_buffer(2 * LARGE)) == 2 * LARGE


def test_small_answers_are_plain_arrays() -> None:
    assert answer_buffer(5).base is None
