"""Whatever holds columns → Arrow: tables, frames of pandas, polars and DuckDB, all that speaks Arrow's C interface.

pandas writes NaN for a number that is missing, so its NaN is missing here, as is `None`, `NaT` and `pd.NA`; elsewhere
NaN is a number that is none, and refused. The index of a frame is no attribute.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import EventError, OptionError

__all__ = ["Columns", "Frame", "as_arrow", "as_table", "batches_of", "mixed_rows"]

Columns: TypeAlias = pa.Table | pa.StructArray


class Frame(Protocol):
    """What holds columns and can give them to Arrow, such as a frame of pandas or polars or a relation of DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


def as_arrow(given: object) -> Columns | None:
    """A table, or a column of structs; None if it holds no columns."""
    return given if isinstance(given, pa.StructArray) else as_table(given)


def as_table(given: object) -> pa.Table | None:
    """A table, if it is one or holds one; None if not."""
    if isinstance(given, pa.Table):
        return _without_index(given)
    if isinstance(given, pa.RecordBatch):
        return _without_index(pa.table(given))
    if _is_pandas(given):
        return _of_pandas(given)
    if hasattr(given, "__arrow_c_stream__"):
        return _imported(given, lambda: pa.RecordBatchReader.from_stream(given).read_all())
    if hasattr(given, "__arrow_c_array__"):
        return _imported(given, lambda: pa.table(pa.record_batch(given)))
    return None


def batches_of(given: object) -> Iterator[pa.Table] | None:
    """The pieces of a stream, as they come; None if it is none, or is whole already."""
    if isinstance(given, pa.Table | pa.RecordBatch | pa.Array) or _is_pandas(given):
        return None
    if not hasattr(given, "__arrow_c_stream__"):
        return None
    reader = _imported(given, lambda: pa.RecordBatchReader.from_stream(given))
    return (_without_index(pa.table(batch)) for batch in reader)


def _imported(given: object, read: Any) -> Any:
    try:
        return read()
    except (pa.ArrowException, TypeError, ValueError) as error:
        name = type(given).__name__
        raise OptionError(f"expected columns with names, found a {name} that Arrow cannot read so: {error}") from None


# -- pandas -------------------------------------------------------------------------------------------------------


def _is_pandas(given: object) -> bool:
    """Nobody has a frame of pandas who has not imported it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, getattr(pandas, "DataFrame", ()))


def _of_pandas(frame: Any) -> pa.Table | None:
    """None where a column of objects is of no one type: its rows are to be looked at one by one."""
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise EventError(f"the frame has two columns called {twice!r}", attribute=str(twice))
    try:
        columns = [pa.array(frame[name], from_pandas=True) for name in frame.columns]
    except (pa.ArrowException, ValueError, TypeError):
        return None
    table = pa.Table.from_arrays(columns, [str(name) for name in frame.columns])
    for at, column in enumerate(table.columns):
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():  # pandas' own types for Arrow
            missing = pa.scalar(None, column.type)
            table = table.set_column(at, table.field(at), pc.if_else(pc.is_nan(column), missing, column))
    return table


def mixed_rows(frame: Any) -> list[dict[str, object]] | None:
    """The rows of a frame of pandas that no table can hold, without what is missing; None of anything else."""
    if not _is_pandas(frame):
        return None
    there = frame.notna()
    missing = {name: (~there[name]).to_numpy() for name in frame.columns}
    rows: list[dict[str, object]] = frame.to_dict("records")
    for name, gone in missing.items():
        for row in gone.nonzero()[0].tolist():
            rows[row].pop(name, None)
    return rows


def _without_index(table: pa.Table) -> pa.Table:
    """Without the index that pandas left in a file of Parquet, for one, as columns of its own."""
    noted = (table.schema.metadata or {}).get(b"pandas")
    if noted is None or not any(map(_UNNAMED_INDEX.fullmatch, table.column_names)):
        return table
    try:
        index = json.loads(noted).get("index_columns", [])
    except (ValueError, AttributeError):
        return table
    drop = [name for name in table.column_names if name in index and _UNNAMED_INDEX.fullmatch(name)]
    return table.drop_columns(drop) if drop else table
