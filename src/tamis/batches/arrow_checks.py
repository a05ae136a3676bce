"""Arrow's arrays as strangers hand them over: is memory what the array says it is?

An array is a few addresses and numbers that nobody has looked at: an offset past the end of its buffer is read all the
same, and ends in foreign memory or with a signal. Arrow's own full validation finds all of these. It passes over two
things, which are looked at here: rows that take no memory at all, and values that take little but are written out many
times.

Bytes that are not UTF-8 lie where they should: they are the business of whoever reads the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import EventError, LimitError

__all__ = ["MOST_EVENTS", "MOST_UNFOLDED_BYTES", "check_arrow"]

Arrow: TypeAlias = pa.Table | pa.RecordBatch | pa.StructArray

MOST_EVENTS = 2**31 - 1
"""In one batch."""
MOST_UNFOLDED_BYTES = 1 << 30
"""What a table may take without its dictionaries and runs."""
_WITHOUT_BYTES = 1 << 20
"""Events that need not take any memory; of more, each takes a bit."""

_types = pa.types


def check_arrow(events: Arrow) -> bool:
    """Whether all text is UTF-8 as well. `EventError` names the column that is not what it says; none was read."""
    names = _names(events)
    try:
        events.validate()
    except pa.ArrowException as error:
        raise EventError(f"the Arrow data is damaged: {error}") from None
    _check_size(events)
    columns = [events] if isinstance(events, pa.StructArray) else events.columns
    unfolded, text = 0, True
    for name, column in zip(names, columns, strict=True):
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            try:
                text &= _check(chunk)
            except pa.ArrowException as error:
                raise EventError(f"the Arrow column {name!r} is damaged: {error}", attribute=name) from None
            unfolded += _unfolded(chunk)
            if unfolded > MOST_UNFOLDED_BYTES:
                raise LimitError(
                    f"the Arrow column {name!r} would take {unfolded:,} bytes with its values written out; hand over "
                    f"fewer events at once",
                    MOST_UNFOLDED_BYTES,
                    unfolded,
                )
    return text


def _names(events: Arrow) -> list[str]:
    """The columns' names, and those inside of them, can be read."""
    try:
        fields = list(events.type if isinstance(events, pa.StructArray) else events.schema)
        for field in fields:
            _read_names(field.type)
        names = [field.name for field in fields]
    except UnicodeDecodeError as error:
        raise EventError(f"the Arrow data has a column whose name is not UTF-8: {error}") from None
    return ["events"] if isinstance(events, pa.StructArray) else names


def _read_names(of: pa.DataType) -> None:
    for at in range(of.num_fields):
        inner = of.field(at)
        assert isinstance(inner.name, str)
        _read_names(inner.type)


def _check_size(events: Arrow) -> None:
    size = len(events)
    most = min(MOST_EVENTS, _WITHOUT_BYTES + 8 * _bytes_of(events)) if size > _WITHOUT_BYTES else MOST_EVENTS
    if size > most:
        raise LimitError(f"a batch of {size:,} Arrow events that take no memory has at most {most:,}", most, size)


def _bytes_of(events: Arrow) -> int:
    try:
        return int(events.nbytes)
    except pa.ArrowException:  # of arrays that are damaged, as will be told, or that Arrow cannot measure
        return int(events.get_total_buffer_size())


def _check(array: pa.Array) -> bool:
    """Whether all text is UTF-8; `ArrowException` says why the array must not be read."""
    text = True
    try:
        array.validate(full=True)
    except pa.ArrowException as error:
        array.validate()
        plain = array.view(_as_bytes(array.type))
        if plain.type == array.type:
            raise error
        plain.validate(full=True)
        text = False
    _check_lists(array)
    return text


def _as_bytes(of: pa.DataType) -> pa.DataType:
    """The type with bytes where text was."""
    if of in _BYTES:
        return _BYTES[of]
    if _types.is_struct(of):
        return pa.struct([field.with_type(_as_bytes(field.type)) for field in of])
    for is_one, make in _LISTS:
        if is_one(of):
            return make(of.value_field.with_type(_as_bytes(of.value_type)))
    return of


_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
_LISTS = ((_types.is_list, pa.list_), (_types.is_large_list, pa.large_list))


# -- what Arrow passes over ---------------------------------------------------------------------------------------


def _check_lists(array: pa.Array) -> None:
    """No lists share values, in the array or in one inside of it."""
    for node in _nodes(array) if array.type not in _FLAT else ():
        views = _types.is_list_view(node.type) or _types.is_large_list_view(node.type)
        if views and int(node.sizes.to_numpy().sum()) > len(node.values):
            raise pa.ArrowInvalid("its lists share values; cast it to plain lists")


def _nodes(array: pa.Array) -> Iterator[pa.Array]:
    """The array and those inside of it, all of which Arrow has validated."""
    yield array
    if isinstance(array, pa.ExtensionArray):
        yield from _nodes(array.storage)
        return
    for is_one, inside in _INSIDE:
        if is_one(array.type):
            for inner in inside(array):
                yield from _nodes(inner)


def _fields(array: Any) -> list[pa.Array]:
    return [array.field(at) for at in range(array.type.num_fields)]


_INSIDE: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], list[pa.Array]]], ...] = (
    (_types.is_struct, _fields),
    (_types.is_union, _fields),
    (_types.is_map, lambda array: [array.keys, array.items]),
    (_types.is_list, lambda array: [array.values]),
    (_types.is_large_list, lambda array: [array.values]),
    (_types.is_fixed_size_list, lambda array: [array.values]),
    (_types.is_list_view, lambda array: [array.values]),
    (_types.is_large_list_view, lambda array: [array.values]),
    (_types.is_dictionary, lambda array: [array.indices, array.dictionary]),
    (_types.is_run_end_encoded, lambda array: [array.values]),
)


def _unfolded(array: pa.Array) -> int:
    """Bytes that come to be where values are written out, of dictionaries, runs and views; others take what they do."""
    return sum(_written_out(node) for node in _nodes(array)) if array.type not in _FLAT else 0


_FLAT = {pa.string(), pa.large_string(), pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64()}


def _written_out(node: pa.Array) -> int:
    if _types.is_dictionary(node.type):
        lengths = _lengths(node.dictionary)
        if not len(lengths):
            return 0
        times = np.bincount(node.indices.drop_null().to_numpy(zero_copy_only=False), minlength=len(lengths))
        return int((times * lengths).sum())
    if _types.is_run_end_encoded(node.type):
        return len(node) * int(_lengths(node.values).max(initial=0))
    if node.type in (pa.string_view(), pa.binary_view()):
        return int(_lengths(node).sum())
    return 0


def _lengths(values: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """About how many bytes each value takes; of values with others inside, all of them together."""
    of = values.type
    if of in (pa.string_view(), pa.binary_view()):
        last = values.offset + len(values)
        views = np.frombuffer(values.buffers()[1], np.int32, 4 * last)[::4] if len(values) else np.empty(0, np.int32)
        return views[values.offset :].astype(np.int64)
    if of in _BYTES or of in _BYTES.values():
        return pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    whole = 32 if of.num_fields == 0 and not _types.is_dictionary(of) else 32 + int(values.get_total_buffer_size())
    return np.full(len(values), whole, np.int64)
