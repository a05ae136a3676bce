"""Patterns fitted to texts as bytes: a byte stands for itself, `ANY` for one code point, `SOME` for any text.

On a mismatch the text behind the last `SOME` is tried one code point later; nothing before it is looked at again, so a
text costs at most its length times that of the pattern. Where that is much, the answer is left to somebody cleverer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.kernels.jit import inlined, kernel

__all__ = ["ANY", "SOME", "UNSURE", "Programs", "fit_pairs"]

ANY, SOME = 0xFE, 0xFF
"""Bytes that no UTF-8 has."""
UNSURE = 2
_MUCH = 1 << 20

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]


class Programs(NamedTuple):
    """Pattern i is `letters[ends[i] : ends[i + 1]]`."""

    letters: Bytes
    ends: npt.NDArray[np.int64]


@kernel
def fit_pairs(
    letters: Bytes, ends: npt.NDArray[Any], texts: Ints, patterns: Ints, programs: Programs, fits: Bytes
) -> None:
    """For each pair of a text and a pattern: 1 if it fits, 0 if not, `UNSURE` if they are too long. Pattern -1 fits."""
    for at in range(texts.shape[0]):
        fits[at] = 1
        if patterns[at] >= 0:
            first, last = np.int64(ends[texts[at]]), np.int64(ends[texts[at] + 1])
            start, stop = programs.ends[patterns[at]], programs.ends[patterns[at] + 1]
            if (last - first) * (stop - start) > _MUCH:
                fits[at] = UNSURE
            else:
                fits[at] = 1 if _fits(letters, first, last, programs.letters, start, stop) else 0


@inlined
def _following(letters: Bytes, at: Any, last: Any) -> Any:
    """Where the next code point begins."""
    at += 1
    while at < last and letters[at] & 0xC0 == 0x80:
        at += 1
    return at


@inlined
def _fits(letters: Bytes, at: Any, last: Any, program: Bytes, start: Any, stop: Any) -> bool:
    step, some, mark = start, np.int64(-1), at
    failed = False
    while at < last and not failed:
        if step < stop and program[step] == SOME:
            some, mark = step, at
            step += 1
        elif step < stop and program[step] == ANY:
            at = _following(letters, at, last)
            step += 1
        elif step < stop and program[step] == letters[at]:
            at += 1
            step += 1
        elif some >= 0:
            mark = _following(letters, mark, last)
            step = some + 1
            if step < stop and program[step] != ANY:  # where a character begins, none of its other bytes can stand
                while mark < last and letters[mark] != program[step]:
                    mark += 1
            at = mark
        else:
            failed = True
    while step < stop and program[step] == SOME:
        step += 1
    return not failed and step == stop
