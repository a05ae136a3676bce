"""Tokens that a kernel found in a stretch of bytes → columns of values, by attribute and kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.batches.arrow_columns import Leaf
from tamis.batches.arrow_types import Values, every
from tamis.batches.columns import Columns
from tamis.batches.letters import letters_of
from tamis.kernels.batches.tokens import (
    GROUPS,
    NUMBERS,
    REAL,
    REAL_TEXT,
    STRING,
    STRINGS,
    WHOLE,
    Found,
    Tokens,
    distribute,
)
from tamis.kernels.batches.values import copy_texts, read_instants
from tamis.model import Domain, Integer, Kind, Schema, Timestamp

__all__ = ["Stretch", "add_stretches", "found_room", "gather", "token_room"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

_EXACT = 2**53


class _Values(NamedTuple):
    """Values of one attribute and group: the event of each, what the token is, its data; of strings the texts."""

    rows: Ints
    kinds: Bytes
    data: Longs
    texts: pa.Array | None
    sound: npt.NDArray[np.bool_] | None
    """Which texts are sound, if not all are."""


class Stretch(NamedTuple):
    """What was found in a stretch of events."""

    size: int
    values: dict[tuple[int, int], _Values]
    """By group and the number of the attribute."""


def token_room(count: int) -> Tokens:
    """Room for so many tokens."""
    return Tokens(
        *(np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.uint8)),
        *(np.empty(count, np.int64), np.empty(count, np.int32)),
    )


def found_room(count: int) -> Found:
    """Room for so many events."""
    places = [np.empty(count, np.int64) for _ in range(3)]
    return Found(places[0], places[1], np.empty(count, np.uint8), places[2])


def gather(text: Bytes, tokens: Tokens, count: int, attributes: int, size: int) -> Stretch:
    """The first `count` tokens of `size` events, taken out of the text and of their room."""
    starts = np.zeros(GROUPS * attributes + 1, np.int64)
    sorted_tokens = token_room(count)
    distribute(tokens, count, attributes, starts, sorted_tokens)
    strings = int(starts[attributes])
    texts, sound = _texts(text, sorted_tokens, 0, strings)
    _read_reals(text, sorted_tokens, strings)
    values = {}
    for place in np.flatnonzero(np.diff(starts)).tolist():
        first, last = int(starts[place]), int(starts[place + 1])
        group, attribute = divmod(place, attributes)
        here = slice(first, last)
        of_group = (texts.slice(first, last - first), None if sound is None else sound[here])
        values[group, attribute] = _Values(
            *(sorted_tokens.row[here], sorted_tokens.kind[here], sorted_tokens.data[here]),
            *(of_group if group == STRINGS else (None, None)),
        )
    return Stretch(size, values)


def _texts(text: Bytes, tokens: Tokens, first: int, last: int) -> tuple[pa.Array, npt.NDArray[np.bool_] | None]:
    """Texts as a column, and which of them are sound, if not all are."""
    here = slice(first, last)
    offsets, sound = np.empty(last - first + 1, np.int32), np.empty(last - first, bool)
    letters = np.empty(int(tokens.size[here].sum(dtype=np.int64)) + 8, np.uint8)
    copy_texts(text, tokens.kind[here], tokens.data[here], tokens.size[here], offsets, letters, sound)
    column = pa.StringArray.from_buffers(last - first, pa.py_buffer(offsets), pa.py_buffer(letters))
    return column, None if sound.all() else sound


def _read_reals(text: Bytes, tokens: Tokens, first: int) -> None:
    """Numbers that the kernel left alone become doubles: Arrow rounds as Python does."""
    (chosen,) = np.nonzero(tokens.kind[first:] == REAL_TEXT)
    if not len(chosen):
        return
    chosen += first
    spans = token_room(len(chosen))
    spans.kind[:], spans.data[:], spans.size[:] = STRING, tokens.data[chosen], tokens.size[chosen]
    numbers = _texts(text, spans, 0, len(chosen))[0].cast(pa.float64())
    tokens.data[chosen] = numbers.to_numpy().view(np.int64)
    tokens.kind[chosen] = REAL


def add_stretches(
    columns: Columns, stretches: list[Stretch], names: tuple[str, ...], schema: Schema, *, validated: bool = False
) -> None:
    """Put the values of all stretches, one after another, among the columns."""
    places = dict.fromkeys(place for stretch in stretches for place in stretch.values)
    for group, attribute in places:
        name = names[attribute]
        values = _joined(stretches, (group, attribute))
        for rows, found in _values(group, values, schema.domain(name), columns):
            leaf = Leaf(None, rows, bool((rows[1:] != rows[:-1]).all()))
            columns.add(name, leaf, found, schema, validated=validated)


def _joined(stretches: list[Stretch], place: tuple[int, int]) -> _Values:
    if len(stretches) == 1:
        return stretches[0].values[place]
    found: list[_Values] = []
    before = 0
    for stretch in stretches:
        if place in stretch.values:
            one = stretch.values[place]
            sound = one.sound if one.sound is not None or one.texts is None else np.ones(len(one.rows), bool)
            found.append(one._replace(rows=one.rows + np.int32(before), sound=sound))
        before += stretch.size
    rows, kinds, data = (np.concatenate([one[at] for one in found]) for at in range(3))
    if found[0].texts is None:
        return _Values(rows, kinds, data, None, None)
    texts = pa.concat_arrays([one.texts for one in found])
    return _Values(rows, kinds, data, texts, np.concatenate([one.sound for one in found]))


def _values(group: int, values: _Values, domain: Domain | None, columns: Columns) -> Iterator[tuple[Ints, Values]]:
    """The values as columns, with their events; events with one that is not certain are noted."""
    if group == STRINGS:
        yield values.rows, _texts_or_instants(values, domain)
    elif group == NUMBERS:
        yield from _numbers(values, domain, columns)
    else:
        yield values.rows, Values(Kind.BOOLEAN, values.data)


def _texts_or_instants(values: _Values, domain: Domain | None) -> Values:
    sound = True if values.sound is None else values.sound
    if not isinstance(domain, Timestamp):
        return Values(Kind.STRING, values.texts, sound)
    ends, letters = letters_of(values.texts)
    instants, read = np.zeros(len(values.rows), np.int64), np.empty(len(values.rows), bool)
    read_instants(letters, ends, instants, read)
    return Values(Kind.TIMESTAMP, instants, sound & read)


def _numbers(values: _Values, domain: Domain | None, columns: Columns) -> Iterator[tuple[Ints, Values]]:
    whole = values.kinds == WHOLE
    if whole.all():
        yield values.rows, Values(Kind.NUMBER, values.data)
        return
    reals = values.data.view(np.float64)
    if isinstance(domain, Integer):  # whole numbers that were written as others are a matter for the domain
        if whole.any():
            yield values.rows[whole], Values(Kind.NUMBER, values.data[whole])
        yield values.rows[~whole], _finite(reals[~whole])
        return
    if whole.any():
        far = whole & ((values.data > _EXACT) | (values.data < -_EXACT))
        columns.certain[values.rows[far]] = False  # no double holds them
        reals = np.where(whole, values.data.astype(np.float64), reals)
    yield values.rows, _finite(reals)


def _finite(reals: npt.NDArray[np.float64]) -> Values:
    return Values(Kind.NUMBER, reals, every(np.isfinite(reals)))
