"""Which events of a batch keep the views of their types? By the column: R1, the counts of R2, and R3.

The check is sound, not complete: an event that it passes has types, all mandatory attributes of each, none that no type
of it uses, and no two values where every type that uses an attribute wants one. Whatever it does not pass is put to
`Schema.event`, which alone decides. No view of several types is made: each type speaks for its own events in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.model import Schema, View

__all__ = ["Types", "keep_views", "only_type"]

Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

_MOST_TYPES = 8
"""Types per event, on average; more are looked at event by event, as columns would be looked at for each of them."""


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
    not among them. Costs a look at the types for each attribute; with very many types per event nothing is certain.
    """
    if len(types.rows) > _MOST_TYPES * size:
        return np.zeros(size, bool)
    encoded = types.names.dictionary_encode()
    names, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
    views = [schema.view((name,) if name in schema.event_types else ()) for name in names]
    declared = np.array([bool(view.event_types) for view in views], bool)
    has = {name: _mask(rows, size) for name, rows in given.items()}
    good = _mask(types.rows, size)
    good[types.rows[~declared[codes]]] = False
    for view, rows in zip(views, _by_code(codes, types.rows, len(views)), strict=True):
        good[rows] &= _have_all(view.mandatory, has, rows)
    for name, rows in given.items():
        used, several = _uses(views, name, codes[has[name][types.rows]])
        good &= ~has[name] | _mask(types.rows[used[codes]], size)
        repeated = rows[1:][rows[1:] == rows[:-1]]
        if len(repeated):
            good[repeated] &= _mask(types.rows[several[codes]], size)[repeated]
    return good


def _mask(rows: Ints, size: int) -> Mask:
    found = np.zeros(size, bool)
    found[rows] = True
    return found


def _by_code(codes: Ints, rows: Ints, count: int) -> list[Ints]:
    """The events of each type."""
    order = codes.argsort(kind="stable")
    return np.split(rows[order], np.searchsorted(codes[order], np.arange(1, count))) if count else []


def _have_all(mandatory: frozenset[str], has: Mapping[str, Mask], rows: Ints) -> Mask:
    found = np.ones(len(rows), bool)
    if not has.keys() >= mandatory:
        return ~found
    for name in mandatory:
        found &= has[name][rows]
    return found


def _uses(views: list[View], name: str, codes: Ints) -> tuple[Mask, Mask]:
    """Per type, of those whose events have the attribute: does it use it, and may there be several values?"""
    used, several = np.zeros(len(views), bool), np.zeros(len(views), bool)
    for code in np.flatnonzero(np.bincount(codes, minlength=len(views))).tolist():
        use = views[code].uses.get(name)
        used[code] = use is not None
        several[code] = use is not None and use.multiple
    return used, several
