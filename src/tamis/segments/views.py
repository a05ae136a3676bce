"""Which events of a batch keep the views of their types? By the column: R1, the counts of R2, and R3.

The check is sound, not complete: an event that it passes has types, all mandatory attributes of each, none that no type
of it uses, and no two values where every type that uses an attribute wants one. Whatever it does not pass is put to
`Schema.event`, which alone decides. No view of several types is made: each type speaks for its own events in turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.model import Schema

__all__ = ["Types", "keep_views", "only_type"]

Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


class Types(NamedTuple):
    """The types of events; `rows` are the events, repeated where one has several types."""

    rows: Ints
    names: pa.Array


def only_type(schema: Schema, size: int) -> Types | None:
    """Where a schema has a single event type every event has it, named or not."""
    if len(schema.event_types) != 1:
        return None
    named = pa.DictionaryArray.from_arrays(np.zeros(size, np.int32), pa.array(schema.event_types, pa.string()))
    return Types(np.arange(size, dtype=np.int32), named)


def keep_views(schema: Schema, size: int, given: Mapping[str, Ints], types: Types) -> Mask:
    """True for events that certainly keep their view.

    `given` has the rows of each attribute's values, ascending, repeated where an event has several; `event_type` is
    not among them. Costs what the batch has: where types and attributes have more pairs than that, nothing is certain.
    """
    encoded = types.names.dictionary_encode()
    if len(encoded.dictionary) * len(given) > len(types.rows) + sum(map(len, given.values())):
        return np.zeros(size, bool)
    good = _mask(types.rows, size)
    has = {name: _mask(rows, size) for name, rows in given.items()}
    used = {name: np.zeros(size, bool) for name in given}
    several = {name: np.zeros(size, bool) for name in given}
    for event_type, rows in _by_type(encoded, types.rows):
        if event_type not in schema.event_types:
            good[rows] = False
            continue
        view = schema.view((event_type,))
        good[rows] &= _have_all(view.mandatory, has, rows)
        for name in view.uses.keys() & given.keys():
            used[name][rows] = True
            several[name][rows] |= view.uses[name].multiple
    for name, rows in given.items():
        good &= used[name] | ~has[name]
        repeated = rows[1:][rows[1:] == rows[:-1]]
        good[repeated] &= several[name][repeated]
    return good


def _mask(rows: Ints, size: int) -> Mask:
    found = np.zeros(size, bool)
    found[rows] = True
    return found


def _by_type(encoded: pa.DictionaryArray, rows: Ints) -> Iterator[tuple[str, Ints]]:
    """Each type with the events that have it."""
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    order = codes.argsort(kind="stable")
    ends = np.searchsorted(codes[order], np.arange(1, len(encoded.dictionary)))
    yield from zip(encoded.dictionary.to_pylist(), np.split(rows[order], ends), strict=True)


def _have_all(mandatory: frozenset[str], has: Mapping[str, Mask], rows: Ints) -> Mask:
    found = np.ones(len(rows), bool)
    if not has.keys() >= mandatory:
        return ~found
    for name in mandatory:
        found &= has[name][rows]
    return found
