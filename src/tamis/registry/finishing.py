"""Seeing a change through when an interrupt comes in its midst.

`KeyboardInterrupt`, `MemoryError` and whatever a signal handler raises may come before any bytecode. So a write
prepares all it needs, and then does a short *step* that may be done twice with the effect of once. Interrupted in the
step, it does the step again, to the end, and only then lets the interrupt go on:

    try:
        step(change)
    except BaseException:
        finish(step, change)
        raise
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVarTuple

__all__ = ["finish"]

_Arguments = TypeVarTuple("_Arguments")

_MOST_TIMES = 1_000
"""Nobody interrupts so often: what still fails then fails by itself, and is raised."""


def finish(step: Callable[[*_Arguments], object], *arguments: *_Arguments) -> None:
    """Do the step until it is done. Interrupts that come meanwhile wait; the last of them is raised in the end."""
    late: BaseException | None = None
    for _ in range(_MOST_TIMES):
        try:
            step(*arguments)
            break
        except BaseException as error:  # noqa: BLE001 - raised below
            late = error
    if late is not None:
        raise late
