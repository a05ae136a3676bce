"""Subscriptions as users give them: pairs, or an Arrow table with columns `id` and `expression`; ids are checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.arrow_checks import check_arrow
from tamis.errors import EventError, LanguageError, LimitError, OptionError
from tamis.language.door import SUSPECT, check_new
from tamis.model import Schema, SubscriptionId
from tamis.model.values import ValueRefused, is_text, show_raw
from tamis.registry.receipts import at_row

__all__ = ["Given", "check_columns", "checked_id", "new_pairs", "pairs_of", "plain_columns"]

Given: TypeAlias = Iterable[tuple[SubscriptionId, str]] | pa.Table | pa.RecordBatch


def checked_id(id: object) -> SubscriptionId:
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise OptionError(f"expected a subscription id that is a string or an integer, found {show_raw(id)}")
    if isinstance(id, int) and id.bit_length() > 64:
        raise OptionError(f"expected a subscription id of at most 64 bits, found {show_raw(id)}")
    try:
        return is_text(id) if isinstance(id, str) else id
    except ValueRefused as error:
        raise OptionError(f"subscription id: {error}") from None


def pairs_of(given: Given) -> Iterator[tuple[SubscriptionId, str]]:
    """One after the other; an id that is none is an error that says in which row."""
    pairs: Iterable[Any] = _rows(given) if isinstance(given, pa.Table | pa.RecordBatch) else given
    for row, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise OptionError(f"row {row}: expected a pair (id, expression), found {show_raw(pair)}")
        try:
            id = checked_id(pair[0])
        except OptionError as error:
            raise OptionError(f"row {row}: {error}") from None
        yield id, pair[1]


def new_pairs(pairs: Iterable[tuple[SubscriptionId, str]], schema: Schema) -> Iterator[tuple[SubscriptionId, str]]:
    """The same, without what only stored subscriptions may say: an error tells which says it."""
    for row, (id, text) in enumerate(pairs):
        _check_row(row, id, text, schema)
        yield id, text


def check_columns(ids: pa.Array, texts: pa.Array, schema: Schema) -> None:
    """The same for columns."""
    suspect = pc.match_substring_regex(texts, SUSPECT.pattern, ignore_case=True)
    for row in pc.indices_nonzero(suspect).to_pylist() if pc.any(suspect).as_py() else ():
        _check_row(row, ids[row].as_py(), texts[row].as_py(), schema)


def _check_row(row: int, id: SubscriptionId, text: str, schema: Schema) -> None:
    try:
        check_new(text, schema)
    except (LanguageError, LimitError) as error:
        raise at_row(row, id, error) from None


def _rows(table: pa.Table | pa.RecordBatch) -> Iterable[Any]:
    if not _has_both(table):
        found = ", ".join(table.schema.names)
        raise OptionError(f"expected columns 'id' and 'expression', found {found}")
    return zip(*(column.to_pylist() for column in _both(table)), strict=True)


def plain_columns(given: Given) -> tuple[pa.Array, pa.Array] | None:
    """Ids and texts as a registry takes columns; None if they are to be looked at pair by pair."""
    if not isinstance(given, pa.Table | pa.RecordBatch) or not _has_both(given):
        return None
    ids, texts = _both(given)
    if ids.null_count or texts.null_count or not _is_string(texts.type):
        return None
    if pa.types.is_integer(ids.type) and not pa.types.is_uint64(ids.type):
        return ids.cast(pa.int64()), texts
    return (ids.cast(pa.large_string()), texts) if _is_string(ids.type) else None


def _has_both(table: pa.Table | pa.RecordBatch) -> bool:
    try:
        names = table.schema.names
    except UnicodeDecodeError as error:
        raise OptionError(f"expected columns 'id' and 'expression', found a name that is not UTF-8: {error}") from None
    return bool(names.count("id") == names.count("expression") == 1)


def _both(table: pa.Table | pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
    """Ids and expressions, looked at before any is read: a damaged column would end the process."""
    try:
        table.validate()
        both = table.select(["id", "expression"])
        check_arrow(both)
    except (EventError, pa.ArrowException) as error:
        raise OptionError(str(error)) from None
    for name, column in zip(("id", "expression"), both.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowException as error:
            raise OptionError(f"column {name!r}: {error}") from None
    return _whole(both.column(0)), _whole(both.column(1))


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.array([], column.type), *column.chunks])


def _is_string(of: pa.DataType) -> bool:
    return bool(pa.types.is_string(of) or pa.types.is_large_string(of))
