"""Reading a folder beside the process that writes it.

A reader takes no lock and alters nothing. What it reads may change under its hands: a checkpoint replaces the list and
sweeps the files of the one before, and a log is read while its last record is written. Whatever looks wrong then is
looked at again, from the list on; it is wrong only if nobody wrote meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tamis.errors import SegmentError
from tamis.segments.keep.current import NAME, listed_number

__all__ = ["until_quiet"]

_T = TypeVar("_T")

_MOST_TIMES = 1_000
"""Of checkpoints or writes, each in the midst of a reading: nobody writes so fast."""


def until_quiet(path: Path, read: Callable[[], _T]) -> _T:
    """What is read, when it is read from a folder that nobody changed in a way that matters."""
    for _ in range(_MOST_TIMES):
        seen = _state(path)
        try:
            return read()
        except SegmentError:
            if _state(path) == seen:
                raise
    return read()


def _state(path: Path) -> tuple[object, ...]:
    """Which list there is, and how long its log."""
    try:
        listed, log = (path / NAME).stat(), path / f"log-{listed_number(path)}.wal"
        return listed.st_ino, listed.st_mtime_ns, log.stat().st_size, log.stat().st_mtime_ns
    except (OSError, ValueError, KeyError):
        return ()
