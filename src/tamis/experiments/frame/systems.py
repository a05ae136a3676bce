"""What ToPSS' tables set side by side: databases, the bit matrix, lists; and the adaptive engine.

DuckDB stands in the place of Kdb, a column store in main memory. PostgreSQL is asked if `TAMIS_POSTGRES` names one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tamis.experiments.frame.experiment import Cell, Scale

__all__ = ["KDB", "PAPER_ROWS", "clock_of", "clock_of_algorithm", "made_of", "systems_of"]

_DATABASES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "duckdb-grouping": ("sql-grouping", "duckdb:"),
        "duckdb-sequential": ("sql-sequential", "duckdb:"),
        "sqlite-grouping": ("sql-grouping", "sqlite:"),
        "postgresql-grouping": ("sql-grouping", "postgresql:"),
    }
)
_OURS = ("counting-bits", "counting-lists", "adaptive")

KDB = "duckdb-grouping"
"""What is set beside the paper's column Kdb; the paper does not say which of its two queries that is."""

PAPER_ROWS = (1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000)
_SIZES: Mapping[Scale, tuple[int, ...]] = MappingProxyType(
    {"test": (100, 200, 400), "small": PAPER_ROWS[:5], "paper": PAPER_ROWS, "max": (*PAPER_ROWS, 8_000_000)}
)
_MOST: Mapping[str, int] = MappingProxyType(
    {"sqlite-grouping": 500_000, "postgresql-grouping": 500_000, "duckdb-sequential": 1_000_000}
)
"""Where a line ends: past it one event takes tens of seconds, or loading minutes."""


def systems_of(scale: Scale) -> list[dict[str, Cell]]:
    """The points of both tables."""
    names = [name for name in _DATABASES if name != "postgresql-grouping" or os.environ.get("TAMIS_POSTGRES")]
    return [
        {"subscriptions": size, "system": name}
        for size in _SIZES[scale]
        for name in (*names, *_OURS)
        if size <= _MOST.get(name, size)
    ]


def made_of(system: str) -> tuple[str, dict[str, Any]]:
    """The algorithm and its options."""
    if system not in _DATABASES:
        return system, {} if system == "adaptive" else {"index": "table"}
    algorithm, url = _DATABASES[system]
    return algorithm, {"url": os.environ["TAMIS_POSTGRES"] if url == "postgresql:" else url}


def clock_of(system: str) -> Callable[[], float]:
    """A database works in threads, or a process, of its own: what passes on the wall is all that can be measured."""
    return clock_of_algorithm(made_of(system)[0])


def clock_of_algorithm(name: str) -> Callable[[], float]:
    return time.perf_counter if name.startswith("sql-") else time.thread_time
