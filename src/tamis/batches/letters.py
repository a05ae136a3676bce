"""The bytes of an Arrow column of strings, as they lie there."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["letters_of"]


def letters_of(texts: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
    """Where each text ends (text i begins where i - 1 ends, the first at entry 0), and the bytes of all.

    Ends are 32-bit numbers, or 64-bit ones of large strings. What a null has for a text is any bytes of the column.
    """
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, ends, data = texts.buffers()
    if not len(texts) or data is None or not data.size:
        return np.zeros(len(texts) + 1, width), np.zeros(1, np.uint8)
    first, last = texts.offset, texts.offset + len(texts)  # behind `last` the buffer may end anywhere
    found = np.frombuffer(ends, width, last + 1)[first:]
    return np.require(found, requirements="A"), np.frombuffer(data, np.uint8)  # from strangers they may lie anywhere
