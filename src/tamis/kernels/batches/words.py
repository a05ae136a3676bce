"""Eight bytes of text at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from tamis.kernels.jit import inlined

__all__ = ["PADDING", "odd_letters", "put_word", "word_at"]

PADDING = 16
"""Zeros that must follow a text: words are read past its end."""

_ONES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_QUOTES, _SLASHES = np.uint64(0x2222222222222222), np.uint64(0x5C5C5C5C5C5C5C5C)
_SPACES = np.uint64(0x2020202020202020)


@inlined
def odd_letters(word: Any) -> Any:
    """A one in the top bit of the first byte that is a quote, a backslash, a control character or not ASCII.

    Of later bytes it says nothing; zero if there is none.
    """
    quote, slash = word ^ _QUOTES, word ^ _SLASHES
    found = ((quote - _ONES) & ~quote) | ((slash - _ONES) & ~slash) | ((word - _SPACES) & ~word) | word
    return found & _TOPS


if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set from the environment

    def word_at(text: Any, at: Any) -> Any:
        """The eight bytes from `at` on, the first one lowest."""
        return np.uint64(int.from_bytes(text[at : at + 8].tobytes(), "little"))

    def put_word(out: Any, at: Any, word: Any) -> None:
        """Write eight bytes from `at` on, the lowest one first."""
        out[at : at + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)

else:

    @intrinsic
    def word_at(context: Any, text: Any, at: Any) -> Any:
        """The eight bytes from `at` on, the first one lowest."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
            return builder.load(place, align=1)

        return types.uint64(text, types.int64), generate

    @intrinsic
    def put_word(context: Any, out: Any, at: Any, word: Any) -> Any:
        """Write eight bytes from `at` on, the lowest one first."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
            builder.store(arguments[2], place, align=1)
            return context.get_dummy_value()

        return types.void(out, types.int64, types.uint64), generate
