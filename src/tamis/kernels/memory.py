"""Named tuples of arrays by address: handing a kernel forty arrays costs more than most single events take it to match.

A *table* is an int64 array with two places for each field of a named tuple and of those inside it, in their order: the
address and the length of an array, or a number and nothing. Which field is where, and of which type, is read off the
class, by who fills a table and by who reads one. Whoever fills one keeps the arrays alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
from numba import types
from numba.core import config
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

__all__ = ["Field", "Grid", "Table", "fields_of", "place_of", "reader_of", "table_of"]

Table = npt.NDArray[np.int64]
Grid = np.ndarray[tuple[int, int], np.dtype[np.int32]]
"""An array of two dimensions; in a table, of one row."""

_T = TypeVar("_T")


class Field(NamedTuple):
    """A field that is no tuple itself. `dimensions` is 0 for a number."""

    place: int  # in the table: of an array's address, or of the number
    path: str  # as in `parts.blocks.bits`
    dimensions: int
    item: np.dtype[Any]


@cache
def fields_of(kind: type) -> tuple[Field, ...]:
    """The fields of a named tuple and of those inside it, in order."""
    found: list[Field] = []

    def add(path: str, hint: Any) -> None:
        shape, of = get_args(hint) or (None, None)
        dimensions = 0 if hint is int else 2 if get_args(shape) == (int, int) else 1
        item = np.dtype(np.int64 if hint is int else get_args(of)[0])
        found.append(Field(2 * len(found), path, dimensions, item))

    _walk(kind, add, lambda kind, parts: None)
    return tuple(found)


_hints = cache(get_type_hints)


def _walk(kind: type, leaf: Callable[[str, Any], _T], join: Callable[[type, list[_T]], _T], path: str = "") -> _T:
    """Join what `leaf` makes of the fields and their types, from within outwards."""
    parts: list[_T] = []
    for name, hint in _hints(kind).items():
        inner = isinstance(hint, type) and issubclass(hint, tuple)
        parts.append(_walk(hint, leaf, join, f"{path}{name}.") if inner else leaf(path + name, hint))
    return join(kind, parts)


def place_of(kind: type, path: str) -> int:
    """Where in a table the address of an array is, or a number."""
    return next(field.place for field in fields_of(kind) if field.path == path)


def table_of(filled: tuple[Any, ...]) -> Table:
    """The table of a named tuple."""
    table = np.zeros(2 * len(fields_of(type(filled))), np.int64)
    for place, path, dimensions, item in fields_of(type(filled)):
        found = attrgetter(path)(filled)
        if dimensions == 0:
            table[place] = found
        else:
            fits = found.dtype == item and found.ndim == dimensions and (dimensions == 1 or len(found) == 1)
            assert fits, f"{path} is not what its class says"
            assert found.flags.c_contiguous, f"{path} lies scattered"
            table[place : place + 2] = found.ctypes.data, found.size
    return table


if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set from the environment

    def reader_of(kind: type) -> Any:
        """For kernels: a function that makes of a table the named tuple that it was made of."""
        fields = {field.path: field for field in fields_of(kind)}

        def read(table: Table) -> Any:
            return _walk(kind, lambda path, _: _view(table, fields[path]), lambda kind, parts: kind(*parts))

        return read

    def _view(table: Table, field: Field) -> Any:
        start, length = int(table[field.place]), int(table[field.place + 1])
        if field.dimensions == 0:
            return start
        buffer: Any = (ctypes.c_uint8 * (length * field.item.itemsize)).from_address(start) if length else b""
        flat = np.frombuffer(buffer, field.item)
        return flat if field.dimensions == 1 else flat.reshape(1, length)

else:

    def reader_of(kind: type) -> Any:
        """For kernels: a function that makes of a table the named tuple that it was made of."""
        fields = {field.path: field for field in fields_of(kind)}
        result = _walk(kind, lambda path, _: _type_of(fields[path]), lambda kind, parts: _tuple_of(parts, kind))

        @intrinsic
        def read(context: Any, table: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                start = context.make_array(signature.args[0])(context, builder, arguments[0]).data

                def join(kind: type, parts: list[Any]) -> Any:
                    values = [value for _, value in parts]
                    of = _tuple_of([of for of, _ in parts], kind)
                    return of, context.make_tuple(builder, of, values)

                return _walk(kind, lambda path, _: _load(context, builder, start, fields[path]), join)[1]

            return result(table), generate

        return read

    def _tuple_of(parts: list[Any], kind: type) -> Any:
        return types.BaseTuple.from_types(parts, kind)  # type: ignore[no-untyped-call]

    def _type_of(field: Field) -> Any:
        item = from_dtype(field.item)
        return types.Array(item, field.dimensions, "C") if field.dimensions else item

    def _load(context: Any, builder: Any, start: Any, field: Field) -> tuple[Any, Any]:
        """The type and the value of a field. As `numba.carray` does it, but that one wants memory management."""
        from numba.np.arrayobj import populate_array

        of = _type_of(field)
        first, length = (
            builder.load(builder.gep(start, [context.get_constant(types.intp, field.place + part)]))
            for part in range(2)
        )
        if field.dimensions == 0:
            return of, first
        size, one = context.get_constant(types.intp, field.item.itemsize), context.get_constant(types.intp, 1)
        array = context.make_array(of)(context, builder)
        populate_array(  # type: ignore[no-untyped-call]
            array,
            data=builder.inttoptr(first, array.data.type),
            shape=[length] if field.dimensions == 1 else [one, length],
            strides=[size] if field.dimensions == 1 else [builder.mul(size, length), size],
            itemsize=size,
            meminfo=None,
        )
        return of, array._getvalue()
