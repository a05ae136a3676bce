"""All of a file or nothing of it, for its owner alone, and never through a symbolic link.

What is written goes through the functions of `os`, one system call each: `tests/faults/disk.py` listens there.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

from tamis.errors import OptionError, SegmentError
from tamis.model.values import show_raw

__all__ = [
    "PRIVATE",
    "checked_mode",
    "file_mode",
    "from_the_system",
    "open_file",
    "read_file",
    "refuse_link",
    "sync_folder",
    "why",
    "write_all",
    "write_atomically",
]

PRIVATE = 0o700
"""The mode of our folders unless the user names another."""

_SMALL = 1 << 16
"""Bytes that are cheaper copied than written on their own."""


def file_mode(mode: int) -> int:
    """The mode of files in a folder of that mode: the same without the right to enter."""
    return mode & 0o666


def checked_mode(mode: object) -> int | None:
    """None, or the permissions of a folder that its owner can use; `OptionError` if it is neither."""
    if mode is None or (isinstance(mode, int) and mode & 0o700 == 0o700 and 0 <= mode <= 0o777):
        return mode
    found = f"0o{mode:o}" if isinstance(mode, int) and not isinstance(mode, bool) else show_raw(mode)
    raise OptionError(f"expected a folder's mode from 0o700 (its owner alone) to 0o777 (everybody), found {found}")


def write_atomically(path: Path, pieces: Iterable[Any], mode: int = PRIVATE) -> None:
    """Write bytes to a temporary name beside the target, sync, rename, sync the folder.

    A reader sees the old file or the new one, whole; on any failure the old file stays and nothing else is left.
    """
    try:
        temporary = path.with_name(f".{path.name}.{token_hex(4)}")
        file = open_file(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    except (OSError, ValueError) as error:  # ValueError: a path with a null byte, or with no name at all
        raise _refused(error, path) from None
    try:
        with file:
            try:
                at = 0
                for piece in _joined(pieces):
                    at = write_all(file.fileno(), piece, at)
                os.fsync(file.fileno())
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)  # it has its new name if an interrupt came at the very last
                raise
        sync_folder(path.parent)
    except OSError as error:
        raise _refused(error, path) from None


def _joined(pieces: Iterable[Any]) -> Iterator[Any]:
    """The same bytes in fewer pieces: a segment has a hundred small ones."""
    small = bytearray()
    for piece in pieces:
        if len(memoryview(piece)) < _SMALL:
            small += piece
            continue
        yield bytes(small)
        yield piece
        small.clear()
    yield bytes(small)


def refuse_link(path: Path) -> None:
    """For a file that others open by its name; `SegmentError` if that is a symbolic link."""
    if path.is_symlink():
        raise SegmentError(why(OSError(errno.ELOOP, "")), str(path))


def _refused(error: Exception, path: Path) -> Exception:
    if isinstance(error, OSError) and not from_the_system(error):
        return error
    return SegmentError(f"cannot write here: {why(error)}", str(path))


def open_file(path: Path, flags: int, mode: int = PRIVATE) -> io.FileIO:
    """An open file. As an object it can be closed twice, and is closed if an interrupt leaves it to nobody.

    `mode` is that of the folder; a file that is made anew has it, whatever the umask says.
    """
    wanted = file_mode(mode)
    how = "r+" if flags & os.O_RDWR else "r"
    file = io.FileIO(path, how, opener=lambda path, _: os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, wanted))
    if flags & (os.O_EXCL | os.O_TRUNC) and stat.S_IMODE(os.fstat(file.fileno()).st_mode) != wanted:
        os.fchmod(file.fileno(), wanted)
    return file


def read_file(path: Path) -> bytes:
    """All of a file; `OSError` if it is a symbolic link."""
    with open_file(path, os.O_RDONLY) as file:
        return file.readall()


def write_all(handle: int, content: Any, at: int) -> int:
    """Write bytes at a place of a file; the place behind them."""
    left = memoryview(content)
    while left:
        written = os.pwrite(handle, left, at)
        left, at = left[written:], at + written
    return at


def sync_folder(path: Path) -> None:
    """After this, the names in a folder survive the loss of power."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def from_the_system(error: BaseException) -> bool:
    """Whether the operating system refused something; a signal handler's `TimeoutError` is an `OSError` as well."""
    return isinstance(error, OSError) and error.errno is not None


def why(error: Exception) -> str:
    """The operating system's reason, without its number and path."""
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return "found a symbolic link, which is not followed here; put the file itself in its place"
    return getattr(error, "strerror", None) or str(error)
