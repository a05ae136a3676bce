"""How much memory a process has in use, now."""

from __future__ import annotations

import gc
import resource
from pathlib import Path

import pyarrow as pa

__all__ = ["resident_bytes"]


def resident_bytes() -> int | None:
    """Pages of this process in memory, after what can be given back was; None where the system does not tell."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    try:
        pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    except OSError:
        return None
    return int(pages) * resource.getpagesize()
