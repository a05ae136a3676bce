"""Subscriptions as users give them: pairs, mappings, a dictionary, or columns of Arrow or a frame; ids are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.arrow_checks import check_arrow
from tamis.batches.arrow_columns import whole
from tamis.batches.frames import Frame, as_table, mixed_rows
from tamis.batches.refusals import OnError, Refusals, Refused, refused
from tamis.errors import EventError, LanguageError, LimitError, OptionError
from tamis.language.door import SUSPECT, check_new
from tamis.model import Schema, SubscriptionId
from tamis.model.values import ValueRefused, is_text, show_raw
from tamis.registry.protocol import Registry
from tamis.registry.receipts import Receipt, Unreadable

__all__ = ["Subscribing", "checked_id", "subscribe_given"]

Pair: TypeAlias = tuple[SubscriptionId, str]
Subscribing: TypeAlias = (
    Iterable[Pair] | Iterable[Mapping[str, object]] | Mapping[SubscriptionId, str] | pa.Table | pa.RecordBatch | Frame
)

_BOTH = ("id", "expression")
_Barred: TypeAlias = tuple[int, SubscriptionId, LanguageError | LimitError]
"""A text that may not be subscribed: its row, its id and why."""


def subscribe_given(registry: Registry, schema: Schema | None, given: Subscribing, on_error: OnError) -> Receipt:
    """All of them or, if some are refused, none; unless `on_error` says to go on without those.

    New texts are held against what a `schema` still lets them say; without one they were stored, and right once.
    """
    table = as_table(given)
    columns = None if table is None else _plain_columns(table)
    if columns is not None:
        ids, texts = columns
        return _subscribe(
            lambda kept: registry.subscribe_columns(*_taken(ids, texts, kept)),
            len(ids),
            on_error,
            [] if schema is None else _barred_in_columns(ids, texts, schema),
        )
    errors: list[Refused] = []
    rows, pairs = [], []
    for row, pair in enumerate(_pairs(given) if table is None else _rows(table)):
        try:
            pairs.append(_checked(pair))
            rows.append(row)
        except OptionError as error:
            if on_error == "raise":
                raise OptionError(f"row {row}: {error}") from None
            errors.append(refused(row, None, error))
    receipt = _subscribe(
        lambda kept: registry.subscribe_many(pairs if kept is None else [pairs[at] for at in kept]),
        len(rows),
        on_error,
        [] if schema is None else _barred(((at, *pair) for at, pair in enumerate(pairs)), schema),
    )
    found = [one._replace(row=rows[one.row]) for one in receipt.errors]
    return receipt._replace(errors=Refusals(sorted([*errors, *found]) if on_error == "collect" else ()))


def _subscribe(
    subscribe: Callable[[list[int] | None], Receipt], count: int, on_error: OnError, barred: list[_Barred]
) -> Receipt:
    """`subscribe` is told which rows to take, None for all; those that are `barred` are not among them."""
    refusals = barred
    while True:
        if refusals and on_error == "raise":
            raise Unreadable(refusals).first() from None
        kept = np.setdiff1d(np.arange(count), [row for row, _, _ in refusals]).tolist() if refusals else None
        try:
            receipt = subscribe(kept)
        except Unreadable as unreadable:
            found = [(row if kept is None else kept[row], id, error) for row, id, error in unreadable.rows]
            refusals = sorted([*refusals, *found], key=lambda one: one[0])
        else:
            return receipt._replace(errors=Refusals(refused(*one) for one in refusals if on_error == "collect"))


def _barred(given: Iterable[tuple[int, SubscriptionId, str]], schema: Schema) -> list[_Barred]:
    """Rows with what only stored subscriptions may say."""
    found: list[_Barred] = []
    for row, id, text in given:
        try:
            check_new(text, schema)
        except (LanguageError, LimitError) as error:
            found.append((row, id, error))
    return found


def _barred_in_columns(ids: pa.Array, texts: pa.Array, schema: Schema) -> list[_Barred]:
    suspect = pc.indices_nonzero(pc.match_substring_regex(texts, SUSPECT.pattern, ignore_case=True))
    return _barred(((row, ids[row].as_py(), texts[row].as_py()) for row in suspect.to_pylist()), schema)


def _taken(ids: pa.Array, texts: pa.Array, kept: list[int] | None) -> tuple[pa.Array, pa.Array]:
    return (ids, texts) if kept is None else (ids.take(pa.array(kept)), texts.take(pa.array(kept)))


# -- one by one ---------------------------------------------------------------------------------------------------


def checked_id(id: object) -> SubscriptionId:
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise OptionError(f"expected a subscription id that is a string or an integer, found {show_raw(id)}")
    if isinstance(id, int) and id.bit_length() > 64:
        raise OptionError(f"expected a subscription id of at most 64 bits, found {show_raw(id)}")
    try:
        return is_text(id) if isinstance(id, str) else id
    except ValueRefused as error:
        raise OptionError(f"subscription id: {error}") from None


def _pairs(given: Any) -> Iterator[Any]:
    if isinstance(given, Mapping):
        return iter(given.items())
    rows = mixed_rows(given)
    if rows is None and (isinstance(given, str | bytes) or not isinstance(given, Iterable)):
        raise OptionError(f"expected pairs (id, expression), a dictionary, a table or a frame, found {show_raw(given)}")
    return iter(given if rows is None else rows)


def _checked(pair: Any) -> Pair:
    if isinstance(pair, Mapping) and pair.keys() >= set(_BOTH):
        pair = pair["id"], pair["expression"]
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise OptionError(f"expected a pair (id, expression), found {show_raw(pair)}")
    return checked_id(pair[0]), pair[1]


# -- columns ------------------------------------------------------------------------------------------------------


def _rows(table: pa.Table) -> Iterator[Any]:
    if not _has_both(table):
        found = ", ".join(table.schema.names)
        raise OptionError(f"expected columns 'id' and 'expression', found {found}")
    return zip(*(column.to_pylist() for column in _both(table)), strict=True)


def _plain_columns(table: pa.Table) -> tuple[pa.Array, pa.Array] | None:
    """Ids and texts as a registry takes columns; None if they are to be looked at pair by pair."""
    if not _has_both(table):
        return None
    ids, texts = _both(table)
    if ids.null_count or texts.null_count or not _is_string(texts.type):
        return None
    if pa.types.is_integer(ids.type) and not pa.types.is_uint64(ids.type):
        return ids.cast(pa.int64()), texts
    return (ids.cast(pa.large_string()), texts) if _is_string(ids.type) else None


def _has_both(table: pa.Table) -> bool:
    try:
        names = table.schema.names
    except UnicodeDecodeError as error:
        raise OptionError(f"expected columns 'id' and 'expression', found a name that is not UTF-8: {error}") from None
    return all(names.count(name) == 1 for name in _BOTH)


def _both(table: pa.Table) -> list[pa.Array]:
    """Ids and expressions, looked at before any is read: a damaged column would end the process."""
    try:
        table.validate()
        both = table.select(list(_BOTH))
        check_arrow(both)
    except (EventError, pa.ArrowException) as error:
        raise OptionError(str(error)) from None
    for name, column in zip(_BOTH, both.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowException as error:
            raise OptionError(f"column {name!r}: {error}") from None
    return [_plain(whole(column)) for column in both.columns]


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_string()) if column.type == pa.string_view() else column


def _is_string(of: pa.DataType) -> bool:
    return bool(pa.types.is_string(of) or pa.types.is_large_string(of))
