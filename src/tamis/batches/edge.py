"""The one edge: events in whatever form they come, checked once → a batch of columns.

Mappings, tables and record batches of Arrow, a struct column of Arrow; for JSON lines see `json_lines`, which makes
mappings of them. `refuse` is told each event that is refused, by its row, and may raise; the others are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tamis.batches.arrow import Arrow, batch_of_arrow, certain, doubtful_rows
from tamis.batches.arrow_rows import raws
from tamis.batches.asking import Raw, Refuse, ask, raise_by_row
from tamis.batches.batch import Batch, batch_of_events
from tamis.model import Event, Schema
from tamis.model.names import Used

__all__ = ["Events", "find_refused", "first_events", "read_batch", "read_events"]

Events: TypeAlias = Iterable[Raw] | pa.Table | pa.RecordBatch | pa.StructArray


def read_batch(
    events: Events,
    schema: Schema,
    refuse: Refuse = raise_by_row,
    *,
    validated: bool = False,
    used: Used | None = None,
) -> Batch:
    """The accepted events as columns, in order; of an open schema, what of them is `used`.

    With `validated` no rule is checked again, only what reading needs: a value that cannot be read is still refused.
    """
    by_kernel = used is not None and not used.whole and not validated
    used = used if schema.open else None
    source = _arrow(events)
    if source is not None:
        return batch_of_arrow(source, schema, refuse, validated=validated, used=used)
    if by_kernel and isinstance(events, list | tuple):
        from tamis.batches.mappings import batch_of_mappings  # and with it Numba

        return batch_of_mappings(events, schema, refuse, used)
    found = ask(enumerate(events), schema, refuse, validated=validated, used=used)
    return batch_of_events([event for _, event in found])


def read_events(events: Events, schema: Schema, refuse: Refuse = raise_by_row) -> list[Event]:
    """The accepted events one by one, for those who have no use for columns."""
    source = _arrow(events)
    found = enumerate(events) if source is None else doubtful_rows(source, np.zeros(len(source), bool))
    return [event for _, event in ask(found, schema, refuse)]


def find_refused(events: Events, schema: Schema, refuse: Refuse) -> None:
    """Have the events judged, and read no more of them than that takes."""
    source = _arrow(events)
    found = enumerate(events) if source is None else doubtful_rows(source, certain(source, schema))
    for _ in ask(found, schema, refuse):
        pass


def first_events(events: Events, count: int) -> Iterable[object]:
    """The first ones as they came, as far as they can be read, for whoever wants a sample."""
    source = _arrow(events)
    return islice(events, count) if source is None else raws(source.slice(0, count))


def _arrow(events: Events) -> Arrow | None:
    if isinstance(events, pa.RecordBatch):
        return pa.table(events)
    return events if isinstance(events, pa.Table | pa.StructArray) else None
