"""The same events in other physical types of Arrow, and in frames: rows for `benchmarks.doors`.

A form takes the flat table and gives what is handed to `match_many`; a column that a form does not change stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.types as pt

__all__ = ["FORMS", "UNNAMED"]

UNNAMED = "that nobody names"
"""A form that a closed schema refuses."""

Change = Callable[[pa.ChunkedArray], pa.ChunkedArray | pa.Array]


def _of(kind: Callable[[pa.DataType], bool], change: Change) -> Callable[[pa.Table], pa.Table]:
    """The table with its columns of a kind changed."""

    def make(table: pa.Table) -> pa.Table:
        pairs = zip(table.column_names, table.columns, strict=True)
        return pa.table({name: change(column) if kind(column.type) else column for name, column in pairs})

    return make


def _beside(name: str, make: Callable[[np.random.Generator, int], pa.Array]) -> Callable[[pa.Table], pa.Table]:
    """The table with one more column, which no subscription names."""
    return lambda table: table.append_column(name, make(np.random.default_rng(1), len(table)))


def _moments(random: np.random.Generator, count: int) -> pa.Array:
    return pa.array(random.integers(0, 2 * 10**18, count), pa.timestamp("ns", "Europe/Paris"))


def _fixed_list(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    filled = whole.fill_null("" if pt.is_string(whole.type) else 0)
    return pa.FixedSizeListArray.from_arrays(filled, 1, mask=whole.is_null())


def _zoned(table: pa.Table) -> pa.Table:
    return _of(pt.is_timestamp, lambda column: column.cast(pa.timestamp("ns", "Europe/Paris")))(table)


def _encoded(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks().dictionary_encode()


def _spark_decimal(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.decimal128(38, 0)).cast(pa.decimal128(38, 18))


FORMS: tuple[tuple[str, Callable[[pa.Table], Any], str], ...] = (
    (f"Arrow, a timestamp {UNNAMED}", _beside("_at", _moments), "at least 0.8"),
    ("Arrow, timestamps in a zone", _zoned, "at least 0.8"),
    ("Arrow, decimals", _of(pt.is_integer, lambda column: column.cast(pa.decimal128(21, 2))), "at least 0.8"),
    ("Arrow, decimals of 18 digits", _of(pt.is_integer, _spark_decimal), "at least 0.8"),
    ("Arrow, dictionaries", _of(pt.is_string, _encoded), "at least 0.8"),
    ("Arrow, string views", _of(pt.is_string, lambda column: column.cast(pa.string_view())), "at least 0.8"),
    ("Arrow, fixed lists", _of(lambda of: pt.is_string(of) or pt.is_integer(of), _fixed_list), "at least 0.8"),
    (
        "Arrow, integers with gaps as doubles",
        _of(pt.is_integer, lambda column: column.cast(pa.float64())),
        "at least 0.8",
    ),
    ("pandas", lambda table: table.to_pandas(), "at least 0.6"),
    ("pandas on Arrow", lambda table: table.to_pandas(types_mapper=pd.ArrowDtype), "at least 0.6"),
    ("polars", lambda table: pl.DataFrame(table), "at least 0.6"),
)
