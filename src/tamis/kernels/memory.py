"""Arrays by address: handing a kernel forty arrays costs more than most single events take it to match.

A *table* is an int64 array of pairs, the address and the length of an array. Whoever fills one keeps the arrays alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import config
from numba.extending import intrinsic

from tamis.kernels.jit import inlined

__all__ = ["flags_at", "ints_at", "longs_at", "shorts_at", "table_of", "words_at"]

Table = npt.NDArray[np.int64]


def table_of(arrays: Iterable[npt.NDArray[Any]]) -> Table:
    """Where each array is and how many items it has."""
    pairs = [(array.ctypes.data, array.size) for array in arrays]
    return np.array(pairs, np.int64).reshape(-1)


if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set from the environment

    def _view(table: Table, at: int, item: Any) -> npt.NDArray[Any]:
        address, length = int(table[2 * at]), int(table[2 * at + 1])
        if not length:
            return np.empty(0, item)
        buffer = (ctypes.c_uint8 * (length * np.dtype(item).itemsize)).from_address(address)
        return np.frombuffer(buffer, item)

    def flags_at(table: Table, at: int) -> npt.NDArray[np.uint8]:
        return _view(table, at, np.uint8)

    def shorts_at(table: Table, at: int) -> npt.NDArray[np.uint16]:
        return _view(table, at, np.uint16)

    def ints_at(table: Table, at: int) -> npt.NDArray[np.int32]:
        return _view(table, at, np.int32)

    def longs_at(table: Table, at: int) -> npt.NDArray[np.int64]:
        return _view(table, at, np.int64)

    def words_at(table: Table, at: int) -> npt.NDArray[np.uint64]:
        return _view(table, at, np.uint64)

else:

    def _pointer_to(item: Any) -> Any:
        @intrinsic
        def pointer(context: Any, address: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

            return types.CPointer(item)(types.int64), generate  # type: ignore[no-untyped-call]

        return pointer

    _to_flags, _to_shorts = _pointer_to(types.uint8), _pointer_to(types.uint16)
    _to_ints, _to_longs, _to_words = _pointer_to(types.int32), _pointer_to(types.int64), _pointer_to(types.uint64)

    @inlined
    def flags_at(table: Table, at: int) -> npt.NDArray[np.uint8]:
        """The array of this number in a table."""
        return carray(_to_flags(table[2 * at]), (table[2 * at + 1],))

    @inlined
    def shorts_at(table: Table, at: int) -> npt.NDArray[np.uint16]:
        return carray(_to_shorts(table[2 * at]), (table[2 * at + 1],))

    @inlined
    def ints_at(table: Table, at: int) -> npt.NDArray[np.int32]:
        return carray(_to_ints(table[2 * at]), (table[2 * at + 1],))

    @inlined
    def longs_at(table: Table, at: int) -> npt.NDArray[np.int64]:
        return carray(_to_longs(table[2 * at]), (table[2 * at + 1],))

    @inlined
    def words_at(table: Table, at: int) -> npt.NDArray[np.uint64]:
        return carray(_to_words(table[2 * at]), (table[2 * at + 1],))
