"""The one edge: events in whatever form they come, checked once → a batch of columns.

Mappings, tables and record batches of Arrow, a struct column of Arrow; for JSON lines see `json_lines`, which makes
mappings of them. `refuse` is told each event that is refused, by its row, and may raise; the others are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tamis.batches.arrow import Arrow, batch_of_arrow, certain, doubtful_rows
from tamis.batches.arrow_checks import check_arrow
from tamis.batches.asking import Raw, Refuse, ask, raise_by_row
from tamis.batches.batch import Batch, batch_of_events
from tamis.model import Event, Schema

__all__ = ["Events", "check_events", "find_refused", "read_batch", "read_events"]

Events: TypeAlias = Iterable[Raw] | pa.Table | pa.RecordBatch | pa.StructArray


def read_batch(
    events: Events, schema: Schema, refuse: Refuse = raise_by_row, *, validated: bool = False, strange: bool = False
) -> Batch:
    """The accepted events as columns, in order.

    With `validated` no rule is checked again, only what reading needs: a value that cannot be read is still refused.
    Arrow that is `strange`, from whomever, is looked at before any of it is read.
    """
    text = strange and check_events(events)
    source = _arrow(events)
    if source is not None:
        return batch_of_arrow(source, schema, refuse, validated=validated, text=text)
    return batch_of_events([event for _, event in ask(enumerate(events), schema, refuse, validated=validated)])


def read_events(events: Events, schema: Schema, refuse: Refuse = raise_by_row, *, strange: bool = False) -> list[Event]:
    """The accepted events one by one, for those who have no use for columns."""
    if strange:
        check_events(events)
    source = _arrow(events)
    found = enumerate(events) if source is None else doubtful_rows(source, np.zeros(len(source), bool))
    return [event for _, event in ask(found, schema, refuse)]


def find_refused(events: Events, schema: Schema, refuse: Refuse) -> None:
    """Have the events judged, and read no more of them than that takes."""
    source = _arrow(events)
    found = enumerate(events) if source is None else doubtful_rows(source, certain(source, schema))
    for _ in ask(found, schema, refuse):
        pass


def check_events(events: Events) -> bool:
    """Have Arrow from strangers looked at: whether it is, and all its text is UTF-8; `EventError` if it is damaged."""
    return isinstance(events, pa.Table | pa.RecordBatch | pa.StructArray) and check_arrow(events)


def _arrow(events: Events) -> Arrow | None:
    if isinstance(events, pa.RecordBatch):
        return pa.table(events)
    return events if isinstance(events, pa.Table | pa.StructArray) else None
