"""All of a file or nothing of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex
from typing import Any

from tamis.errors import SegmentError

__all__ = ["from_the_system", "sync_folder", "why", "write_atomically"]


def write_atomically(path: Path, pieces: Iterable[Any]) -> None:
    """Write bytes to a temporary name beside the target, sync, rename, sync the folder.

    A reader sees the old file or the new one, whole; on any failure the old file stays and nothing else is left.
    """
    try:
        temporary = path.with_name(f".{path.name}.{token_hex(4)}")  # opened plainly, so it has the user's permissions
        file = temporary.open("xb")
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte, or with no name at all
        raise _refused(error, path) from None
    try:
        with file:
            try:
                for piece in pieces:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)  # it has its new name if an interrupt came at the very last
                raise
        sync_folder(path.parent)
    except OSError as error:
        raise _refused(error, path) from None


def _refused(error: Exception, path: Path) -> Exception:
    if isinstance(error, OSError) and not from_the_system(error):
        return error
    return SegmentError(f"cannot write here: {why(error)}", str(path))


def from_the_system(error: BaseException) -> bool:
    """Whether the operating system refused something; a signal handler's `TimeoutError` is an `OSError` as well."""
    return isinstance(error, OSError) and error.errno is not None


def sync_folder(path: Path) -> None:
    """After this, the names in a folder survive the loss of power."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def why(error: Exception) -> str:
    """The operating system's reason, without its number and path."""
    return getattr(error, "strerror", None) or str(error)
