"""A table has every field of a named tuple, under its name, whatever their order."""

from __future__ import annotations

from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple, get_type_hints

import numba
import numpy as np
import pytest

from tamis.kernels.memory import Field, Grid, Table, fields_of, place_of, reader_of, table_of
from tamis.kernels.segments.one_table import STALE, Single, match_one

FIELDS = {field.path: field for field in fields_of(Single)}

_single_at = reader_of(Single)


@numba.njit
def read(table: Table) -> Any:
    """Not for programs: decision 0008 says why. Not kept on disk either, where it would outlive the fields."""
    return _single_at(table)


def filled(kind: type, numbers: count[int], path: str = "") -> Any:
    """A named tuple with something else in each field."""
    parts = []
    for name, hint in get_type_hints(kind).items():
        field = FIELDS.get(path + name)
        parts.append(filled(hint, numbers, f"{path}{name}.") if field is None else content(field, next(numbers)))
    return kind(*parts)


def content(field: Field, number: int) -> Any:
    if field.dimensions == 0:
        return number
    array = np.arange(number, 2 * number, dtype=field.item)
    return array if field.dimensions == 1 else array.reshape(1, -1)


def test_a_table_gives_every_field_back_by_its_name() -> None:
    single = filled(Single, count(1))

    found = read(table_of(single))

    assert [path for path in FIELDS if path.startswith("parts.blocks.")][:2] == [
        "parts.blocks.start",
        "parts.blocks.column",
    ]
    for path, field in FIELDS.items():
        expected, got = np.asarray(attrgetter(path)(single)), np.asarray(attrgetter(path)(found))
        assert got.dtype == field.item, path
        assert got.shape == expected.shape, path
        assert (got == expected).all(), path


def test_a_place_is_where_the_address_is() -> None:
    single = filled(Single, count(1))
    table = table_of(single)

    assert table[place_of(Single, "parts.places.alive")] == single.parts.places.alive.ctypes.data
    assert table[place_of(Single, "parts.places.any_dead")] == single.parts.places.any_dead


class Before(NamedTuple):
    first: Grid
    second: int


class After(NamedTuple):
    added: int
    second: int
    first: Grid


def test_another_order_of_fields_is_another_table_with_the_same_names() -> None:
    grid = np.array([[1, 2, 3]], np.int32)

    assert table_of(Before(grid, 7)).tolist() == [grid.ctypes.data, 3, 7, 0]
    assert table_of(After(8, 7, grid)).tolist() == [8, 0, 7, 0, grid.ctypes.data, 3]


@pytest.mark.parametrize("wrong", [np.zeros((1, 2), np.int64), np.zeros(2, np.int32), np.zeros((2, 2), np.int32)])
def test_an_array_of_another_type_or_shape_is_refused(wrong: Any) -> None:
    with pytest.raises(AssertionError, match="first is not what its class says"):
        table_of(Before(wrong, 1))


def test_a_table_made_for_other_fields_is_not_read() -> None:
    assert match_one(table_of(filled(Single, count(1)))) == STALE
