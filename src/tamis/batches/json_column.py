"""A column of JSON texts, an event in each → a batch of columns.

The texts become lines for the kernel of `json_bytes`; an end of line within one becomes another sign that is space
between values as well, and as wrong in a string. What the kernel is not certain about, or finds wrong, is a matter for
whoever reads that row on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.batches.asking import Raw, Refuse, ask
from tamis.batches.batch import Batch
from tamis.batches.columns import Accepted, Columns
from tamis.batches.json_bytes import JsonText, Reading
from tamis.batches.plans import PlanOf
from tamis.batches.token_columns import Stretch, add_stretches
from tamis.batches.whole import ReadWhenAsked
from tamis.kernels.batches.tokens import SOUND
from tamis.model import Schema
from tamis.model.names import Used

__all__ = ["JsonColumn", "read_json_column"]

Mask = npt.NDArray[np.bool_]

_NO_EVENT = b"0"
"""Sound JSON that no event can be."""


class JsonColumn(NamedTuple):
    """Texts, null where there is none to be read as it stands; `raw` is the event of a row, as it came."""

    texts: pa.Array
    raw: Callable[[int], Raw]
    beside: str
    """A name within the events that is not one of their attributes."""


def read_json_column(
    events: JsonColumn, schema: Schema, refuse: Refuse, *, used: Used | None, validated: bool = False
) -> Batch:
    """The accepted events, in order; only what is `used` of them, where that is given."""
    wanted = schema.every if used is None else used
    plan = _plan(wanted, events.beside, strict=not schema.open and not validated)
    columns = Columns(np.zeros(len(events.texts), bool))
    if plan.whole and len(events.texts):
        found = _read(events.texts, plan)
        columns.certain = found.states == SOUND
        stretches = [_without(one, plan.names.index(events.beside)) for one in found.stretches]
        add_stretches(columns, stretches, plan.names, schema, validated=validated)
        columns.check(schema, validated=validated)

    def asked(good: Mask) -> Accepted:
        doubtful = np.flatnonzero(~good).tolist()
        return dict(ask(((row, events.raw(row)) for row in doubtful), schema, refuse, validated=validated, used=used))

    return columns.batch(asked, lambda known: ReadWhenAsked(events.raw, schema, used, known))


@lru_cache(64)
def _plan(used: Used, beside: str, *, strict: bool) -> PlanOf:
    """With the name that is no attribute, so that the kernel knows it; what lies within it is read by somebody else."""
    plan = PlanOf(Used.of({*used.names, beside}), strict=strict)
    plan.whole &= beside not in used.inside
    return plan


def _read(texts: pa.Array, plan: PlanOf) -> Reading:
    """An event for each text."""
    plain = texts.cast(pa.large_binary()).fill_null(_NO_EVENT)
    if pc.any(pc.match_substring(plain, "\n")).as_py():
        plain = pc.replace_substring(plain, "\n", "\r")
    found = _read_lines(plain, plan)
    if len(found.states) < len(texts):  # a blank text is a line, and no event
        ends = np.cumsum(pc.binary_length(plain).to_numpy() + 1)
        blank = np.ones(len(texts), bool)
        blank[np.searchsorted(ends, found.starts, "right")] = False
        found = _read_lines(pc.if_else(pa.array(blank), pa.scalar(_NO_EVENT, plain.type), plain), plan)
    return found


def _read_lines(texts: pa.Array, plan: PlanOf) -> Reading:
    whole = pa.LargeListArray.from_arrays(pa.array([0, len(texts)], pa.int64()), texts)
    lines = pc.binary_join(whole, pa.scalar(b"\n", texts.type))[0].as_buffer()
    found = Reading(JsonText(memoryview(lines)), plan)
    found.read_lines()
    return found


def _without(stretch: Stretch, attribute: int) -> Stretch:
    return stretch._replace(values={at: one for at, one in stretch.values.items() if at[1] != attribute})
