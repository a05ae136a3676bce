"""Two machine instructions that Numba does not offer by name: count the ones, find the lowest one."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import config
from numba.extending import intrinsic

__all__ = ["popcount", "trailing_zeros"]

if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set from the environment

    def popcount(word: Any) -> int:
        """Ones in a 64-bit word."""
        return int(word).bit_count()

    def trailing_zeros(word: Any) -> int:
        """The position of the lowest one; 64 for zero."""
        whole = int(word)
        return (whole & -whole).bit_length() - 1 if whole else 64

else:

    @intrinsic
    def popcount(context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.uint64(types.uint64), generate

    @intrinsic
    def trailing_zeros(context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

        return types.uint64(types.uint64), generate
