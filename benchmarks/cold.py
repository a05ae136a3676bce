"""Which pages of a file are in memory, and how to put them out: what a cold search is measured with (Linux)."""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np

__all__ = ["evict", "private_bytes", "resident_pages"]

_libc = ctypes.CDLL(None, use_errno=True)


def resident_pages(file: Path) -> int:
    """How many pages of the file the system has in memory now, by mincore(2)."""
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        with mmap.mmap(stream.fileno(), size, prot=mmap.PROT_READ) as mapped:
            view = np.frombuffer(mapped, dtype=np.uint8)
            pages = np.zeros(-(-size // mmap.PAGESIZE), dtype=np.uint8)
            failed = _libc.mincore(
                ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(size), ctypes.c_void_p(pages.ctypes.data)
            )
            del view
    if failed:
        raise OSError(ctypes.get_errno(), "mincore")
    return int((pages & 1).sum())


def evict(file: Path) -> None:
    """Put the file out of memory. Nobody may have it mapped."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def private_bytes() -> int:
    """This process's own memory, without the pages of files."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])
