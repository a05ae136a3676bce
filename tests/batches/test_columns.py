"""Events as Arrow columns are the same events as mappings, whatever the column's type, nulls, chunks and slices."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis import LimitError, Schema
from tamis.batches.batch import Batch, batch_of_events
from tamis.batches.edge import read_batch
from tamis.model import Boolean, Integer, Number, String
from tamis.model.events import MAX_DEPTH, MAX_VALUES
from tamis.model.schema import Attribute

SCHEMA = Schema(
    attributes={
        "n": Attribute("n", Integer(-100, 100)),
        "x": Attribute("x", Number()),
        "s": Attribute("s", String()),
        "b": Attribute("b", Boolean()),
    }
)
COLUMNS: dict[str, tuple[str, pa.DataType, list[object]]] = {
    "whole numbers": ("n", pa.int64(), [3, None, -5, 0, None, 100]),
    "short whole numbers": ("n", pa.int8(), [3, None, -5, 0, None, 100]),
    "unsigned": ("x", pa.uint16(), [3, None, 5, 0, None, 65535]),
    "no nulls": ("n", pa.int32(), [3, 1, -5, 0, 7, 100]),
    "reals": ("x", pa.float64(), [0.5, None, -1e300, 0.0, None, 2.0]),
    "short reals": ("x", pa.float32(), [0.5, None, -1.25, 0.0, None, 2.0]),
    "strings": ("s", pa.string(), ["é", None, "", "abc", None, "z" * 30]),
    "large strings": ("s", pa.large_string(), ["é", None, "", "abc", None, "z" * 30]),
    "repeated strings": ("s", pa.dictionary(pa.int8(), pa.string()), ["a", None, "", "a", None, "b"]),
    "booleans": ("b", pa.bool_(), [True, None, False, True, None, False]),
    "lists of strings": ("s", pa.list_(pa.string()), [["a", None, "b"], None, [], ["c"], [None], ["a", "a"]]),
    "lists of numbers": ("n", pa.large_list(pa.int64()), [[1, None, 2], None, [], [3], [None], [4, 4]]),
    "nothing": ("s", pa.string(), [None] * 6),
}


def values(batch: Batch) -> list[tuple[str, int, int, object]]:
    return sorted(
        (name, int(row), int(part.kind), value)
        for name, parts in batch.parts.items()
        for part in parts
        for row, value in zip(part.rows.tolist(), part.values.tolist(), strict=True)
    )


def of_mappings(table: pa.Table) -> Batch:
    rows = [{name: _without_nulls(value) for name, value in row.items()} for row in table.to_pylist()]
    return batch_of_events([SCHEMA.event(row) for row in rows])


def _without_nulls(value: object) -> object:
    return [one for one in value if one is not None] if isinstance(value, list) else value


@pytest.fixture(params=COLUMNS)
def table(request: pytest.FixtureRequest) -> pa.Table:
    name, of, listed = COLUMNS[request.param]
    return pa.table({name: pa.array(listed, of)})


def distinct(found: list[tuple[str, int, int, object]]) -> list[tuple[str, int, int, object]]:
    return sorted(set(found))  # an event has a value once, a list may repeat it


def test_a_column_has_the_values_of_its_rows(table: pa.Table) -> None:
    chunks = pa.concat_tables([table.slice(0, 2), table.slice(2, 3), table.slice(5)])

    for one in (table, table.slice(2), table.slice(1, 3), table.slice(6), chunks):
        assert distinct(values(read_batch(one, SCHEMA))) == distinct(values(of_mappings(one)))


@pytest.mark.parametrize("chosen", [[], [0], [1, 4], [0, 2, 3, 5], [0, 1, 2, 3, 4, 5]])
def test_some_events_of_a_batch_are_the_batch_of_these_events(table: pa.Table, chosen: list[int]) -> None:
    rows = pa.array(chosen, pa.int64())
    few = table.take(rows)

    for batch in (read_batch(table, SCHEMA), of_mappings(table)):
        selected = batch.select(rows.to_numpy())
        assert distinct(values(selected)) == distinct(values(of_mappings(few)))
        assert [selected.event(at) for at in range(len(chosen))] == [batch.event(row) for row in chosen]
        half = selected.select(np.arange(len(chosen) // 2))
        assert [half.event(at) for at in range(half.size)] == [batch.event(row) for row in chosen[: half.size]]


def _of_buffers(of: pa.DataType, ends_or_values: list[int], kind: type, *data: bytes, null: bool = True) -> pa.Array:
    """Two entries, the second of them null, over a buffer that does not end where an entry does."""
    held = pa.py_buffer(np.array(ends_or_values, kind).tobytes() + b"+")
    return pa.Array.from_buffers(of, 2, [pa.py_buffer(b"\1") if null else None, held, *map(pa.py_buffer, data)])


def _in_chunks(*pairs: tuple[list[int | None], list[object]]) -> pa.ChunkedArray:
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(pa.array(at, pa.int8()), pa.array(held)) for at, held in pairs]
    )


NULL_LISTS = pa.ListArray.from_arrays([0, 2, 4, 5], pa.array([1, 2, 3, 4, 9]), mask=pa.array([False, True, False]))
UNUSUAL: dict[str, tuple[str, pa.Array | pa.ChunkedArray]] = {
    "null lists with values": ("n", NULL_LISTS),
    "null large lists with values": ("n", NULL_LISTS.cast(pa.large_list(pa.int64()))),
    "dictionaries that hold a null": ("s", _in_chunks(([0, 1, None], ["a", None]), ([1, 0], ["b", "a"]))),
    "dictionaries too large together": (
        "s", _in_chunks(*((list(range(100)), [f"{chunk}-{at}" for at in range(100)]) for chunk in range(2))),
    ),
    "dictionaries of lists": ("n", _in_chunks(([0, 1], [[1], [2]]), ([0, None], [[3, 4]]))),
    "a buffer of numbers with an odd end": ("n", _of_buffers(pa.int64(), [5, 6], np.int64)),
    "a buffer of ends with an odd end": ("s", _of_buffers(pa.string(), [0, 1, 2], np.int32, b"ab")),
    "no nulls and an odd end": ("s", _of_buffers(pa.string(), [0, 1, 2], np.int32, b"ab", null=False)),
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_lies_unused_in_a_column_is_nobodys_value(name: str) -> None:
    attribute, column = UNUSUAL[name]
    table = pa.table({attribute: column})

    for one in (table, table.slice(1), table.slice(1, 1)):
        assert distinct(values(read_batch(one, SCHEMA))) == distinct(values(of_mappings(one)))


def test_lists_within_a_null_struct_are_nobodys_values() -> None:
    schema = Schema(open=True)
    structs = pa.StructArray.from_arrays([pa.array([[1], [2], [3]])], names=["n"], mask=pa.array([False, True, False]))

    for one in (structs, structs.slice(1)):
        (part,) = read_batch(pa.table({"of": one}), schema).parts["of.n"]
        assert dict(zip(part.rows.tolist(), part.values.tolist(), strict=True)) == {
            row: found["n"][0] for row, found in enumerate(one.to_pylist()) if found is not None
        }


def test_one_long_list_among_many_events_is_too_long() -> None:
    long = pa.array([[1] * (MAX_VALUES + 1), *([None] * (MAX_VALUES + 1))], pa.list_(pa.int64()))

    with pytest.raises(LimitError, match=r"event 0: expected at most 100,000 values in one event"):
        read_batch(pa.table({"n": long}), SCHEMA)


@pytest.mark.parametrize("more", [0, 1])
def test_structs_have_the_depth_of_mappings(more: int) -> None:
    found: object = 1
    for _ in range(MAX_DEPTH + more):
        found = {"of": found}
    table = pa.Table.from_pylist([{"a": found}])

    if more:
        with pytest.raises(LimitError, match=r"event 0: expected at most 32 objects inside one another"):
            read_batch(table, Schema(open=True))
    else:
        assert read_batch(table, Schema(open=True)).size == 1
